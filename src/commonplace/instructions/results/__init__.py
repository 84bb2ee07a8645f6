"""Values that the use cases return. Tools turn them into the answers of the contracts."""

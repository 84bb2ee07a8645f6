"""The operations of a description as texts that can be searched."""

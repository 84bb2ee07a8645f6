"""The domains as sources of context packs."""

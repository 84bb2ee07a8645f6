"""API keys of this server, and sealed model keys of its callers."""

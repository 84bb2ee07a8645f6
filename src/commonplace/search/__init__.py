"""The shared hybrid search engine."""

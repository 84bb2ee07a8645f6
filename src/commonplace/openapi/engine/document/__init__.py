"""Loaded documents: reading, indexing, resolving references, rewriting and summaries."""

"""Algorithms of memory without I/O: contradictions, similarity, generalisation, token counts."""

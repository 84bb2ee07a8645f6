"""Algorithms of memory without I/O: secrets, contradictions, similarity, generalisation, token counts."""

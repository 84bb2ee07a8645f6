"""Loaded documents: parsing, index, lines, summaries, and a table of their shape."""

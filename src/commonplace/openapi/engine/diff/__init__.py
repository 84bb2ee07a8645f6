"""Comparison of two documents by what clients would notice."""

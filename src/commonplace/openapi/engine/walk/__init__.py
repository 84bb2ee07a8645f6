"""Queries over the index of a document."""

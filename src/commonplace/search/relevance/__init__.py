"""Relevance beside words and meaning: what a query is, and what texts and paths say to it."""

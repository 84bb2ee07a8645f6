"""Packs that were given, and what was said about them."""

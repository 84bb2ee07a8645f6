"""Extracts over named SQL, the same on both databases."""

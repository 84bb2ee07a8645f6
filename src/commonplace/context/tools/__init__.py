"""Tools of context."""

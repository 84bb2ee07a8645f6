"""Extended tools that keep memory in order."""

"""Search of the catalogue: its index, its vectors, and the questions to both."""

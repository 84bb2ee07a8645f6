"""What a caller sees of the catalogue."""

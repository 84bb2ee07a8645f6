"""Tools over API descriptions."""

"""Movers of the tables of a data folder: lessons, proposals, context feedback."""

"""Tools for the rules in effect."""

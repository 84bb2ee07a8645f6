"""Comparison of schemas by what they accept."""

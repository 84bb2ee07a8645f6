"""Typed developer knowledge."""

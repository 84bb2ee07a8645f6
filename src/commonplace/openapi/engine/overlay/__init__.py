"""Overlays 1.0 and 1.1: validation, and application to documents."""

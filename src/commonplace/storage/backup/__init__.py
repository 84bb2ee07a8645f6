"""Backup archives: writing, checking and restoring them."""

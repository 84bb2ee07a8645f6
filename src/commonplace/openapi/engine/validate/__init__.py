"""Validation: the official schema of each version and the rules beyond it."""

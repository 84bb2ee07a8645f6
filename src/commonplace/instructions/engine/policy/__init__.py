"""Policies: gates on the catalogue, and the review of prompts."""

"""Entries as callers send them: schema, checks, and composition into a document."""

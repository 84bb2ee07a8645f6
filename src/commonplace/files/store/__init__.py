"""Persistence of files: one Protocol, SQLite and PostgreSQL adapters."""

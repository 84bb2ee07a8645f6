"""Persistence of memory: the protocol of its store, and SQLite and PostgreSQL behind it."""

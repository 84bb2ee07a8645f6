"""Bring the files of a data folder (SQLite) into the database of a team (PostgreSQL)."""

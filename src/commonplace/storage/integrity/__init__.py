"""Detection of damage in SQLite files, and their repair."""

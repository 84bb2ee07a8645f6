"""SQLite: connections, the writer thread, migrations."""

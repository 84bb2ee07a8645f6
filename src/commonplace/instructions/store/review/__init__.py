"""Where events of reviews and backups before bulk removals are kept."""

"""Instructions that left the catalogue: removed, archived, and saved before bulk removals."""

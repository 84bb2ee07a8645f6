"""Exchange formats: Rekall, server-memory, Basic Memory, mem0, Obsidian and JSON lines."""

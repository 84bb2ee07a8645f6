"""Memory's ways in and out: Rekall, server-memory, Basic Memory and mem0 in; archive, Obsidian
vault and JSON lines both ways.
"""

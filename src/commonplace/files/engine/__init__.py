"""Pure algorithms of files: what a write makes of content, where characters end, what a pattern
matches, what a folder ignores.
"""

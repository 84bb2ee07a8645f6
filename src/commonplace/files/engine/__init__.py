"""Pure algorithms of files: content, changes, patterns, names, folders, chunks."""

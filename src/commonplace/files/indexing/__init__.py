"""Index workers: the words of changed files, then their vectors."""

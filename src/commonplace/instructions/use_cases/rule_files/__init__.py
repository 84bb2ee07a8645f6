"""Rule files of a repository and the catalogue: import, export, keep in step."""

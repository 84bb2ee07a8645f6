"""Rule files of repositories: where they are, how they are written, how they are read."""

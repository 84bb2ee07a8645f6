"""From lessons to a rule of the catalogue, and whether the lessons still hold."""

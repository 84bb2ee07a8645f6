"""Small functions over texts."""

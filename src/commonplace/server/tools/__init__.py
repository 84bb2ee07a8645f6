"""Tools of the server about itself."""

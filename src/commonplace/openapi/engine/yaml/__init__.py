"""YAML text: parsing, writing and editing in place."""

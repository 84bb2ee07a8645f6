"""Makes `catalogue_helpers` importable from the folders below."""

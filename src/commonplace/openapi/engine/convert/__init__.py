"""Conversion of documents between OpenAPI 2.0, 3.0, 3.1 and 3.2."""

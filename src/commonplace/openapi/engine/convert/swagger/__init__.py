"""Conversion between Swagger 2.0 and OpenAPI 3.0, in both directions."""

"""The catalogue's tools: each maps its arguments to one use case."""

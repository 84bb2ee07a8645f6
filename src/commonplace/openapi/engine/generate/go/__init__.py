"""The Go backend: standard library only."""

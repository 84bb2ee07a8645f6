"""Algorithms over documents. Only `yaml/process.py` does I/O: it parses in a subprocess."""

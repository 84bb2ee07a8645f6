"""The official SDK behind the core: it answers what `edge/core.py` does not serve.

The only importer of `mcp`. The import costs most of a second and 40 MB, so nothing here runs before
a client needs it.
"""

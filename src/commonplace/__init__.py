"""Commonplace: instructions, files, memory and API descriptions for coding agents, behind one
MCP server.
"""

__version__ = "0.1.0"

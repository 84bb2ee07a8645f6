"""One MCP server with instructions, files, memory and API descriptions for coding agents."""

__version__ = "0.2.0"

"""`commonplace connect`: connect an MCP client to this server."""

"""The HTTP transport: Streamable HTTP at /mcp, bare JSON-RPC at /rpc, health for machines."""

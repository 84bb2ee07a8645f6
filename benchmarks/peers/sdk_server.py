"""The peer: a trivial tool on the stock Python SDK, over stdio or Streamable HTTP."""

import sys

from mcp.server import MCPServer

server = MCPServer("peer", version="1.0", log_level="ERROR")


@server.tool()
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run(
            "streamable-http", port=int(sys.argv[1]), json_response=True, stateless_http=True
        )
    else:
        server.run("stdio")

"""The floor: the least a Python process can do for the same answer.

No SDK, no validation, no pipeline.
"""

import asyncio
import os
import sys

import orjson


def answer(line: bytes) -> bytes:
    request = orjson.loads(line)
    if "id" not in request:
        return b""
    if request["method"] == "initialize":
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "floor", "version": "1"},
        }
    else:
        arguments = request["params"]["arguments"]
        output = {"sum": arguments["a"] + arguments["b"]}
        result = {
            "content": [{"type": "text", "text": orjson.dumps(output).decode()}],
            "structuredContent": output,
            "isError": False,
        }
    return orjson.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}) + b"\n"


async def main() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(0, "rb", 0)
    )
    transport, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(1, "wb", 0))
    rest = b""
    while data := await reader.read(1 << 18):
        *lines, rest = (rest + data).split(b"\n")
        transport.write(b"".join(answer(line) for line in lines))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))

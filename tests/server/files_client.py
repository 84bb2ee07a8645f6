"""A client of the shipped program on stdio whose server can be killed."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any


class Gone(Exception):
    """The server ended before it answered."""


class Server:
    def __init__(self, data: Path, *options: str) -> None:
        command = [sys.executable, "-m", "commonplace", "serve", "--data", str(data), *options]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._id = 0
        parameters = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        self.request("initialize", parameters)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def request(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": parameters})
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.endswith(b"\n"):
            raise Gone
        answer: dict[str, Any] = json.loads(line)
        return answer["result"]

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """A tool's structured answer; its error as a dictionary under `error`."""
        result = self.request(
            "tools/call", {"name": tool, "arguments": {"project": "p", **arguments}}
        )
        answer: dict[str, Any] = (
            json.loads(result["content"][0]["text"])
            if result["isError"]
            else result["structuredContent"]
        )
        return answer

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait(20)

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Gone from None

"""A shipped stdio server for tests of the instruction catalogue."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


class Server:
    """One process on one instruction folder."""

    def __init__(
        self, home: Path, folder: Path | None = None, config: Path | None = None, **environment: str
    ) -> None:
        self.folder = folder or home / "instructions"
        home.mkdir(parents=True, exist_ok=True)
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "commonplace",
                "serve",
                "--data",
                str(home),
                *(("--config", str(config)) if config else ()),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(home / "stderr.txt").open("ab"),
            env={
                **os.environ,
                "MCP_ENABLE_MUTATION": "1",
                "INSTRUCTIONS_DIR": str(self.folder),
                **environment,
            },
        )
        self._number = 0

    def send(self, method: str, **params: Any) -> int:
        self._number += 1
        assert self.process.stdin is not None
        line = json.dumps(
            {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        )
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return self._number

    def receive(self) -> dict[str, Any] | None:
        """Return the next answer; None if the server ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line.endswith(b"\n") else None

    def call(self, method: str, **params: Any) -> Any:
        self.send(method, **params)
        answer = self.receive()
        assert answer is not None, "the server ended"
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def error(self, method: str, **params: Any) -> Any:
        self.send(method, **params)
        answer = self.receive()
        assert answer is not None, "the server ended"
        return answer["error"]

    def add(self, id_: str, body: str) -> Any:
        return self.call(
            "instructions/add", entry={"id": id_, "body": body}, lax=True, overwrite=True
        )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(30)

    def close(self) -> None:
        assert self.process.stdin is not None
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

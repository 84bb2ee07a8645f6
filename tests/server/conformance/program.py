"""Run the shipped program as a child of a test."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
COMMONPLACE = Path(sys.executable).with_name("commonplace")
START_SECONDS = 60.0
STOP_SECONDS = 20.0
FIXTURES = {
    "COMMONPLACE_EXTRA_TOOLSETS": "conformance.tools:toolset",
    "COMMONPLACE_EXTRA_FEATURES": "conformance.features:features",
    "PYTHONPATH": str(ROOT / "tests" / "server"),
}


@dataclass(frozen=True, slots=True)
class Served:
    """A server that listens."""

    address: str
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://{self.address}/mcp"

    def post(
        self, path: str, body: Any, headers: Mapping[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """One POST: status, headers, body. A refusal is an answer too."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **(headers or {}),
        }
        request = urllib.request.Request(
            f"http://{self.address}{path}", data=data, headers=sent, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return (
                    answer.status,
                    {name.lower(): value for name, value in answer.headers.items()},
                    answer.read(),
                )
        except urllib.error.HTTPError as refused:
            return (
                refused.code,
                {name.lower(): value for name, value in refused.headers.items()},
                refused.read(),
            )

    def rpc(self, method: str, params: Any = None) -> Any:
        """The result of a bare method."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method} | (
            {} if params is None else {"params": params}
        )
        return json.loads(self.post("/rpc", body)[2])["result"]


def environment(data: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """A clean environment: nothing of the developer's configuration reaches the server under
    test.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("COMMONPLACE_", "MCP_", "INDEX_", "GRAPH_"))
    }
    return {**kept, "COMMONPLACE_HOME": str(data), **(extra or {})}


@contextlib.contextmanager
def serve_http(data: Path, extra: Mapping[str, str] | None = None, *flags: str) -> Iterator[Served]:
    """`commonplace serve --http` on a free port, until the block ends."""
    command = [str(COMMONPLACE), "serve", "--http", "127.0.0.1:0", *flags]
    errors = data / "stderr.txt"
    data.mkdir(parents=True, exist_ok=True)
    with errors.open("wb") as stderr:
        process = subprocess.Popen(
            command,
            env=environment(data, extra),
            stdin=subprocess.DEVNULL,
            stdout=stderr,
            stderr=stderr,
            cwd=data,
        )
    try:
        yield Served(_announced(process, errors), process)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _announced(process: subprocess.Popen[bytes], errors: Path) -> str:
    give_up = time.monotonic() + START_SECONDS
    while time.monotonic() < give_up:
        found = re.search(r"listens on http://([\d.:]+)/mcp", errors.read_text())
        if found:
            return found[1]
        if process.poll() is not None:
            break
        select.select([], [], [], 0.02)
    raise AssertionError(f"the server did not start: {errors.read_text()}")

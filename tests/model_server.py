"""A loopback server that plays an embedding and a rerank model, and keeps what it was sent:
headers, bodies, connections.

Texts become vectors by their words, so texts with common words are near each other. Faults are
switched on by setting `fault`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Fault = Callable[["Request"], tuple[int, bytes] | None]


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    raw: bytes

    @property
    def key(self) -> str:
        return self.headers.get("authorization", "").removeprefix("Bearer ")


@dataclass
class ModelServer:
    dimensions: int = 64
    fault: Fault | None = None  # a status and a body instead of an answer; None from it: answer
    refused_keys: set[str] = field(default_factory=set)
    requests: list[Request] = field(default_factory=list)
    connections: int = 0

    def __post_init__(self) -> None:
        self._hanging = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def keys(self) -> set[str]:
        """Every key that ever came in."""
        return {request.key for request in self.requests}

    def asked(self, path: str) -> list[Request]:
        return [request for request in self.requests if request.path == path]

    def hang(self, request: Request) -> tuple[int, bytes] | None:
        """A fault: no answer until `well` is called."""
        self._hanging.wait(60)
        return 503, b"{}"

    def well(self) -> None:
        self.fault = None
        self._hanging.set()
        self._hanging = threading.Event()

    def close(self) -> None:
        self._hanging.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def answer(self, request: Request) -> tuple[int, bytes]:
        self.requests.append(request)
        if request.key in self.refused_keys:
            return 401, json.dumps(
                {"error": {"message": f"Incorrect API key provided: {request.key}"}}
            ).encode()
        if self.fault is not None and (instead := self.fault(request)) is not None:
            return instead
        if request.path.endswith("/embeddings"):
            length = request.body.get("dimensions", self.dimensions)
            data = [
                {"index": at, "embedding": embedded(text, length)}
                for at, text in enumerate(request.body["input"])
            ]
            return 200, json.dumps(
                {"object": "list", "data": data[::-1], "model": request.body["model"]}
            ).encode()
        if request.path.endswith("/rerank"):
            wanted = words(request.body["query"])
            scored = [
                {"index": at, "relevance_score": len(wanted & words(text)) / (1 + len(wanted))}
                for at, text in enumerate(request.body["documents"])
            ]
            scored.sort(key=lambda row: -row["relevance_score"])
            return 200, json.dumps(
                {"id": "x", "results": scored[: request.body.get("top_n", len(scored))]}
            ).encode()
        return 404, b'{"error": "no such model"}'


class _Server(ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that was killed leaves a broken connection: nothing to say about it."""


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", text.lower()))


def embedded(text: str, dimensions: int) -> list[float]:
    vector = [0.0] * dimensions
    for word in words(text):
        vector[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % dimensions] += 1.0
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # head and body in one packet

        def setup(self) -> None:
            super().setup()
            server.connections += 1

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, body = server.answer(Request(self.path, headers, json.loads(raw), raw))
            try:
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:  # the caller gave up
                self.close_connection = True

        def log_message(self, *values: Any) -> None:
            return None

    return Handler

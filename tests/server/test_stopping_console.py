"""A console page that stays open does not delay the end of a server."""

from __future__ import annotations

import http.client
import signal
import time
from pathlib import Path

from conformance.program import serve_http

STREAM = "/console/live/overview"
SECONDS = 8.0  # less than the ten that open requests may take


def test_an_open_stream_ends_when_the_server_stops(tmp_path: Path) -> None:
    with serve_http(tmp_path) as server:
        link = http.client.HTTPConnection(server.address, timeout=30)
        link.request("GET", STREAM, headers={"Accept": "text/event-stream"})
        stream = link.getresponse()
        assert stream.status == 200
        assert stream.readline() == b"retry: 1000\n"
        begun = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert b"event: figures" in stream.read()
        assert server.process.wait(SECONDS) == 0
        assert time.monotonic() - begun < SECONDS
        link.close()

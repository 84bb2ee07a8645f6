"""Heads of audit chains in a second place reveal a trail that was forged as a whole."""

from __future__ import annotations

import http.server
import json
import shutil
import threading
from pathlib import Path

import pytest

from commonplace.storage.audit.anchor import Anchor, read_anchors
from commonplace.telemetry.audit import AuditLog
from commonplace.telemetry.chain import register_path
from commonplace.telemetry.verify import verify


def write_records(directory: Path, count: int) -> None:
    log = AuditLog(directory)
    for number in range(count):
        log.append({"type": "call", "tool": f"t{number}"})
    log.close()


def test_heads_are_written_when_they_changed(tmp_path: Path) -> None:
    anchor = Anchor(tmp_path / "audit", str(tmp_path / "anchor.jsonl"), "host-a")
    assert anchor.write() == 0
    write_records(tmp_path / "audit", 2)
    assert (anchor.write(), anchor.write()) == (1, 0)
    write_records(tmp_path / "audit", 2)
    assert anchor.write() == 1
    lines = [json.loads(line) for line in (tmp_path / "anchor.jsonl").read_text().splitlines()]
    assert [line["server"] for line in lines] == ["host-a", "host-a"]
    assert verify(tmp_path / "audit", read_anchors(tmp_path / "anchor.jsonl")).ok


def test_a_trail_that_was_written_again_from_scratch_is_found(tmp_path: Path) -> None:
    write_records(tmp_path / "audit", 3)
    Anchor(tmp_path / "audit", str(tmp_path / "anchor.jsonl"), "host-a").write()
    shutil.rmtree(tmp_path / "audit")
    register_path(tmp_path / "audit").unlink()
    write_records(tmp_path / "audit", 3)
    assert verify(tmp_path / "audit").ok  # nothing in the folder reveals it
    (problem,) = verify(tmp_path / "audit", read_anchors(tmp_path / "anchor.jsonl")).problems
    assert problem.problem == "the chain and its head are missing; the anchor recorded it"


def test_lines_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "anchor.jsonl"
    path.write_text('{"heads": {"a": 1}}\nnot json\n{"heads": {"../x": [1, "0"]}}\n')
    assert read_anchors(path) == {}


def test_heads_are_posted_to_an_address(tmp_path: Path) -> None:
    received: list[bytes] = []

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        write_records(tmp_path / "audit", 1)
        anchor = Anchor(
            tmp_path / "audit", f"http://127.0.0.1:{server.server_port}/heads", "host-a"
        )
        assert anchor.write() == 1
        server.shutdown()
        thread.join()
    (document,) = (json.loads(body) for body in received)
    assert len(document["heads"]) == 1


def test_a_place_that_refuses_is_tried_again(tmp_path: Path) -> None:
    write_records(tmp_path / "audit", 1)
    anchor = Anchor(tmp_path / "audit", str(tmp_path / "missing" / "anchor.jsonl"), "host-a")
    with pytest.raises(OSError, match="No such file"):
        anchor.write()
    (tmp_path / "missing").mkdir()
    assert anchor.write() == 1

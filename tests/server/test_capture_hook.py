"""The hook at the end of a session, as a client runs it: silent, quick, and captured soon after."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.server.conformance.program import COMMONPLACE, environment

from commonplace.cli.hooks.log import read_problems

SAMPLES = Path(__file__).parents[1] / "data" / "capture" / "transcripts"
SESSIONS = {"claude-code": "05-migrations-order.jsonl", "codex": "13-docker-network.jsonl"}


def end_session(data: Path, client: str, payload: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [COMMONPLACE, "hook", "SessionEnd", "--client", client, "--data", str(data)],
        input=payload if isinstance(payload, bytes) else json.dumps(payload).encode(),
        capture_output=True,
        env=environment(data),
        timeout=60,
        check=False,
    )


def wait_for_proposals(data: Path, seconds: float = 120) -> list[Any]:
    give_up = time.monotonic() + seconds
    while True:
        listed = subprocess.run(
            [COMMONPLACE, "capture", "list", "--json", "--data", str(data)],
            capture_output=True,
            env=environment(data),
            timeout=120,
            check=True,
        )
        items: list[Any] = json.loads(listed.stdout)["items"]
        if items:
            return items
        assert time.monotonic() < give_up, "nothing was captured"
        time.sleep(0.3)


@pytest.mark.parametrize("client", SESSIONS)
def test_the_end_of_a_session_is_captured_in_the_background(client: str, tmp_path: Path) -> None:
    event = {
        "session_id": "the-session",
        "transcript_path": str(SAMPLES / SESSIONS[client]),
        "cwd": str(tmp_path),
        "hook_event_name": "SessionEnd",
        "reason": "other",
    }
    ended = end_session(tmp_path / "data", client, event)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    items = wait_for_proposals(tmp_path / "data")
    assert {item["session"] for item in items} == {"the-session"}
    assert {item["project"] for item in items} == {tmp_path.name}
    assert read_problems(str(tmp_path / "data")) == []


@pytest.mark.parametrize(
    "payload",
    [
        {"session_id": "s", "transcript_path": None, "cwd": "/", "reason": "other"},
        {"session_id": 1, "transcript_path": ["x"], "cwd": {}},
        {"transcript_path": "/nowhere/at/all.jsonl"},
        {"transcript_path": "/dev/zero"},
        b"not json",
        b"",
    ],
)
def test_a_session_without_a_transcript_ends_in_silence(payload: Any, tmp_path: Path) -> None:
    ended = end_session(tmp_path / "data", "codex", payload)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")

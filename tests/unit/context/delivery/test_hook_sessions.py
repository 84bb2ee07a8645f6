"""State of hook sessions: bounded, expiring, and safe with several processes."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from fake_answers import FixedAnswers

from commonplace.context.delivery import sessions
from commonplace.context.delivery.event import HookClient, HookEvent, Moment
from commonplace.context.delivery.hook import deliver
from commonplace.context.delivery.sessions import SessionFolder
from commonplace.kernel.auth import LOCAL_TENANT


def event(session: str) -> HookEvent:
    return HookEvent(HookClient.CODEX, "UserPromptSubmit", Moment.PROMPT, session)


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_session_is_forgotten_after_a_week(tmp_path: Path) -> None:
    clock = Clock()
    folder = SessionFolder(tmp_path, clock)
    with folder.change("local", event("s1")) as state:
        state.note_delivered("instruction:a", "1")
    clock.now += sessions.EXPIRES_SECONDS - 1
    assert folder.peek("local", event("s1")).delivered == {"instruction:a": "1"}
    clock.now += 2
    assert folder.peek("local", event("s1")).delivered == {}
    with folder.change("local", event("s2")):
        pass
    assert len(list((tmp_path / "hooks" / "sessions").glob("*.json"))) == 1


def test_tenants_clients_and_sessions_do_not_share_a_state(tmp_path: Path) -> None:
    folder = SessionFolder(tmp_path)
    with folder.change("team-a", event("s1")) as state:
        state.note_delivered("instruction:a", "1")
    assert not folder.peek("team-b", event("s1")).delivered
    assert not folder.peek("team-a", event("s1")._replace(agent="a1")).delivered
    other = event("s1")._replace(client=HookClient.CURSOR)
    assert not folder.peek("team-a", other).delivered


def test_the_oldest_sessions_and_references_make_room(tmp_path: Path) -> None:
    clock = Clock()
    folder = SessionFolder(tmp_path, clock, max_sessions=3)
    for number in range(5):
        clock.now += 1
        with folder.change("local", event(f"s{number}")) as state:
            for ref in range(sessions.MAX_DELIVERED + 1):
                state.note_delivered(f"instruction:{ref}", "1")
            state.note_paths(tuple(f"src/{path}.py" for path in range(sessions.MAX_PATHS + 5)))
    kept = folder.peek("local", event("s4"))
    assert len(kept.delivered) == sessions.MAX_DELIVERED
    assert "instruction:0" not in kept.delivered
    assert len(kept.paths) == sessions.MAX_PATHS
    assert len(list((tmp_path / "hooks" / "sessions").glob("*.json"))) == 3
    assert not folder.peek("local", event("s0")).delivered


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"delivered": 3}', b"\xff" * 10, b"[" * 9999]
)
def test_a_damaged_file_counts_as_nothing_delivered(content: bytes, tmp_path: Path) -> None:
    folder = SessionFolder(tmp_path)
    with folder.change("local", event("s1")) as state:
        state.note_delivered("instruction:a", "1")
    (path,) = (tmp_path / "hooks" / "sessions").glob("*.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_bytes(content)
    assert folder.peek("local", event("s1")).delivered == {}
    with folder.change("local", event("s1")) as state:
        state.note_delivered("instruction:b", "1")
    assert folder.peek("local", event("s1")).delivered == {"instruction:b": "1"}


WORKER = """
import sys
from fake_answers import FixedAnswers
from commonplace.context.delivery.hook import deliver
payload = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "x"}
sys.stdin.readline()
answers = FixedAnswers({"": [("a", "Once only.")]})
sys.stdout.buffer.write(deliver("UserPromptSubmit", "codex", payload, answers, sys.argv[1]))
"""


def test_of_many_processes_at_once_one_delivers_a_rule(tmp_path: Path) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"PYTHONPATH": f"{Path(__file__).parent}:{Path('src').absolute()}"},
        )
        for _ in range(6)
    ]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write(b"\n")
        worker.stdin.flush()
    printed = [worker.communicate(timeout=60)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * 6
    assert sum(b"Once only." in output for output in printed) == 1


def test_the_command_acts_for_the_local_tenant(tmp_path: Path) -> None:
    answers = FixedAnswers({"": [("a", "Rule.")]})
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "x"}
    deliver("UserPromptSubmit", "codex", payload, answers, str(tmp_path))
    assert SessionFolder(tmp_path).peek(LOCAL_TENANT, event("s")).delivered


def test_secrets_of_a_prompt_are_not_stored(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    payload = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "s",
        "prompt": f"use {secret} now",
    }
    deliver("UserPromptSubmit", "codex", payload, FixedAnswers(), str(tmp_path))
    stored = SessionFolder(tmp_path).peek(LOCAL_TENANT, event("s")).prompt
    assert stored.startswith("use ")
    assert secret not in stored


def test_an_event_without_a_session_is_answered_and_not_remembered(tmp_path: Path) -> None:
    answers = FixedAnswers({"": [("a", "Rule.")]})
    payload = {"hook_event_name": "UserPromptSubmit", "prompt": "x"}
    for _ in range(2):
        assert json.loads(deliver("x", "claude-code", payload, answers, str(tmp_path)))
    assert not (tmp_path / "hooks").exists()

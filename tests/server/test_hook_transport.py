"""`commonplace hook` as a client runs it: from a warm server, from the index, and when it fails."""

from __future__ import annotations

import json
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conformance.program import COMMONPLACE, environment
from local_server import RawConnection, command, data_folder, wait_until

from commonplace import __version__
from commonplace.cli.doctor.local import check_hooks
from commonplace.cli.hooks.entry import MOST_INPUT_BYTES
from commonplace.cli.hooks.kept_rules import MOST_AT_ONCE
from commonplace.kernel.config.loading import load

RULE = {
    "id": "python-tests",
    "title": "Tests of Python code",
    "body": "Every module of Python has a test.",
    "priority": 5,
    "audience": "all",
    "requirement": "mandatory",
    "categories": ["testing"],
    "appliesTo": ["**/*.py"],
}


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    with data_folder(tmp_path / "data") as folder:
        (folder / "instructions").mkdir()
        (folder / "instructions" / "python-tests.json").write_text(json.dumps(RULE))
        yield folder


def run_hook(
    data: Path,
    session: str,
    path: str = "src/a.py",
    extra: dict[str, str] | None = None,
    raw: bytes | None = None,
    before: Callable[[], None] | None = None,
) -> str:
    repository = data.parent / "repository"
    (repository / ".git").mkdir(parents=True, exist_ok=True)
    event = {
        "session_id": session,
        "cwd": str(repository),
        "hook_event_name": "PreToolUse",
        "tool_name": "Write",
        "tool_input": {"file_path": str(repository / path), "content": "x"},
    }
    ran = subprocess.run(
        [COMMONPLACE, "hook", "PreToolUse", "--client", "claude-code"],
        input=json.dumps(event).encode() if raw is None else raw,
        env=environment(data, extra or {}),
        cwd=repository,
        capture_output=True,
        timeout=30,
        check=False,
        preexec_fn=before,
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    return ran.stdout.decode()


def problems(data: Path) -> list[Any]:
    log = data / "hooks" / "hook.log"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def test_a_warm_server_and_the_index_give_the_same_output(data: Path) -> None:
    command(data, "up", "--json")
    warm = run_hook(data, "one")
    assert "Every module of Python has a test." in warm
    assert run_hook(data, "one") == ""  # once per session
    assert run_hook(data, "two", "docs/a.md") == ""
    wait_until((data / "hooks" / "rules.index").exists)
    command(data, "down", "--json")
    assert run_hook(data, "three") == warm
    assert problems(data) == []


def test_a_server_prepares_for_hooks_where_they_are_used(data: Path) -> None:
    command(data, "up", "--json")
    log = data / "logs" / "server.log"
    wait_until(lambda: "the local server listens" in log.read_text())
    command(data, "down", "--json")
    assert not (data / "context.db").exists()  # nothing asked for context
    run_hook(data, "one")
    command(data, "up", "--json")
    wait_until((data / "context.db").exists)
    command(data, "down", "--json")
    assert "cannot prepare" not in log.read_text()


def test_a_hook_makes_the_index_of_a_small_folder_itself(data: Path) -> None:
    assert "Every module of Python has a test." in run_hook(data, "one")
    changed = {**RULE, "body": "Every module of Python has two tests."}
    (data / "instructions" / "python-tests.json").write_text(json.dumps(changed))
    assert "has two tests" in run_hook(data, "two")
    assert problems(data) == []


def test_without_the_index_of_a_large_folder_a_hook_is_silent_and_has_it_made(data: Path) -> None:
    for number in range(MOST_AT_ONCE):
        entry = {**RULE, "id": f"rule-{number}", "activation": "manual"}
        (data / "instructions" / f"rule-{number}.json").write_text(json.dumps(entry))
    assert run_hook(data, "one") == ""
    assert "UnusableIndexError" in problems(data)[-1]["error"]
    wait_until((data / "hooks" / "rules.index").exists)
    assert "Every module of Python has a test." in run_hook(data, "two")
    changed = {**RULE, "body": "Every module of Python has two tests."}
    (data / "instructions" / "python-tests.json").write_text(json.dumps(changed))
    assert run_hook(data, "three") == ""  # an outdated rule would be wrong
    (hooks,) = check_hooks(load(data=data, environ={}, cwd=data).settings)
    assert hooks.status == "warn"
    assert "UnusableIndexError" in hooks.finding


@pytest.mark.parametrize("raw", [b"", b"nonsense", b"[]", b"\xff\xfe", b'{"cwd": 3}'])
def test_a_malformed_event_never_fails_the_client(data: Path, raw: bytes) -> None:
    assert run_hook(data, "one", raw=raw) == ""


def test_an_event_that_is_too_large_is_read_to_its_end_and_reported(data: Path) -> None:
    event = b'{"prompt": "' + b"x" * MOST_INPUT_BYTES + b'"}'
    hook = subprocess.Popen(
        [COMMONPLACE, "hook", "UserPromptSubmit"],
        env=environment(data, {}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert hook.stdin is not None
    hook.stdin.write(event)  # raises BrokenPipeError where the hook does not read all of it
    hook.stdin.write(b" " * 1_000_000)
    hook.stdin.close()
    assert (hook.wait(30), hook.stdout and hook.stdout.read()) == (0, b"")
    assert "16 MB" in problems(data)[-1]["error"]


def test_a_path_of_another_system_does_not_cost_the_rules_of_the_others(data: Path) -> None:
    patch = (
        "*** Begin Patch\n*** Update File: C:/work/b.py\n*** Add File: src/a.py\n+x\n*** End Patch"
    )
    event = {
        "session_id": "one",
        "cwd": str(data.parent),
        "turn_id": "t",
        "tool_name": "apply_patch",
        "tool_input": {"command": patch},
    }
    assert "Every module of Python has a test." in run_hook(
        data, "one", raw=json.dumps(event).encode()
    )
    assert problems(data) == []


def test_a_hook_that_cannot_write_its_index_says_so_in_its_log_alone(data: Path) -> None:
    def allow_small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))

    assert run_hook(data, "one", before=allow_small_files) == ""  # stderr is empty, too
    assert "UnusableIndexError" in problems(data)[-1]["error"]


def test_a_hook_with_a_key_needs_a_server(data: Path) -> None:
    assert run_hook(data, "one", extra={"COMMONPLACE_KEY": "cp_x"}) == ""
    assert "COMMONPLACE_KEY" in problems(data)[-1]["error"]


def test_the_connection_of_a_hook_reads_rules_and_nothing_else(data: Path) -> None:
    command(data, "up", "--json")
    hook = RawConnection(data)
    params = {
        "version": __version__,
        "protocol": 1,
        "role": "hook",
        "environment": environment(data, {}),
        "folder": str(data),
    }
    assert "result" in hook.ask("commonplace/attach", params)
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
    for tool, arguments, is_allowed in (
        ("rules_for", {"paths": ["a.py"]}, True),
        ("instructions_get", {"id": "python-tests"}, False),
        ("file_write", {"project": "p", "path": "/a", "content": "x"}, False),
    ):
        answer = hook.ask("tools/call", {"name": tool, "arguments": arguments, "_meta": meta})
        assert bool(answer["result"].get("isError")) is not is_allowed
    assert "error" in hook.ask("instructions/get", {"id": "python-tests"})
    hook.close()

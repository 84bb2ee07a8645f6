"""Hooks of the shipped program: sessions replayed through commands and through a real server."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conformance.program import COMMONPLACE, environment
from hook_client import HookingClient, expand, matches, run_command
from hook_session import STEPS, claude_code_events, codex_events
from piped_program import Piped, running

from hook_samples import CLAUDE_CODE, CODEX_SCHEMAS, DATA, codex_inputs

EVERYTHING = os.environ.get("COMMONPLACE_SOAK") == "1"
RULES = [
    {"id": "english", "body": "Write plain English.", "activation": "always"},
    {"id": "typed-errors", "body": "Return typed errors.", "appliesTo": ["src/api/**"]},
    {"id": "no-inline-style", "body": "Use classes.", "appliesTo": ["src/web/**"]},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory with a store of three rules and the hooks of both clients."""
    folder = tmp_path_factory.mktemp("hooks")
    (folder / "home").mkdir()
    rules = folder / "rules.json"
    rules.write_text(json.dumps([{"title": rule["id"], "priority": 50} | rule for rule in RULES]))
    commonplace(folder, "instructions", "import", str(rules))
    for client in ("claude-code", "codex"):
        commonplace(folder, "connect", client, "--hooks")
    return folder


def variables(folder: Path) -> dict[str, str]:
    return environment(folder / "data", {"HOME": str(folder / "home"), "CODEX_HOME": ""})


def commonplace(folder: Path, *arguments: str) -> None:
    subprocess.run(
        [COMMONPLACE, *arguments], cwd=folder, env=variables(folder), check=True, timeout=60
    )


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Piped]:
    with running(folder, {"HOME": str(folder / "home")}) as piped:
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "hooks", "version": "1"},
        }
        piped.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
        yield piped


def rules_in(outputs: list[str]) -> list[str]:
    return re.findall(r"instruction:([\w-]+)", "\n".join(outputs))


APPLYING = {"src/api/": "typed-errors", "src/web/": "no-inline-style"}


def check_deliveries(brought: dict[int, list[str]], steps: Collection[int] = range(40)) -> None:
    """Check that between compactions each rule came once, and before a file that it applies to."""
    given: set[str] = set()
    for step, (kind, value) in enumerate(STEPS):
        if (kind, value) == ("start", "compact"):
            given = set()
        for rule in brought.get(step, ()):
            assert rule not in given, f"{rule} came again with step {step}"
            given.add(rule)
        applying = {rule for prefix, rule in APPLYING.items() if value.startswith(prefix)}
        if kind == "write" and step in steps:
            assert applying <= given, f"{applying} is missing at step {step}"
        if (kind, value) == ("start", "compact") and step in steps:
            assert given == {"english", *APPLYING.values()}
    assert brought[0] == ["english"]


def test_a_session_of_claude_code_gets_each_rule_once_and_again_after_compaction(
    folder: Path, server: Piped
) -> None:
    hooks = folder / ".claude" / "settings.local.json"
    client = HookingClient(hooks, server, variables(folder))
    brought = {}
    for step, event in enumerate(claude_code_events("replay-claude")):
        outputs = client.fire(event)
        for output in outputs:
            specific = json.loads(output)["hookSpecificOutput"]
            assert specific.keys() == {"hookEventName", "additionalContext"}
            assert specific["hookEventName"] == event["hook_event_name"]
            assert len(output) <= 10_000
        if outputs:
            brought[step] = rules_in(outputs)
    assert len(STEPS) == 40
    check_deliveries(brought)


def test_a_session_of_codex_gets_the_same_in_output_of_its_schemas(
    folder: Path, server: Piped
) -> None:
    client = HookingClient(folder / "home" / ".codex" / "hooks.json", server, variables(folder))
    brought = {}
    for step, event in enumerate(codex_events("replay-codex")):
        kind = schema_of(event["hook_event_name"])
        jsonschema.validate(event, CODEX_SCHEMAS[f"{kind}.input"])
        outputs = client.fire(event)
        for output in outputs:
            jsonschema.validate(json.loads(output), CODEX_SCHEMAS[f"{kind}.output"])
        if outputs:
            brought[step] = rules_in(outputs)
    check_deliveries(brought)


SHORT = (0, 1, 3, 7, 11, 19, 20)  # steps of a short run: a process each


def test_a_session_through_commands_alone_gets_the_same(folder: Path) -> None:
    command = f"{COMMONPLACE} hook %s --client claude-code --data {folder / 'data'}"
    brought = {}
    for step, event in enumerate(claude_code_events("replay-commands")):
        if EVERYTHING or step in SHORT:
            output = run_command(command % event["hook_event_name"], event, variables(folder))
            if output:
                brought[step] = rules_in([output])
    check_deliveries(brought, range(40) if EVERYTHING else SHORT)


def shipped_samples() -> list[tuple[str, str, dict[str, Any]]]:
    """Return client, event and input: all of them, or a few in a short run."""
    samples = [("claude-code", sample["event"], sample["input"]) for sample in CLAUDE_CODE]
    samples += [("codex", sample["hook_event_name"], sample) for _, sample in codex_inputs()]
    return samples if EVERYTHING else samples[::9]


def test_documented_inputs_pass_through_the_shipped_program(folder: Path) -> None:
    """tests/unit/context/delivery gives all of them to the same function in any run."""
    honoured = {sample["event"]: sample["additionalContext_honoured"] for sample in CLAUDE_CODE}
    answered = 0
    for number, (client, event, payload) in enumerate(shipped_samples()):
        command = f"{COMMONPLACE} hook {event} --client {client} --data {folder / 'data'}"
        given = payload | {"session_id": f"all-{number}"}
        output = run_command(command, given, variables(folder))
        if output and client == "codex":
            jsonschema.validate(json.loads(output), CODEX_SCHEMAS[f"{schema_of(event)}.output"])
        elif output:
            assert honoured[event]
            assert json.loads(output)["hookSpecificOutput"]["hookEventName"] == event
        answered += bool(output)
    assert answered > 2


def schema_of(event: str) -> str:
    """Return the name that Codex gives the schemas of an event: `user-prompt-submit`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", event).lower()


def test_a_hook_never_fails(folder: Path) -> None:
    """Whatever the arguments and the input are, and even if the data folder cannot be used."""
    unusable = folder / "file"
    unusable.write_text("x")
    for arguments in (
        ["hook", "UserPromptSubmit", "--client", "nobody", "--data", str(folder / "data")],
        ["hook", "UserPromptSubmit", "--data", str(unusable)],
        ["hook", "UserPromptSubmit", "--config", "/no/such/file"],
        ["hook", "--no-such-option"],
        ["hook"],
    ):
        ran = subprocess.run(
            [COMMONPLACE, *arguments],
            input=b'{"prompt": "x", "session_id": "s"',
            capture_output=True,
            env=variables(folder),
            timeout=60,
            check=False,
        )
        assert (ran.returncode, ran.stdout) == (0, b"")
    log = (folder / "data" / "hooks" / "hook.log").read_text()
    assert "UserPromptSubmit" in log


@pytest.mark.parametrize("case", json.loads((DATA / "placeholders.json").read_text()), ids=str)
def test_the_client_expands_placeholders_as_codex_does(case: dict[str, Any]) -> None:
    if case.get("error"):
        with pytest.raises(KeyError):
            expand(case["input"], case["event"])
    else:
        assert expand(case["input"], case["event"]) == case["result"]


def test_the_client_matches_as_claude_code_does() -> None:
    cases = json.loads((DATA / "claude_code_events.json").read_text())["matchers"]
    for matcher, value, expected in cases:
        assert matches(matcher, value) == expected, (matcher, value)

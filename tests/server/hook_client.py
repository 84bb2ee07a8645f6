"""A client that runs hooks as Claude Code and Codex document it, with a real server.

It reads the file that `connect --hooks` wrote: matchers choose the handlers, placeholders become
arguments of the tool, a command gets the event on stdin.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from piped_program import Piped

PLACEHOLDER = re.compile(r"\$\{([^{}]+)\}")
MATCHED = {"SessionStart": "source", "PreToolUse": "tool_name", "PostToolUse": "tool_name"}


def expand(template: Any, event: Mapping[str, Any]) -> Any:
    """Expand `${field.nested}`: alone it keeps its type, a missing field is a KeyError."""
    if isinstance(template, dict):
        return {key: expand(value, event) for key, value in template.items()}
    if isinstance(template, list):
        return [expand(value, event) for value in template]
    if not isinstance(template, str):
        return template
    whole = PLACEHOLDER.fullmatch(template)
    if whole:
        return _field(event, whole[1])

    def show(found: re.Match[str]) -> str:
        value = _field(event, found[1])
        return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))

    return PLACEHOLDER.sub(show, template)


def _field(event: Any, path: str) -> Any:
    for name in path.split("."):
        event = event[name]
    return event


def matches(matcher: str | None, value: str) -> bool:
    """Tell whether a matcher of Claude Code takes a value."""
    if matcher in (None, "", "*"):
        return True
    if re.fullmatch(r"[\w\- ,|]+", matcher):
        return value in re.split(r"\s*[|,]\s*", matcher)
    return re.search(matcher, value) is not None


class HookingClient:
    """One session of a client whose hooks are in a file."""

    def __init__(self, hooks: Path, server: Piped | None, environ: Mapping[str, str]) -> None:
        self._hooks = json.loads(hooks.read_text())["hooks"]
        self._server = server
        self._environ = environ
        self._calls = 0

    def fire(self, event: Mapping[str, Any]) -> list[str]:
        """Run the hooks of an event and return what they printed, without empty outputs."""
        name = event["hook_event_name"]
        value = str(event.get(MATCHED.get(name, ""), ""))
        outputs = [
            self._run(handler, event)
            for group in self._hooks.get(name, ())
            if matches(group.get("matcher"), value)
            for handler in group["hooks"]
        ]
        return [output for output in outputs if output]

    def _run(self, handler: Mapping[str, Any], event: Mapping[str, Any]) -> str:
        if handler["type"] == "command":
            return run_command(handler["command"], event, self._environ)
        assert self._server is not None
        assert handler["server"] == "commonplace"
        self._calls += 1
        params = {"name": handler["tool"], "arguments": expand(handler["input"], event)}
        answer = self._server.ask(
            {"jsonrpc": "2.0", "id": self._calls, "method": "tools/call", "params": params}
        )["result"]
        assert not answer.get("isError"), answer
        assert "structuredContent" not in answer
        return "\n".join(part["text"] for part in answer["content"])


def run_command(command: str, event: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    """Run a command hook as a client does: in a shell, with the event on stdin."""
    ran = subprocess.run(
        command,
        shell=True,
        input=json.dumps(event),
        capture_output=True,
        text=True,
        timeout=60,
        env=dict(environ),
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout

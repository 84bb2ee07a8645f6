"""The hooks that each client gets: which events, in which form, in which file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commonplace.cli.connect.clients import Client, Surroundings
from commonplace.cli.connect.entries import same_state
from commonplace.cli.connect.files import Stripped, unsafe
from commonplace.cli.connect.json_text import rewrite
from commonplace.cli.connect.merging import NAME, read_document
from commonplace.cli.program import executable
from commonplace.kernel.json_types import Json, JsonObject

TOOL = "hook_context"
SECONDS = 10  # of a hook; it takes a fraction of one
END_SECONDS = 3  # at the end of a session, where Codex allows no more
STATUS = "Asking Commonplace"
_COMMAND = re.compile(r"\bcommonplace\b.* hook [A-Za-z]+ --client [a-z-]+")
# A SessionStart at a startup runs before servers are connected; a resumed context still contains
# what it was given.
_STARTS = "startup|clear|compact"

HookGroups = dict[str, list[JsonObject]]  # by event


@dataclass(frozen=True, slots=True)
class HookPlan:
    """The hooks of a client. `version` is a field that its file must have."""

    path: Callable[[Surroundings], Path]
    make: Callable[[bool], HookGroups]  # whether the server runs elsewhere
    version: int | None = None
    note: str = ""


def command_line(client: Client, event: str) -> str:
    """Return the command of a hook, for a shell."""
    program = shlex.quote(str(executable().absolute()))
    state = "".join(f" {shlex.quote(flag)}" for flag in same_state())
    return f"{program} hook {event} --client {client}{state}"


def _command(client: Client, event: str, **fields: Json) -> JsonObject:
    return {"type": "command", "command": command_line(client, event), **fields}


def _call(client: Client, event: str, server: str = NAME, **fields: str) -> JsonObject:
    """Return a handler that calls our tool; every field of its input must be in the event."""
    given = {"session_id": "${session_id}", "cwd": "${cwd}", **fields}
    return {
        "type": "mcp_tool",
        "server": server,
        "tool": TOOL,
        "input": {"client": str(client), "event": event, **given},
        "timeout": SECONDS,
        "statusMessage": STATUS,
    }


def _group(handler: JsonObject, matcher: str | None = None) -> list[JsonObject]:
    return [({"matcher": matcher} if matcher else {}) | {"hooks": [handler]}]


def claude_code_hooks(
    is_remote: bool, server: str = NAME, make_command: Callable[[str], str] | None = None
) -> HookGroups:
    """Return the hooks of Claude Code; `make_command` returns the command of an event."""
    client = Client.CLAUDE_CODE
    start = _command(client, "SessionStart", timeout=SECONDS)
    end = _command(client, "SessionEnd", timeout=END_SECONDS)
    if make_command is not None:
        start["command"], end["command"] = make_command("SessionStart"), make_command("SessionEnd")
    if is_remote:  # this machine has no store; after a compaction the server is connected
        start = _call(client, "SessionStart", server, source="${source}")
    prompt = _call(client, "UserPromptSubmit", server, prompt="${prompt}")
    write = _call(client, "PreToolUse", server, file_path="${tool_input.file_path}")
    notebook = _call(client, "PreToolUse", server, file_path="${tool_input.notebook_path}")
    subagent = _call(client, "SubagentStart", server, agent_id="${agent_id}")
    return {
        "SessionStart": _group(start, "clear|compact" if is_remote else _STARTS),
        "UserPromptSubmit": _group(prompt),
        "PreToolUse": _group(write, "Write|Edit|MultiEdit") + _group(notebook, "NotebookEdit"),
        "SubagentStart": _group(subagent),
    } | _session_end(end, is_remote)


def codex_hooks(is_remote: bool) -> HookGroups:
    """Return the hooks of Codex, whose edits arrive as patches."""
    client = Client.CODEX
    start = _command(client, "SessionStart", timeout=SECONDS)
    if is_remote:
        start = _call(client, "SessionStart", source="${source}")
    return {
        "SessionStart": _group(start, "clear|compact" if is_remote else _STARTS),
        "UserPromptSubmit": _group(_call(client, "UserPromptSubmit", prompt="${prompt}")),
        "PreToolUse": _group(
            _call(client, "PreToolUse", patch="${tool_input.command}"), "apply_patch"
        ),
        "SubagentStart": _group(_call(client, "SubagentStart", agent_id="${agent_id}")),
    } | _session_end(_command(client, "SessionEnd", timeout=END_SECONDS), is_remote)


def _session_end(handler: JsonObject, is_remote: bool) -> HookGroups:
    """Return the hook that captures a session; a server elsewhere cannot read the transcript."""
    return {} if is_remote else {"SessionEnd": _group(handler)}


def _gemini_hooks(is_remote: bool) -> HookGroups:
    client = Client.GEMINI

    def run(event: str, matcher: str | None = None) -> list[JsonObject]:
        milliseconds = SECONDS * 1_000
        return _group(_command(client, event, name=NAME, timeout=milliseconds), matcher)

    return {
        "SessionStart": run("SessionStart"),
        "BeforeAgent": run("BeforeAgent"),
        "AfterTool": run("AfterTool", "write_file|replace"),
        "PreCompress": run("PreCompress"),
    }


def _cursor_hooks(is_remote: bool) -> HookGroups:
    events = ("sessionStart", "beforeSubmitPrompt", "postToolUse", "preCompact")
    return {
        event: [{"command": command_line(Client.CURSOR, event), "timeout": SECONDS}]
        for event in events
    }


def _vscode_hooks(is_remote: bool) -> HookGroups:
    events = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PreCompact", "SubagentStart")
    times = {"timeout": SECONDS, "timeoutSec": SECONDS}  # VS Code's name and Copilot CLI's
    return {event: [_command(Client.VSCODE, event, **times)] for event in events}


def _copilot_file(around: Surroundings) -> Path:
    return around.folder("COPILOT_HOME", ".copilot") / "hooks" / "commonplace.json"


HOOK_PLANS: dict[Client, HookPlan] = {
    Client.CLAUDE_CODE: HookPlan(
        lambda around: around.cwd / ".claude" / "settings.local.json", claude_code_hooks
    ),
    Client.CODEX: HookPlan(
        lambda around: around.folder("CODEX_HOME", ".codex") / "hooks.json",
        codex_hooks,
        note="Codex runs new hooks after you reviewed them: open it and run /hooks.",
    ),
    Client.GEMINI: HookPlan(lambda around: around.cwd / ".gemini" / "settings.json", _gemini_hooks),
    Client.CURSOR: HookPlan(
        lambda around: around.home / ".cursor" / "hooks.json", _cursor_hooks, version=1
    ),
    Client.VSCODE: HookPlan(_copilot_file, _vscode_hooks, version=1),
    Client.COPILOT_CLI: HookPlan(_copilot_file, _vscode_hooks, version=1),
}


def add_hooks(document: JsonObject, plan: HookPlan, is_remote: bool) -> JsonObject:
    """Return a document with our hooks after those of others. Raises ValueError."""
    hooks = document.get("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(each, list) for each in hooks.values()):
        raise ValueError("`hooks` has another form there")
    others = {event: _without_ours(groups) for event, groups in hooks.items()}
    ours = plan.make(is_remote)
    version = {} if plan.version is None else {"version": plan.version}
    added = {event: [*others.get(event, ()), *groups] for event, groups in ours.items()}
    return version | document | {"hooks": others | added}


def merge_hooks(path: Path, text: str, plan: HookPlan, is_remote: bool) -> str:
    """Return a file's text with our hooks, and every other byte as it is."""
    try:
        return rewrite(text, add_hooks(read_document(path, text), plan, is_remote))
    except ValueError as broken:
        raise unsafe(path, str(broken)) from None


def strip_hooks(path: Path, text: str) -> Stripped:
    """Return a file's text without our hooks, and without events that have none then."""
    document = read_document(path, text)
    hooks = document.get("hooks")
    if not isinstance(hooks, dict):
        return Stripped(text, had_ours=False, is_empty=not document)
    had_ours = any(map(_is_ours, _handlers(hooks)))
    rest = {event: _without_ours(groups) for event, groups in hooks.items()}
    rest = {event: groups for event, groups in rest.items() if groups}
    left = {name: value for name, value in document.items() if name != "hooks"}
    if rest:
        left = document | {"hooks": rest}
    elif left.keys() == {"version"}:
        left = {}
    unversioned = {name: value for name, value in left.items() if name != "version"}
    return Stripped(rewrite(text, left), had_ours, not left, rewrite(text, unversioned))


def _without_ours(groups: Json) -> Json:
    if not isinstance(groups, list):
        return groups
    left: list[Any] = []
    for group in groups:
        if isinstance(group, dict) and isinstance(group.get("hooks"), list):
            handlers = [handler for handler in group["hooks"] if not _is_ours(handler)]
            if handlers or not group["hooks"]:
                left.append(group | {"hooks": handlers})
        elif not _is_ours(group):
            left.append(group)
    return left


def _handlers(hooks: Mapping[str, Json]) -> Iterable[Json]:
    for groups in hooks.values():
        for group in groups if isinstance(groups, list) else ():
            inner = group.get("hooks") if isinstance(group, dict) else None
            yield from inner if isinstance(inner, list) else (group,)


def _is_ours(handler: Json) -> bool:
    if not isinstance(handler, dict):
        return False
    if handler.get("type") == "mcp_tool":
        return handler.get("server") == NAME and handler.get("tool") == TOOL
    return _COMMAND.search(str(handler.get("command", ""))) is not None

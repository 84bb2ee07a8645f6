"""A session of 40 events with two compactions, as Claude Code and as Codex report it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

REPOSITORY = "/home/dev/shop"

# A step is an event and what differs: a prompt, a path, a command, how the session started.
STEPS = (
    ("start", "startup"),
    ("prompt", "Add a health check to the API"),
    ("read", "src/api/app.py"),
    ("write", "src/api/health.py"),
    ("written", "src/api/health.py"),
    ("shell", "make test"),
    ("write", "src/api/health.py"),
    ("write", "src/web/page.ts"),
    ("write", "docs/health.md"),
    ("stop", ""),
    ("prompt", "The health check needs a timeout"),
    ("write", "src/api/health.py"),
    ("shell", "make test"),
    ("write", "tests/test_health.py"),
    ("stop", ""),
    ("prompt", "Also mention it in the changelog"),
    ("write", "CHANGELOG.md"),
    ("compacting", "auto"),
    ("compacted", "auto"),
    ("start", "compact"),
    ("write", "src/api/health.py"),
    ("write", "src/web/page.ts"),
    ("prompt", "Go on with the health check"),
    ("read", "src/web/page.ts"),
    ("write", "src/api/ready.py"),
    ("shell", "git status"),
    ("stop", ""),
    ("prompt", "Rename the endpoint"),
    ("write", "src/api/ready.py"),
    ("write", "src/web/page.ts"),
    ("compacting", "manual"),
    ("compacted", "manual"),
    ("start", "compact"),
    ("prompt", "Run the tests"),
    ("shell", "make test"),
    ("write", "src/api/ready.py"),
    ("stop", ""),
    ("start", "resume"),
    ("prompt", "Thanks"),
    ("stop", ""),
)


def claude_code_events(session: str) -> Iterator[dict[str, Any]]:
    base = {
        "session_id": session,
        "transcript_path": f"/home/dev/.claude/{session}.jsonl",
        "cwd": REPOSITORY,
        "permission_mode": "default",
    }
    for number, (kind, value) in enumerate(STEPS):
        yield base | _claude_code_fields(kind, value, f"toolu_{number}")


def _claude_code_fields(kind: str, value: str, use: str) -> dict[str, Any]:
    absolute = {"file_path": f"{REPOSITORY}/{value}"}
    tool = {"tool_use_id": use}
    return {
        "start": {"hook_event_name": "SessionStart", "source": value},
        "prompt": {"hook_event_name": "UserPromptSubmit", "prompt": value},
        "read": {"hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": absolute},
        "write": {
            "hook_event_name": "PreToolUse",
            "tool_name": "Write",
            "tool_input": absolute | {"content": "x"},
        },
        "written": {
            "hook_event_name": "PostToolUse",
            "tool_name": "Write",
            "tool_input": absolute,
            "tool_response": {"success": True},
        },
        "shell": {
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": value},
        },
        "compacting": {
            "hook_event_name": "PreCompact",
            "trigger": value,
            "custom_instructions": "",
        },
        "compacted": {"hook_event_name": "PostCompact", "trigger": value},
        "stop": {"hook_event_name": "Stop", "stop_hook_active": False},
    }[kind] | (tool if kind in ("read", "write", "written", "shell") else {})


def codex_events(session: str) -> Iterator[dict[str, Any]]:
    base = {
        "session_id": session,
        "transcript_path": None,
        "cwd": REPOSITORY,
        "model": "model-x",
    }
    for number, (kind, value) in enumerate(STEPS):
        fields = _codex_fields(kind, value)
        turn = {} if kind == "start" else {"turn_id": f"turn-{number}"}
        mode = {} if "compact" in kind else {"permission_mode": "default"}
        use = {"tool_use_id": f"call-{number}"} if "tool_name" in fields else {}
        yield base | turn | mode | use | fields


def _codex_fields(kind: str, value: str) -> dict[str, Any]:
    patch = f"*** Begin Patch\n*** Update File: {value}\n@@\n-a\n+b\n*** End Patch\n"
    edit = {"tool_name": "apply_patch", "tool_input": {"command": patch}}
    return {
        "start": {"hook_event_name": "SessionStart", "source": value},
        "prompt": {"hook_event_name": "UserPromptSubmit", "prompt": value},
        "read": {"hook_event_name": "PreToolUse", "tool_name": "view", "tool_input": {}},
        "write": {"hook_event_name": "PreToolUse", **edit},
        "written": {"hook_event_name": "PostToolUse", **edit, "tool_response": {}},
        "shell": {
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": value},
        },
        "compacting": {"hook_event_name": "PreCompact", "trigger": value},
        "compacted": {"hook_event_name": "PostCompact", "trigger": value},
        "stop": {
            "hook_event_name": "Stop",
            "stop_hook_active": False,
            "last_assistant_message": None,
        },
    }[kind]

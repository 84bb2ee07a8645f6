"""What a hook tells: the moment in a client's session, and what is about to happen there."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class HookClient(StrEnum):
    """The clients whose hooks are understood."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    CURSOR = "cursor"
    VSCODE = "vscode"
    GEMINI = "gemini"
    CLINE = "cline"


class Moment(StrEnum):
    """When a hook runs, whatever its client calls it."""

    SESSION_START = "session_start"  # nothing is in the context yet
    PROMPT = "prompt"
    EDIT = "edit"  # before a file is written, or after it where a client takes nothing before
    TOOL = "tool"  # another tool
    COMPACTING = "compacting"  # the context is about to be, or was, shortened
    COMPACTED = "compacted"  # the same, and what the hook returns is kept
    SUBAGENT = "subagent"  # a subagent starts with an empty context of its own
    OTHER = "other"


class HookEvent(NamedTuple):
    """One run of a hook.

    `name` is the event as the client spells it. `session` and, inside a subagent, `agent` identify
    one context of a model. `paths` are as the client wrote them; `roots` are the folders that the
    client works in, the nearest first.
    """

    client: HookClient
    name: str
    moment: Moment
    session: str = ""
    agent: str = ""
    roots: tuple[str, ...] = ()
    prompt: str = ""
    paths: tuple[str, ...] = ()

"""The form in which each client takes the text of a hook, and how much of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

from commonplace.context.delivery.event import HookClient, HookEvent, Moment
from commonplace.kernel.json_types import JsonObject

MAX_CHARS = 10_000  # of the whole output; Claude Code and Cursor count UTF-16 code units


class HookForm(NamedTuple):
    """What a client honours.

    `takes` are the events, in lower case, whose output reaches the model; on others nothing is
    printed. `keeps`: a prompt whose event takes nothing is delivered with the next tool.
    `max_tokens`: above it the client writes the text to a file.
    """

    takes: frozenset[str]
    wrap: Callable[[str, str], JsonObject]  # event, text
    max_tokens: int | None = None
    keeps: bool = False


def _nested(event: str, text: str) -> JsonObject:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _cursor(event: str, text: str) -> JsonObject:
    return {"additional_context": text}


def _cline(event: str, text: str) -> JsonObject:
    return {"cancel": False, "contextModification": text}


# Sources in docs/how-to/hooks.md. Events of Claude Code that no hook of ours uses are listed where
# they take context, so that a person may add them.
FORMS: dict[HookClient, HookForm] = {
    HookClient.CLAUDE_CODE: HookForm(
        frozenset(
            {
                "sessionstart",
                "subagentstart",
                "userpromptsubmit",
                "userpromptexpansion",
                "pretooluse",
                "posttooluse",
            }
        ),
        _nested,
    ),
    HookClient.CODEX: HookForm(
        frozenset(
            {"sessionstart", "subagentstart", "userpromptsubmit", "pretooluse", "posttooluse"}
        ),
        _nested,
        max_tokens=2_400,
    ),
    HookClient.CURSOR: HookForm(frozenset({"sessionstart", "posttooluse"}), _cursor, keeps=True),
    HookClient.VSCODE: HookForm(
        frozenset({"sessionstart", "subagentstart", "pretooluse", "posttooluse"}),
        _nested,
        keeps=True,
    ),
    HookClient.GEMINI: HookForm(frozenset({"sessionstart", "beforeagent", "aftertool"}), _nested),
    HookClient.CLINE: HookForm(
        frozenset({"taskstart", "userpromptsubmit", "pretooluse", "posttooluse"}), _cline
    ),
}


def takes_text(event: HookEvent) -> bool:
    """Tell whether what the hook prints reaches the model."""
    return event.name.lower() in FORMS[event.client].takes


def keeps_prompt(event: HookEvent) -> bool:
    """Tell whether the prompt waits for the next tool, because its own event takes nothing."""
    form = FORMS[event.client]
    return form.keeps and event.moment is Moment.PROMPT and event.name.lower() not in form.takes


def write_output(event: HookEvent, text: str) -> str:
    """Return what the hook prints, as one line."""
    answer = FORMS[event.client].wrap(event.name, text)
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def fits(event: HookEvent, text: str) -> bool:
    """Tell whether the client takes a text whole."""
    output = write_output(event, text)
    if len(output) > MAX_CHARS or len(output.encode("utf-16-le", "surrogatepass")) > 2 * MAX_CHARS:
        return False
    most = FORMS[event.client].max_tokens
    if most is None:
        return True
    from commonplace.kernel.tokens.bound import count_tokens

    return count_tokens(text) <= most

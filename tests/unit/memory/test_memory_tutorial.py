"""The tutorial's transcript is true: every call in it is made, every answer compared."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson

from memory_calls import Calls

TUTORIAL = Path(__file__).parents[3] / "docs" / "tutorial" / "memory.md"
BLOCK = re.compile(r"```(call|answer|error)(?: (\w+))?\n(.*?)\n```", re.DOTALL)


def fits(expected: Any, found: Any, names: dict[str, str]) -> bool:
    """`…` stands for anything, `$NAME` for one id; an object with a `…` may have more fields."""
    if expected == "…":
        return True
    if isinstance(expected, str) and expected.startswith("$"):
        return names.setdefault(expected, found) == found
    if isinstance(expected, dict):
        more = "…" in expected or expected.keys() == (
            found.keys() if isinstance(found, dict) else None
        )
        return more and all(
            name == "…" or (name in found and fits(value, found[name], names))
            for name, value in expected.items()
        )
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(expected) == len(found)
            and all(map(lambda e, f: fits(e, f, names), expected, found))
        )
    return bool(expected == found)


def filled(arguments: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {
        key: names.get(value, value) if isinstance(value, str) else value
        for key, value in arguments.items()
    }


def test_every_call_of_the_tutorial_answers_as_it_says(memory: Calls) -> None:
    blocks = BLOCK.findall(TUTORIAL.read_text("utf-8"))
    names: dict[str, str] = {}
    made: list[str] = []
    for (kind, tool, body), (answer_kind, _, answer) in zip(blocks[::2], blocks[1::2], strict=True):
        assert kind == "call"
        outcome = memory.outcome(tool, **filled(orjson.loads(body), names))
        made.append(tool)
        if answer_kind == "error":
            assert outcome.error is not None
            assert outcome.error.code.name == answer.strip()
            continue
        assert outcome.error is None, outcome.error
        assert fits(orjson.loads(answer), outcome.output, names), (
            f"{tool}: {orjson.dumps(outcome.output).decode()}"
        )
    wanted = {
        "rekall_help",
        "rekall_search",
        "rekall_show",
        "rekall_add",
        "rekall_suggest_links",
        "rekall_accept_suggestion",
    }
    assert wanted <= set(made)

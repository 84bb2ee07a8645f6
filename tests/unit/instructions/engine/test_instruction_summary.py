"""Summaries of instructions: snippets, and how long a summary is kept."""

from __future__ import annotations

import json
from pathlib import Path

from catalogue_helpers import CALLER, open_service
from hypothesis import given
from hypothesis import strategies as st

from commonplace.instructions.engine.codec import parse
from commonplace.instructions.engine.normalise import ReadingRules
from commonplace.instructions.engine.summary import LISTED_CHARS, shorten, summarise_entry
from commonplace.instructions.model import Instruction

WORDS = st.text(st.sampled_from("ab \n\t…é"), max_size=12 * LISTED_CHARS)


def entry(body: str) -> Instruction:
    fields = {"id": "a", "title": "T", "body": body, "workspaceId": "w"}
    return parse("a", json.dumps(fields).encode(), 0.0, ReadingRules())


@given(WORDS, st.integers(4, LISTED_CHARS))
def test_a_snippet_is_the_beginning_of_the_text_on_one_line(text: str, width: int) -> None:
    snippet = shorten(text, width)
    line = " ".join(text[: 4 * width].split())
    assert len(snippet) <= width
    assert "\n" not in snippet
    if len(text) <= 4 * width and len(line) <= width:
        assert snippet == line
    else:
        assert snippet.endswith("…")
        assert line.startswith(snippet[:-1])


def test_a_short_text_after_much_white_space_is_whole() -> None:
    assert shorten(" " * 3 * LISTED_CHARS + "end", LISTED_CHARS) == "end"


def test_a_summary_leaves_out_what_is_not_set() -> None:
    assert summarise_entry(entry("Use locks.")) == {
        "id": "a",
        "title": "T",
        "snippet": "Use locks.",
        "priority": 50,
        "requirement": "optional",
        "status": "approved",
        "categories": [],
        "workspaceId": "w",
    }


def test_a_summary_is_made_once_per_instruction() -> None:
    instruction = entry("Use locks.")
    assert instruction.summary is None
    assert summarise_entry(instruction) is summarise_entry(instruction)


def test_a_list_shows_the_summary_of_the_newest_body(tmp_path: Path) -> None:
    service = open_service(tmp_path)
    for body in ("first", "second"):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / "a.json").write_text(json.dumps({"id": "a", "body": body}))
        service.reload(CALLER)
        [item] = service.list_entries(CALLER, compact=True).items
        assert item["snippet"] == body
    service.close()

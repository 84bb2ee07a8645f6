"""Rules that lessons suggest: their text, id and categories, without ids of entries."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from commonplace.memory.engine.generalize import draft_pattern
from commonplace.memory.model import Entry, EntryStatus, EntryType, MemoryType
from commonplace.memory.use_cases.promotion.draft import RuleDraft, draft_rule, rule_id, without_ids

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def lesson(number: int, title: str, content: str = "", **fields: Any) -> Entry:
    values: dict[str, Any] = {
        "id": f"01ARZ3NDEKTSV4RRFFQ69G5F{number:02d}",
        "type": EntryType.BUG,
        "title": title,
        "content": content,
        "tags": (),
        "project": None,
        "confidence": 3,
        "status": EntryStatus.ACTIVE,
        "memory_type": MemoryType.EPISODIC,
        "created_at": MOMENT,
        "updated_at": MOMENT,
    }
    return Entry(**{**values, **fields})


def test_one_lesson_becomes_a_rule_with_its_title_text_and_tags() -> None:
    entry = lesson(1, "SQLite locks", "Set busy_timeout. Then write.", tags=("SQLite", "c++"))
    draft = draft_rule([entry], RuleDraft())
    assert (draft.id, draft.title) == ("lesson.sqlite-locks", "SQLite locks")
    assert draft.body == "Set busy_timeout. Then write."
    assert draft.description == "Set busy_timeout."
    assert draft.categories == ("sqlite", "c")


def test_what_is_given_wins_and_a_lesson_without_text_has_its_title() -> None:
    given = RuleDraft(id="team.locks", title="Locks", body="Wait.", categories=("storage",))
    assert draft_rule([lesson(1, "Other", "Text", tags=("x",))], given) == RuleDraft(
        id="team.locks", title="Locks", body="Wait.", description="Wait.", categories=("storage",)
    )
    assert draft_rule([lesson(1, "Only a title")], RuleDraft()).body == "Only a title"


def test_several_lessons_become_one_rule_with_the_tags_that_most_share() -> None:
    shared = "Always set busy_timeout before the first write."
    entries = [
        lesson(1, "Locked on deploy", f"{shared}\nSeen on Monday.", tags=("sqlite", "deploy")),
        lesson(2, "Locked in tests", f"{shared}\nSeen on Friday.", tags=("sqlite",)),
    ]
    draft = draft_rule(entries, RuleDraft())
    assert draft.body.startswith(f"- {shared}")
    assert "**Locked on deploy**" in draft.body
    assert draft.categories[0] == "sqlite"


def test_a_generalisation_is_published_without_the_table_of_its_sources() -> None:
    sources = [lesson(n, f"Locked {n}", "Set busy_timeout before writes.") for n in (1, 2, 3)]
    pattern = draft_pattern(sources)
    body = draft_rule([lesson(9, pattern.title, pattern.content)], RuleDraft()).body
    assert "Set busy_timeout before writes." in body
    for text in ("01ARZ3NDEKTSV4RRFFQ69G5F", "## Sources", "| id |", "|---|"):
        assert text not in body


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Keep this.\nSee 01ARZ3NDEKTSV4RRFFQ69G5FAV.\nAnd this.", "Keep this.\nAnd this."),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("# Heading\n\nText", "# Heading\n\nText"),
        ("Text\n\n## Links\n[01ARZ3NDEKTSV4RRFFQ69G5FAV]", "Text"),
        ("", ""),
        (
            "Pool the sockets; see [01ARZ3NDEKTSV4RRFFQ69G5FAV] Fix CORS. Never open one.",
            "Pool the sockets; see Fix CORS. Never open one.",
        ),
        ("Pool them. See 01ARZ3NDEKTSV4RRFFQ69G5FAV. Never open.", "Pool them. Never open."),
        ("- 01ARZ3NDEKTSV4RRFFQ69G5FAV the title of another entry\n- Text", "- Text"),
        ("- Pool the sockets (01ARZ3NDEKTSV4RRFFQ69G5FAV).", "- Pool the sockets."),
        (
            "Pool the sockets. As [memory:01ARZ3NDEKTSV4RRFFQ69G5FAV] says, never open one.",
            "Pool the sockets. As says, never open one.",
        ),
        ("Pool all as memory:01ARZ3NDEKTSV4RRFFQ69G5FAV says.", "Pool all as says."),
        ("Pool the sockets (see [01ARZ3NDEK] Fix CORS).", "Pool the sockets (see Fix CORS)."),
        ("[01ARZ3NDEK] the title of another entry\nText", "Text"),
        ("Write array[0XFFFF] and rows[01234] as they are.",) * 2,
    ],
)
def test_references_to_entries_are_left_out(text: str, kept: str) -> None:
    assert without_ids(text) == kept


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Fix CORS: Safari & co.", "lesson.fix-cors-safari-co"),
        ("Réessayer à l'échec", "lesson.reessayer-a-l-echec"),
        ("漢字", "lesson.rule"),
        ("x" * 300, f"lesson.{'x' * 80}"),
    ],
)
def test_an_id_is_made_from_the_title(title: str, expected: str) -> None:
    assert rule_id(title) == expected


def test_the_hash_changes_with_every_field_and_with_the_texts_behind_it() -> None:
    draft, lessons = RuleDraft(id="a", title="A"), {"1": "x"}
    hashes = {
        draft.hash(lessons),
        RuleDraft(id="a", title="B").hash(lessons),
        draft.hash({"1": "y"}),
        draft.hash({"1": "x", "2": "x"}),
    }
    assert len(hashes) == 4

"""Ids of imported rules are legal, stable and speak of path and title."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.instructions.adapters.naming import candidate_id, numbered, skill_name
from commonplace.instructions.fields import is_reserved_id, is_valid_id


@pytest.mark.parametrize(
    ("path", "title", "expected"),
    [
        (".cursor/rules/go.mdc", "Go Language Rules", "go-language-rules"),
        (".cursor/rules/style.mdc", "Go Language Rules", "style-go-language-rules"),
        (".claude/rules/api/errors.md", "Errors", "api-errors"),
        ("AGENTS.md", "Payments service", "agents-payments-service"),
        ("web/AGENTS.md", "AGENTS", "web-agents"),
        ("review/SKILL.md", "Review a change", "review-a-change"),
        ("gates.mdc", "gates", "rule-gates"),
        (".cursor/rules/\u65e5\u672c.mdc", "\u65e5\u672c", "rule"),
    ],
)
def test_an_id_derives_from_path_and_title(path: str, title: str, expected: str) -> None:
    assert candidate_id(path, title) == expected


@given(st.text(max_size=40), st.text(max_size=40))
def test_every_id_and_skill_name_is_legal(path: str, title: str) -> None:
    candidate = candidate_id(path or "x", title)
    assert is_valid_id(numbered(candidate, {candidate}))
    assert not is_reserved_id(candidate)
    assert len(skill_name(candidate, {candidate})) <= 64


def test_collisions_are_numbered() -> None:
    assert numbered("go", {"go", "go-2"}) == "go-3"

"""Normalisation: defaults, repaired values, rejections."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.instructions.engine.normalise import NotAnInstruction, ReadingRules, normalise
from commonplace.instructions.fields import (
    AUDIENCES,
    FIELD_ORDER,
    REQUIREMENTS,
    STATUSES,
    TIERS,
)
from commonplace.instructions.store.directory import InstructionDirectory

NOW = 1_750_000_000.0
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(("version", "summary", "changedAt", "x")), inner, max_size=3
        )
    ),
    max_leaves=6,
)


def read(folder: Path, name: str, content: Any) -> Any:
    (folder / name).write_text(
        content if isinstance(content, str) else json.dumps(content), encoding="utf-8"
    )
    return InstructionDirectory(folder).read(name)


def test_id_and_body_are_sufficient(tmp_path: Path) -> None:
    document = read(
        tmp_path, "a.json", {"id": "a", "body": "  First line\nmore  "}
    ).instruction.document
    assert document["body"] == "  First line\nmore  "
    assert (
        document["title"],
        document["priority"],
        document["priorityTier"],
        document["requirement"],
    ) == ("a", 50, "P3", "optional")
    assert (
        document["audience"],
        document["status"],
        document["owner"],
        document["classification"],
    ) == (
        "all",
        "approved",
        "unowned",
        "internal",
    )
    assert (document["version"], document["semanticSummary"], document["reviewIntervalDays"]) == (
        "1.0.0",
        "First line",
        90,
    )
    assert document["categories"] == ["uncategorized"]
    assert document["changeLog"][0]["summary"] == "initial import"
    assert document["riskScore"] == 50 + 5


@pytest.mark.parametrize(
    ("given", "expected", "mended"),
    [
        ({"audience": "martians"}, {"audience": "all"}, "audience"),
        ({"requirement": "whatever"}, {"requirement": "recommended"}, "requirement"),
        (
            {"requirement": "MUST"},
            {"requirement": "mandatory", "priorityTier": "P1"},
            "requirement",
        ),
        ({"requirement": "Should"}, {"requirement": "recommended"}, "requirement"),
        ({"requirement": "may"}, {"requirement": "optional"}, "requirement"),
        ({"priority": 0}, {"priority": 50}, "priority"),
        ({"priority": "high"}, {"priority": 50}, "priority"),
        ({"priority": True}, {"priority": 50}, "priority"),
        ({"priorityTier": "P9", "priority": 1}, {"priorityTier": "P1"}, "priorityTier"),
        ({"status": "active"}, {"status": "approved"}, "status"),
        ({"classification": "secret"}, {"classification": "internal"}, "classification"),
        ({"version": "1.0"}, {"version": "1.0.0"}, "version"),
        ({"title": "t" * 300}, {"title": "t" * 200}, "title"),
        ({"tags": "x"}, {}, "tags"),
        ({"teamIds": [1, "a"]}, {"teamIds": ["a"]}, "teamIds"),
        ({"categories": ["Good", "not good", 3]}, {"categories": ["good"]}, "categories"),
        (
            {"createdAt": "yesterday", "updatedAt": "2025-01-01T00:00:00Z"},
            {"createdAt": "2025-01-01T00:00:00Z"},
            "createdAt",
        ),
        ({"reviewIntervalDays": 1000}, {"reviewIntervalDays": 90}, "reviewIntervalDays"),
        ({"semanticSummary": "s" * 700}, {"semanticSummary": "s" * 600}, "semanticSummary"),
        ({"extensions": 3}, {}, "extensions"),
    ],
)
def test_a_nearly_valid_value_is_repaired_and_reported(
    given: dict[str, Any], expected: dict[str, Any], mended: str
) -> None:
    instruction = normalise({"id": "a", "body": "x", **given}, "a", NOW, ReadingRules())
    assert {name: instruction.document[name] for name in expected} == expected
    assert instruction.salvaged == (mended,)


def test_a_document_without_times_takes_them_from_the_file() -> None:
    document = normalise({"id": "a", "body": "x"}, "a", NOW, ReadingRules()).document
    assert document["createdAt"] == document["updatedAt"] == "2025-06-15T15:06:40.000Z"
    assert "nextReviewDue" not in document
    with pytest.raises(NotAnInstruction):
        normalise({"id": "a"}, "a", NOW, ReadingRules())


@given(
    st.dictionaries(st.sampled_from([*FIELD_ORDER, "usageCount", "unknown"]), ANYTHING, max_size=6)
)
def test_any_other_field_may_hold_any_value(fields: dict[str, Any]) -> None:
    instruction = normalise({**fields, "id": "a", "body": "x"}, "a", NOW, ReadingRules())
    shown = instruction.document.whole()
    assert (shown["id"], shown["body"]) == ("a", "x")
    for field, allowed in (
        ("audience", AUDIENCES),
        ("requirement", REQUIREMENTS),
        ("status", STATUSES),
        ("priorityTier", TIERS),
    ):
        assert shown[field] in allowed


@pytest.mark.parametrize(
    "field", ["audience", "requirement", "status", "classification", "priorityTier"]
)
def test_a_list_in_place_of_a_word_is_repaired(tmp_path: Path, field: str) -> None:
    instruction = read(tmp_path, "a.json", {"id": "a", "body": "x", field: ["y"]}).instruction
    assert field in instruction.salvaged

"""Ids and the order of fields."""

from __future__ import annotations

from commonplace.instructions.fields import (
    is_valid_id,
)


def test_valid_and_invalid_ids() -> None:
    for good in ("a", "a1", "a-b", "a_b", "instr.alpha", "x" * 120, "0"):
        assert is_valid_id(good), good
    for bad in (
        "",
        "-a",
        "a-",
        ".a",
        "a.",
        "a..b",
        "A",
        "a b",
        "a/b",
        "ä",
        "x" * 121,
        "a\n",
        None,
        3,
    ):
        assert not is_valid_id(bad), bad

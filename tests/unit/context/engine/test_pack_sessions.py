"""A session is shown nothing twice: of a passage that was cut, only the other lines are new."""

from __future__ import annotations

from commonplace.context.engine.packing import digest_of
from commonplace.context.engine.session import leave_out_known
from commonplace.context.model import ContextCandidate, PackSection


def passage(first: int, last: int, updated: str = "2026-01-01") -> ContextCandidate:
    return ContextCandidate(
        PackSection.FILES,
        f"file:shop/a.py#L{first}-L{last}",
        "",
        "\n".join(f"line {number}" for number in range(first, last + 1)),
        "by meaning",
        0.5,
        topic=0.9,
        line=first,
        updated=updated,
    )


def shown(*candidates: ContextCandidate) -> dict[str, str]:
    return {candidate.ref: digest_of(candidate) for candidate in candidates}


def test_of_a_passage_that_was_cut_the_other_lines_are_new() -> None:
    new = leave_out_known(passage(10, 40), shown(passage(15, 22)))
    assert new is not None
    assert (new.ref, new.line) == ("file:shop/a.py#L23-L40", 23)
    assert new.text.split("\n")[0] == "line 23"
    assert new.text.split("\n")[-1] == "line 40"


def test_a_passage_that_is_known_but_for_a_line_is_known() -> None:
    assert leave_out_known(passage(10, 40), shown(passage(12, 40))) is None
    assert leave_out_known(passage(10, 20), shown(passage(1, 15), passage(16, 30))) is None


def test_a_changed_or_other_passage_is_new() -> None:
    candidate = passage(10, 40)
    assert leave_out_known(candidate, shown(passage(15, 22, "2025-01-01"))) is candidate
    assert leave_out_known(candidate, shown(passage(50, 60))) is candidate
    assert leave_out_known(candidate, {}) is candidate

"""Why a passage was found, in words."""

from __future__ import annotations

from commonplace.console.pages.files.search import explain, in_words


def test_stems_are_shown_as_the_words_that_the_person_typed() -> None:
    assert in_words(["roll", "back"], "Rolling back") == "Rolling, back"


def test_the_reason_names_words_meaning_and_weight() -> None:
    why = {"matched": ["roll"], "missing": ["switch"], "cosine": 0.5, "bm25": 1.234}
    assert explain(why, "rolling switch") == (
        "Why: words found: rolling; not found: switch; closeness in meaning 0.50; word weight 1.23"
    )
    assert explain({}, "x") == "Why: closest of what is stored"

"""Citations are found in texts, and compared with titles."""

from __future__ import annotations

import pytest

from commonplace.memory.engine.citations import find_citations


def test_the_format_of_the_guide_is_found_with_its_place() -> None:
    text = 'Intro\nSelon [01HX123] Fix CORS Safari, le problème\n- "[01HX] Titre..."'
    found = list(find_citations(text))
    assert [(c.reference, c.line, c.column) for c in found] == [("01HX123", 2, 7), ("01HX", 3, 4)]
    assert found[0].claimed_title == "Fix CORS Safari"


@pytest.mark.parametrize(
    "reference", ["01HXILOU23", "01HXABCDEFGHIJKLMNOPQRSTUVWXYZ", "01m7pvg62q0f8p6n04a5c0dsya"]
)
def test_an_invented_id_and_one_in_small_letters_are_citations(reference: str) -> None:
    assert [found.reference for found in find_citations(f"see [{reference}] Title")] == [reference]


@pytest.mark.parametrize(
    ("text", "references"),
    [
        ("[01HX123, 01HX456; 01HX789]", ["01HX123", "01HX456", "01HX789"]),
        ("[01HX123, Fix CORS Safari]", ["01HX123"]),
        ("[memory:01HX123] Fix", ["01HX123"]),
        ("[ 01HX123 ] and [[01HX456]]", ["01HX123", "01HX456"]),
        ("dropped[01HX123].", ["01HX123"]),
    ],
)
def test_ids_are_found_however_the_brackets_are_filled(text: str, references: list[str]) -> None:
    assert [found.reference for found in find_citations(text)] == references


@pytest.mark.parametrize(
    "text",
    [
        "array[0XFF]",
        "mask = [0B101]",
        "[1]",
        "[2024]",
        "[x]",
        "[01hx123]",
        "[0123]",
        "[ ]",
        "[HTTP]",
    ],
)
def test_footnotes_years_and_words_are_no_citations(text: str) -> None:
    assert list(find_citations(text)) == []


@pytest.mark.parametrize(
    ("text", "title", "expected"),
    [
        ("[01HX123] Fix CORS Safari, le problème", "Fix CORS Safari header", True),
        ("[01HX123] **Fix CORS Safari header** says", "Fix CORS Safari header", True),
        ("[01HX123] Fix CORS Safari header says so", "Fix CORS Safari header", True),
        ("[01HX123] Fix...", "Fix CORS Safari header", True),
        ("[01HX123] Store.add commits. Then", "Store.add commits under the lock", True),
        ("as [01HX123] says", "Fix CORS Safari header", True),
        ("see [01HX123].", "Fix CORS Safari header", True),
        ("[01HX123] Fix the timeout", "Fix CORS Safari header", False),
        ("[01HX123] « Déployer le vendredi »", "Déployer le vendredi, jamais", True),
        ("[01HX123] Postgres locks", "Postgres locks: use advisory ones", True),
        ("[01HX123] Postgres loc", "Postgres locks: use advisory ones", False),
        ("[01HX123] Fix", "Fix CORS Safari header", False),
        ("- [01HX123] - Fix CORS Safari header", "Fix CORS Safari header", True),
        ("**[01HX123]** \u2014 **Fix CORS Safari header**", "Fix CORS Safari header", True),
        ("| [01HX123] | Fix CORS Safari | done |", "Fix CORS Safari header", True),
        ("| [01HX123] | Fix the timeout | done |", "Fix CORS Safari header", False),
        ("[01HX123] \u2013 Fix the timeout", "Fix CORS Safari header", False),
        ("[01HX123] --here takes anchors", "--here takes anchors", True),
    ],
)
def test_a_title_after_the_id_is_the_title_or_its_beginning(
    text: str, title: str, expected: bool
) -> None:
    (citation,) = find_citations(text)
    assert citation.names(title) is expected

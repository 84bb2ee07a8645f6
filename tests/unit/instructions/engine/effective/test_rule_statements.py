"""Statements that oppose each other, and texts that repeat each other."""

from __future__ import annotations

import pytest

from commonplace.instructions.engine.effective.rule import literal_folder
from commonplace.instructions.engine.effective.similarity import SimilarTexts, TextShape
from commonplace.instructions.engine.effective.statements import (
    count_statements,
    find_directives,
)


def oppose(first: str, second: str) -> bool:
    values = {directive.subject: directive.value for directive in find_directives(first)}
    return any(
        values.get(directive.subject, directive.value) != directive.value
        for directive in find_directives(second)
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Use tabs.", "Use spaces."),
        ("Use tabs for indentation.", "Indent with spaces."),
        ("Use pnpm.", "Use npm."),
        ("Use pnpm, not npm.", "Use npm instead of pnpm."),
        ("Prefer single quotes for strings.", "Use double quotes for strings."),
        ("Limit lines to 100 characters.", "- Limit lines to 120 characters."),
        ("Always write comments in English", "Never write comments in English."),
        ("Commit generated files.", "Do not commit generated files."),
        ("Use `any` in tests", "Don\u2019t use any in tests."),
    ],
)
def test_opposing_statements_are_recognised_both_ways(first: str, second: str) -> None:
    assert oppose(first, second)
    assert oppose(second, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Use tabs.", "Use tabs for indentation."),
        ("Write tests for services.", "Write docs for services."),
        ("Limit lines to 100 characters.", "Limit functions to 60 lines."),
        ("Step 1: read the file.", "Step 2: read the file."),
        ("Never commit secrets.", "Never log secrets."),
        ("```\nUse tabs.\n```", "Use spaces."),
        ("# Use tabs", "# Use spaces"),
        ("The old code has tabs.", "The old code has spaces."),
    ],
)
def test_other_statements_are_left_alone(first: str, second: str) -> None:
    assert not oppose(first, second)


def test_statements_are_counted_outside_code_and_headings() -> None:
    assert count_statements("# Title\n\n- One.\n- Two. Three!\n\n```\ncode\n```\n") == 3


def test_texts_repeat_each_other_unless_a_number_or_a_negation_differs() -> None:
    text = "Every service logs the identifier of a request with each line that it writes"
    texts = SimilarTexts()
    assert texts.find_or_keep(TextShape.of(text)) is None
    assert texts.find_or_keep(TextShape.of(f"**{text.upper()}**!")) == 0
    longer = f"{text}, in one place of the file, and keeps it for later readers"
    assert texts.find_or_keep(TextShape.of(longer)) is None
    assert texts.find_or_keep(TextShape.of(f"{longer} too")) == 1
    assert texts.find_or_keep(TextShape.of(f"{longer} never")) is None
    assert texts.find_or_keep(TextShape.of(f"{longer} 7")) is None


def test_the_folder_of_globs_is_what_they_all_name() -> None:
    assert literal_folder(("src/api/**", "src/api/v1/*.py")) == "src/api"
    assert literal_folder(("src/api/**", "lib/**")) == ""
    assert literal_folder(("**/*.py",)) == ""
    assert literal_folder(("src/a.py",)) == "src"
    assert literal_folder(()) == ""

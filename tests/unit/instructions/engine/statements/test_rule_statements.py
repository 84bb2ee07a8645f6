"""Statements that oppose each other, and texts that repeat each other."""

from __future__ import annotations

import pytest

from commonplace.instructions.engine.effective.rule import literal_folder
from commonplace.instructions.engine.effective.similarity import SimilarTexts, TextShape
from commonplace.instructions.engine.statements.clauses import count_statements
from commonplace.instructions.engine.statements.directives import find_directives


def oppose(first: str, second: str) -> bool:
    directives = {directive.subject: directive for directive in find_directives(first)}
    return any(
        directive.opposes(directives.get(directive.subject, directive))
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
        ("Indent with 2 spaces.", "Use 4 spaces for indentation."),
        ("Maximum line length is 80.", "Limit lines to 120 characters."),
        ("Lines must not exceed 100 characters.", "Keep lines under 80 characters."),
        ("Omit semicolons.", "Always use semicolons"),
        ("Console.log is forbidden.", "console.log is allowed."),
        ("Comments are required.", "Comments are not allowed."),
        ("Use yarn for packages.", "Use pnpm to install dependencies."),
        ("Use Jest for unit tests.", "Use vitest for tests."),
        ("Prefer composition over inheritance.", "Prefer inheritance over composition."),
        ("Use classes rather than functions.", "Use functions."),
        ("Write commit messages in English.", "Commit messages must be in German."),
        ("Use Python 3.11.", "Use Python 3.12."),
        ("Use Node 18", "Use Node 20."),
        ("Use snake_case for file names.", "Use kebab case for file names."),
        ("Require 2 approvals for a merge.", "Require 1 approval for a merge."),
        ("You may use default exports.", "Default exports are banned."),
        ("Rebase feature branches.", "Squash feature branches."),
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
        ("Never mock.", "Mock external services."),
        ("Use tabs in Makefiles.", "Use spaces in Python."),
        ("Limit lines to 80 characters in docs.", "Limit lines to 120 characters."),
        ("Keep functions under 50 lines.", "Keep files under 300 lines."),
        ("Use 2 spaces in YAML.", "Use 4 spaces in Python."),
        ("Use single quotes in Python.", "Use double quotes in JSX."),
        ("Return 404 if it is missing.", "Return 400 if it is invalid."),
        ("Use HTTP 404.", "Use HTTP 500."),
        ("Prefer const over let.", "Use let for counters."),
        ("Use a loop over items.", "Use items."),
        ("Add German translations.", "Add French translations."),
        ("Use camelCase for variables.", "Use PascalCase for classes."),
        ("Use Python 3.11 in CI.", "Use Python 3.12 locally."),
        ("Avoid global state.", "Keep global state in the store."),
        ("Do not forget to write tests.", "Write tests."),
        ("Never skip tests.", "Skip slow tests."),
        ("Never push to main.", "Push tags to main."),
        ("Use npm ci in pipelines.", "Use pnpm locally."),
        ("Update line 42.", "Update line 43."),
        ("Retry 3 times.", "Wait 5 seconds."),
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

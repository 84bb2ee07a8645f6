"""Front matter as people write it: what it means is read, and what is lost is said."""

from __future__ import annotations

import pytest

from commonplace.instructions.adapters.reading import FoundRule, read_rule_file
from commonplace.instructions.clients.check import check_rule_files
from commonplace.instructions.rulefiles.front_matter import NO_HEADER, split_front_matter
from commonplace.instructions.use_cases.rule_files.limits import PlannedTree
from measuring import runs_within


def read(header: str) -> tuple[FoundRule, tuple[str, ...]]:
    text = f"---\n{header}\n---\n# Title\nText.\n"
    reading = read_rule_file(".cursor/rules/a.mdc", text.encode())
    return reading.rules[0], reading.notes


@pytest.mark.parametrize(
    ("header", "globs"),
    [
        ("globs: [**/*.{ts,tsx}, *.js]", ("**/*.{ts,tsx}", "*.js")),
        ('globs: [\n  **/*.ts,\n  "*.js",\n]', ("**/*.ts", "*.js")),
        ('globs: [\n  "**/*.ts",\n  "*.js",\n],', ("**/*.ts", "*.js")),
        ("globs: [**/*.ts, **/*.js", ("**/*.ts", "**/*.js")),
        ('globs: "*.ts", "*.js"', ("*.ts", "*.js")),
        ("globs: '*.ts', '**/*.{a,b}'", ("*.ts", "**/*.{a,b}")),
        ("globs: **/*.ts # only TypeScript", ("**/*.ts",)),
        ("globs: *.ts, *.js # both", ("*.ts", "*.js")),
        ("globs:\n\t- *.ts # a\n\t- '*.js'", ("*.ts", "*.js")),
        ("globs:\n  **/*.ts\n  **/*.js", ("**/*.ts", "**/*.js")),
        ("  globs: *.ts\n  alwaysApply: false", ("*.ts",)),
        ('"globs": *.ts\n"alwaysApply": false', ("*.ts",)),
        ("globs:*.ts", ("*.ts",)),
    ],
)
def test_globs_that_are_not_yaml_are_read_as_they_are_meant(
    header: str, globs: tuple[str, ...]
) -> None:
    found, notes = read(header)
    assert found.rule.globs == globs
    assert found.rule.activation == "glob"
    assert "not valid YAML" in notes[0]


@pytest.mark.parametrize(
    ("header", "description"),
    [
        ("description: >\n  Two\n  lines\nglobs: *.ts", "Two lines"),
        ("description: |-\n  Two\n  lines\nglobs: *.ts", "Two\nlines"),
        ("description: Text that\n  goes on\nglobs: *.ts", "Text that goes on"),
        ("description: Note: see issue # 5\nglobs: *.ts", "Note: see issue # 5"),
        ('description: "Quoted" and more\nglobs: *.ts', '"Quoted" and more'),
    ],
)
def test_a_broken_field_does_not_cut_the_others(header: str, description: str) -> None:
    assert read(header)[0].rule.description == description


def test_true_is_true_in_every_spelling_of_yaml_beside_a_broken_field() -> None:
    for spelling in ("true", "True", "TRUE", "true # always"):
        assert read(f"globs: *.ts\nalwaysApply: {spelling}")[0].rule.activation == "always"


@pytest.mark.parametrize(
    ("header", "note"),
    [
        ('globs: "*.ts"\nglobs: "*.js"', "`globs` is there twice"),
        ("globs: *.ts\nglobs: *.js", "`globs` is there twice"),
        ('globs: [["*.ts"], "*.js"]', "What is not text in `globs`"),
        ('globs: {include: "*.ts"}', "What is not text in `globs`"),
        ('alwaysApply: "true"', "`alwaysApply` is a text"),
        ("globs: *.ts\nsome words of nobody", "1 lines of it belong to no field"),
    ],
)
def test_what_is_left_out_of_a_header_is_noted(header: str, note: str) -> None:
    assert any(note in found for found in read(header)[1])


@pytest.mark.parametrize(
    "text",
    [
        "---\nglobs: *.ts\nalwaysApply: false\n\n# Title\n",
        '\n---\nglobs: "*.ts"\n---\n# Title\n',
        '---\nglobs: "*.ts"\n...\n# Title\n',
        "---\rglobs: x\r---\r# Title\r",
    ],
)
def test_front_matter_without_its_fences_is_reported(text: str) -> None:
    assert NO_HEADER in read_rule_file(".cursor/rules/a.mdc", text.encode()).notes
    report = check_rule_files(PlannedTree({".cursor/rules/a.mdc": text}))
    assert ("invalid-front-matter", "warning") in [
        (finding.code, finding.severity.value) for finding in report.findings
    ]


def test_a_rule_line_at_the_top_is_no_front_matter() -> None:
    assert not split_front_matter("---\n\n# Title\n\nText with a name.\n").notes


@pytest.mark.parametrize(
    "header",
    [
        "a: *x\n" * 9_000,
        "globs: " + "a" * 60_000 + " ##",
        "globs: " + "a," * 30_000 + "*",
        "globs: [" + "\n*" * 30_000,
        "x: *y\n" + " \n" * 30_000,
    ],
)
def test_a_large_broken_header_is_read_in_linear_time(header: str) -> None:
    assert runs_within(0.5, lambda: read(header))
    assert runs_within(0.5, lambda: split_front_matter("---\n" + "\r\n" * 30_000))

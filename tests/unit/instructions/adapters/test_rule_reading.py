"""Rule files of every format are read into the same value."""

from __future__ import annotations

import pytest

from commonplace.instructions.adapters.reading import read_rule_file
from commonplace.instructions.adapters.rule import PortableRule, RuleActivation
from measuring import runs_within

ALWAYS, GLOB = RuleActivation.ALWAYS, RuleActivation.GLOB
DESCRIPTION, MANUAL = RuleActivation.DESCRIPTION, RuleActivation.MANUAL


def read(path: str, text: str) -> PortableRule:
    (found,) = read_rule_file(path, text.encode()).rules
    return found.rule


@pytest.mark.parametrize(
    ("path", "header", "activation", "globs"),
    [
        (".cursor/rules/a.mdc", "alwaysApply: true", ALWAYS, ()),
        (".cursor/rules/a.mdc", "globs: **/*.ts, *.{js,jsx}", GLOB, ("**/*.ts", "*.{js,jsx}")),
        (".cursor/rules/a.mdc", 'globs: ["a/**"]\nalwaysApply: true', ALWAYS, ("a/**",)),
        (".cursor/rules/a.mdc", "description: when testing\nglobs:", DESCRIPTION, ()),
        (".cursor/rules/a.mdc", "alwaysApply: false", MANUAL, ()),
        ("web/.cursor/rules/a.mdc", "globs: '*.ts'", GLOB, ("web/*.ts",)),
        ("web/.cursor/rules/a.mdc", "alwaysApply: true", GLOB, ("web/**",)),
        ("collection/a.mdc", "globs: **/*", GLOB, ("**/*",)),
        (
            ".claude/rules/a.md",
            "paths:\n  - src/**\n  - '!src/x/**'",
            GLOB,
            ("src/**", "!src/x/**"),
        ),
        (".claude/rules/a.md", "name: x", ALWAYS, ()),
        ("web/.claude/rules/a.md", "paths: ['!*.ts']", GLOB, ("!web/*.ts",)),
        (".github/instructions/a.instructions.md", "applyTo: '**/*.py,a'", GLOB, ("**/*.py", "a")),
        (".github/instructions/a.instructions.md", "applyTo: '**'", ALWAYS, ("**",)),
        (".github/instructions/a.instructions.md", "description: x", MANUAL, ()),
        (".clinerules/a.md", "paths: [a/**]", GLOB, ("a/**",)),
        (".clinerules/a.md", "paths: []", MANUAL, ()),
        (".clinerules/a.md", "paths: a/**", ALWAYS, ()),
        (".kiro/steering/a.md", "inclusion: fileMatch\nfileMatchPattern: a/*", GLOB, ("a/*",)),
        (".kiro/steering/a.md", "inclusion: auto\ndescription: x", DESCRIPTION, ()),
        (".kiro/steering/a.md", "inclusion: manual", MANUAL, ()),
        (".kiro/steering/a.md", "x: y", ALWAYS, ()),
        (".devin/rules/a.md", "trigger: glob\nglobs: a/*", GLOB, ("a/*",)),
        (".windsurf/rules/a.md", "trigger: model_decision\ndescription: x", DESCRIPTION, ()),
        (".devin/rules/a.md", "trigger: always_on", ALWAYS, ()),
        (".devin/rules/a.md", "x: y", MANUAL, ()),
        ("review/SKILL.md", "name: review\ndescription: x", DESCRIPTION, ()),
        (".claude/skills/a/SKILL.md", "disable-model-invocation: true", MANUAL, ()),
        (".agents/rules/a.md", "globs: ['*.ts', ../../a/*.py]", GLOB, ("**/*.ts", "a/*.py")),
    ],
)
def test_front_matter_says_when_a_rule_applies(
    path: str, header: str, activation: RuleActivation, globs: tuple[str, ...]
) -> None:
    rule = read(path, f"---\n{header}\n---\n\n# Title\n\ntext\n")
    assert (rule.activation, rule.globs, rule.text) == (activation, globs, "# Title\n\ntext")


@pytest.mark.parametrize(
    ("path", "client", "globs"),
    [
        ("AGENTS.md", "agents-md", ()),
        ("web/app/AGENTS.md", "agents-md", ("web/app/**",)),
        ("AGENTS.override.md", "codex", ()),
        ("CLAUDE.md", "claude-code", ()),
        (".claude/CLAUDE.md", "claude-code", ()),
        ("web/CLAUDE.md", "claude-code", ("web/**",)),
        ("web/GEMINI.md", "gemini", ("web/**",)),
        (".github/copilot-instructions.md", "copilot", ()),
        (".junie/guidelines.md", "junie", ()),
        (".cursorrules", "cursor", ()),
        (".windsurfrules", "devin", ()),
    ],
)
def test_plain_files_apply_to_their_folder(path: str, client: str, globs: tuple[str, ...]) -> None:
    reading = read_rule_file(path, b"---\nglobs: x\n---\nUse tabs.\n")
    (found,) = reading.rules
    assert (reading.client, found.rule.globs) == (client, globs)
    assert found.rule.text == "---\nglobs: x\n---\nUse tabs."  # these files have no front matter
    assert found.rule.activation is (GLOB if globs else ALWAYS)


def test_fields_of_one_client_are_kept_and_become_json() -> None:
    header = "applyTo: a\nexcludeAgent: [x]\nsince: 2026-01-02\nhuge: 1e999\nnested: {a: {b: 1}}"
    rule = read(".github/instructions/a.instructions.md", f"---\n{header}\n---\ntext")
    assert rule.header == {
        "excludeAgent": ["x"],
        "since": "2026-01-02",
        "huge": "1e999",
        "nested": {"a": {"b": 1}},
    }


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\xff\xfe", "not UTF-8 at byte 0"),
        (b"", "it has no text"),
        (b"---\nglobs: x\n---\n\n", "it has no text"),
        (b"x" * (4 << 20) + b"xx", "larger than 4 MiB"),
        (b"x" * 1_000_001, "longer than 1000000 characters"),
    ],
)
def test_what_gives_no_rule_has_a_reason(data: bytes, problem: str) -> None:
    reading = read_rule_file(".cursor/rules/a.mdc", data)
    assert (reading.rules, reading.problem) == ((), problem)


def test_a_broken_header_is_said_and_read_as_each_client_reads_it() -> None:
    text = b"---\nglobs: **/*.go\nalwaysApply: false\n---\ntext\n"
    cursor = read_rule_file(".cursor/rules/a.mdc", text)
    assert cursor.rules[0].rule.globs == ("**/*.go",)
    assert "not valid YAML" in cursor.notes[0]
    cline = read_rule_file(".clinerules/a.md", text)
    assert cline.rules[0].rule.activation is ALWAYS
    assert cline.rules[0].rule.text == text.decode().strip()


def test_the_title_is_the_first_heading_outside_code() -> None:
    assert read("AGENTS.md", "```\n# no\n```\n\n## Yes  ##\n").title == "Yes"
    assert read("AGENTS.md", "no heading").title == "AGENTS"
    assert read(".cursor/rules/unit-tests.mdc", "no heading").title == "Unit tests"


def test_line_breaks_and_byte_order_marks_do_not_count() -> None:
    text = "---\nglobs: a\n---\nfirst\nsecond\n"
    windows = "\ufeff" + text.replace("\n", "\r\n")
    assert read(".cursor/rules/a.mdc", windows) == read(".cursor/rules/a.mdc", text)


@pytest.mark.parametrize(
    "text",
    [
        "a" + "\n" * 400_000 + "b\n",
        "# " + "# " * 200_000 + "x",
        "<!-- commonplace begin=a hash=0123456789abcdef -->\n" * 20_000,
        "---\n" + "a: b\n" * 10_000 + "---\nx",
        "---\n" + "globs: " + "{" * 60_000 + "\n---\nx",
        "`" * 100_000 + "x" + "``" * 100_000,
    ],
)
@pytest.mark.parametrize("path", ["AGENTS.md", ".cursor/rules/a.mdc"])
def test_a_hostile_file_costs_linear_time(path: str, text: str) -> None:
    assert runs_within(1, lambda: read_rule_file(path, text.encode()))

"""Rules are written in the form of each client that loses least."""

from __future__ import annotations

import pytest

from commonplace.instructions.adapters.losses import find_losses, read_export
from commonplace.instructions.adapters.reading import read_rule_file
from commonplace.instructions.adapters.rule import PortableRule, RuleActivation
from commonplace.instructions.adapters.writing import (
    TARGETS,
    ClientExport,
    ExportedRule,
    join_sections,
    write_for_client,
)

ALWAYS, GLOB = RuleActivation.ALWAYS, RuleActivation.GLOB
DESCRIPTION, MANUAL = RuleActivation.DESCRIPTION, RuleActivation.MANUAL
WITH_FOUR_MODES = ("cursor", "kiro", "devin")


def rule(activation: RuleActivation, *globs: str, text: str = "# Go\n\ntext") -> PortableRule:
    description = "when writing Go" if activation is DESCRIPTION else ""
    return PortableRule(text, activation, globs, "Go", description)


def export(client: str, *rules: PortableRule) -> tuple[ClientExport, list[ExportedRule]]:
    exported = [ExportedRule(f"rule-{number}", rule) for number, rule in enumerate(rules)]
    return write_for_client(client, exported), exported


def lost(client: str, value: PortableRule) -> set[str]:
    written, rules = export(client, value)
    return {loss.field for loss in find_losses(written, rules, {}, client)}


@pytest.mark.parametrize("client", WITH_FOUR_MODES)
@pytest.mark.parametrize("activation", list(RuleActivation))
def test_clients_with_four_modes_lose_nothing(client: str, activation: RuleActivation) -> None:
    globs = ("src/**/*.go", "!src/x.go", "*.{a,b}") if activation is GLOB else ()
    assert lost(client, rule(activation, *globs)) == set()


@pytest.mark.parametrize(
    ("client", "activation", "path"),
    [
        ("claude-code", ALWAYS, ".claude/rules/rule-0.md"),
        ("claude-code", GLOB, ".claude/rules/rule-0.md"),
        ("claude-code", DESCRIPTION, ".claude/skills/rule-0/SKILL.md"),
        ("copilot", DESCRIPTION, ".github/skills/rule-0/SKILL.md"),
        ("copilot", MANUAL, ".github/instructions/rule-0.instructions.md"),
        ("codex", DESCRIPTION, ".agents/skills/rule-0/SKILL.md"),
        ("amp", GLOB, ".agents/rules/rule-0.md"),
        ("cline", GLOB, ".clinerules/rule-0.md"),
    ],
)
def test_the_lossless_form_is_chosen(client: str, activation: RuleActivation, path: str) -> None:
    value = rule(activation, *(("src/*.go", "**/*.go") if activation is GLOB else ()))
    written, _ = export(client, value)
    assert list(written.files) == [path]
    assert lost(client, value) == set()


@pytest.mark.parametrize("client", ["agents-md", "codex", "gemini"])
def test_a_rule_about_a_folder_goes_into_that_folder(client: str) -> None:
    value = rule(GLOB, "src/api/**", "web/**")
    written, _ = export(client, value)
    name = TARGETS[client].shared
    assert list(written.sections) == [f"src/api/{name}", f"web/{name}"]
    assert lost(client, value) == set()


def test_globs_that_a_format_cannot_hold_are_said_in_words_and_reported() -> None:
    value = rule(GLOB, "**/*.go")
    written, _ = export("agents-md", value)
    assert "**Applies to files that match `**/*.go`**" in written.sections["AGENTS.md"]["rule-0"]
    assert lost("agents-md", value) == {"activation", "appliesTo"}
    inner = rule(GLOB, "src/api/*.go")
    assert list(export("agents-md", inner)[0].sections) == ["src/api/AGENTS.md"]
    assert lost("agents-md", inner) == {"appliesTo"}


def test_a_rule_without_a_form_is_left_out_with_a_reason() -> None:
    written, rules = export("agents-md", rule(MANUAL))
    (loss,) = find_losses(written, rules, {}, "agents-md")
    assert (loss.field, written.files, written.sections) == ("rule", {}, {})
    assert "by name" in loss.why


def test_fields_of_the_catalogue_are_in_the_report() -> None:
    written, rules = export("cursor", rule(ALWAYS))
    document = {"priority": 5, "teamIds": ["web"], "requirement": "optional"}
    losses = find_losses(written, rules, {"rule-0": document}, "cursor")
    assert {loss.field for loss in losses} == {"priority", "teamIds"}


@pytest.mark.parametrize(
    "text",
    [
        "---\nglobs: x\n---\nnot a header",
        "---",
        "    indented code",
        "text\n<!-- commonplace rule=x hash=0123456789abcdef -->",
        (
            "<!-- commonplace begin=x hash=0123456789abcdef -->\na\n"
            "<!-- commonplace end=0123456789abcdef -->"
        ),
        "**Applies to files that match `x`**\n\nreally",
        "null \x00 escape \x1b next \x85 line",
    ],
)
@pytest.mark.parametrize("client", sorted(TARGETS))
def test_a_difficult_text_comes_back_or_is_reported(client: str, text: str) -> None:
    value = PortableRule(text, DESCRIPTION, (), "T", 'a "quoted": \u2028 \x85 # - text\n---\n')
    written, rules = export(client, value)
    back = read_export(written).get("rule-0")
    losses = {loss.field for loss in find_losses(written, rules, {}, client)}
    assert back is not None or "rule" in losses
    assert back is None or (back.text == text) == ("body" not in losses)


def test_rules_share_a_file_and_are_told_apart() -> None:
    written, _ = export("gemini", rule(ALWAYS), rule(ALWAYS, text="second"))
    content = "Written by hand.\n\n" + join_sections(written.sections["GEMINI.md"]) + "\nThe end.\n"
    reading = read_rule_file("GEMINI.md", content.encode())
    assert [(found.id, found.intact) for found in reading.rules] == [
        ("rule-0", True),
        ("rule-1", True),
        (None, False),
    ]
    assert reading.rules[2].rule.text.split("\n")[::4] == ["Written by hand.", "The end."]
    edited = read_rule_file("GEMINI.md", content.replace("second", "changed").encode())
    assert [found.intact for found in edited.rules] == [True, False, False]


def test_names_follow_the_file_a_rule_came_from() -> None:
    origin = ExportedRule("team-go", PortableRule("x", dialect="cursor"), ".cursor/rules/a/go.mdc")
    assert list(write_for_client("cursor", [origin]).files) == [".cursor/rules/a/go.mdc"]
    assert list(write_for_client("kiro", [origin]).files) == [".kiro/steering/go.md"]
    hostile = ExportedRule("evil", PortableRule("x", dialect="cursor"), "../.cursor/rules/x.mdc")
    assert list(write_for_client("cursor", [hostile]).files) == [".cursor/rules/x.mdc"]

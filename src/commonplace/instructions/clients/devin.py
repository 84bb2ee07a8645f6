"""Devin Desktop, formerly Windsurf: rules with a trigger, and AGENTS.md in any case."""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.instructions.clients.agents_md import add_agents_files
from commonplace.instructions.rulefiles.front_matter import patterns_of, split_front_matter
from commonplace.instructions.rulefiles.globs import matches_any
from commonplace.instructions.rulefiles.situation import (
    ClientSituation,
    Loading,
    RuleTree,
    read_text,
)
from commonplace.kernel.json_types import Json

FOLDERS = (".devin/rules", ".windsurf/rules")
LONGEST = 12_000


def load(tree: RuleTree, situation: ClientSituation) -> Loading:
    """Load the rules of both folder names, then AGENTS.md."""
    loading = Loading()
    strict = situation.settings.get("surface") == "cli"
    for folder in FOLDERS:
        for path in tree.files_below(folder):
            if path.endswith(".md"):
                _judge(loading, tree, path, situation.touched, strict)
    add_agents_files(loading, tree, situation, ignore_case=True)
    return loading


def _judge(loading: Loading, tree: RuleTree, path: str, touched: str | None, strict: bool) -> None:
    text = read_text(tree, path)
    if text is None:
        return
    rule = split_front_matter(text)
    if len(text) > LONGEST:
        loading.ignore(path, f"longer than {LONGEST} characters")
        return
    if strict and isinstance(rule.fields.get("globs"), str):
        loading.ignore(path, "the CLI takes globs as a list only")
        return
    patterns = patterns_of(rule.fields.get("globs"))
    trigger = _trigger(rule.fields, patterns)
    if trigger == "always_on":
        loading.add(path, rule.body, "trigger is always_on")
    elif trigger == "glob":
        if touched and matches_any(touched, patterns):
            loading.add(path, rule.body, f"{touched} matches globs")
        else:
            loading.ignore(path, "no touched file matches its globs")
    elif trigger == "model_decision":
        loading.ignore(path, "only its description is offered; the model decides")
    else:
        loading.ignore(path, "manual: loaded when a person names it")


def _trigger(fields: Mapping[str, Json], patterns: tuple[str, ...]) -> Json:
    """Return the trigger, or the one that follows from the other fields."""
    if fields.get("trigger"):
        return fields["trigger"]
    if patterns:
        return "glob"
    return "model_decision" if fields.get("description") else "manual"

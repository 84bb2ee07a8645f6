"""Kiro: steering files with an inclusion mode, and AGENTS.md."""

from __future__ import annotations

from commonplace.instructions.clients.agents_md import add_agents_files
from commonplace.instructions.rulefiles.front_matter import patterns_of, split_front_matter
from commonplace.instructions.rulefiles.globs import matches_any
from commonplace.instructions.rulefiles.situation import (
    ClientSituation,
    Loading,
    RuleTree,
    read_text,
)

FOLDERS = ("~/.kiro/steering", ".kiro/steering")


def load(tree: RuleTree, situation: ClientSituation) -> Loading:
    """Load the user's steering files, then the workspace's, then AGENTS.md."""
    loading = Loading()
    for folder in FOLDERS:
        for path in tree.files_below(folder):
            if path.endswith(".md"):
                _judge(loading, tree, path, situation.touched)
    add_agents_files(loading, tree, situation)
    return loading


def _judge(loading: Loading, tree: RuleTree, path: str, touched: str | None) -> None:
    text = read_text(tree, path)
    if text is None:
        return
    rule = split_front_matter(text)
    inclusion = rule.fields.get("inclusion", "always")
    patterns = patterns_of(rule.fields.get("fileMatchPattern"))
    if inclusion == "fileMatch":
        if path.startswith("~/"):
            loading.ignore(path, "fileMatch is reported not to work at the user level")
        elif touched and matches_any(touched, patterns):
            loading.add(path, rule.body, f"{touched} matches fileMatchPattern")
        else:
            loading.ignore(path, "no touched file matches its fileMatchPattern")
    elif inclusion == "manual":
        loading.ignore(path, "manual: loaded when a person names it")
    elif inclusion == "auto":
        loading.ignore(path, "only its description is offered; the model decides")
    else:
        loading.add(path, rule.body, "inclusion is always")

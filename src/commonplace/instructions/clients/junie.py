"""Junie: the first guideline file that exists, and no other."""

from __future__ import annotations

from commonplace.instructions.rulefiles.situation import (
    ClientSituation,
    Loading,
    RuleTree,
    read_text,
)

NAMES = (".junie/AGENTS.md", "AGENTS.md", ".junie/guidelines.md")


def load(tree: RuleTree, situation: ClientSituation) -> Loading:
    """Load the first file of the list (the CLI's order; the IDE plugin may differ)."""
    loading = Loading()
    for path in NAMES:
        text = read_text(tree, path)
        if text is None:
            continue
        if loading.rules:
            loading.ignore(path, f"{loading.rules[0].path} comes first")
        else:
            loading.add(path, text, "the first of Junie's guideline files")
    return loading

"""Cursor: `.mdc` rules with four modes, and AGENTS.md."""

from __future__ import annotations

from commonplace.instructions.clients.agents_md import add_agents_files
from commonplace.instructions.rulefiles.front_matter import patterns_of, split_front_matter
from commonplace.instructions.rulefiles.globs import matches_any
from commonplace.instructions.rulefiles.situation import (
    ClientSituation,
    Loading,
    RuleTree,
    folders_between,
    join,
    parent,
    read_text,
)


def load(tree: RuleTree, situation: ClientSituation) -> Loading:
    """Load the rules of the top folder and of the folders on the way to the touched file."""
    loading = Loading()
    folders = folders_between(".", situation.cwd)
    if situation.touched:
        folders += folders_between(".", parent(situation.touched))
    for folder in dict.fromkeys(folders):
        for path in tree.files_below(join(folder, ".cursor/rules")):
            if path.endswith(".mdc"):
                _judge(loading, tree, path, folder, situation.touched)
            elif path.endswith(".md"):
                loading.ignore(path, "only .mdc files are rules")
    add_agents_files(loading, tree, situation)
    return loading


def _judge(loading: Loading, tree: RuleTree, path: str, folder: str, touched: str | None) -> None:
    text = read_text(tree, path)
    if text is None:
        return
    rule = split_front_matter(text)
    patterns = patterns_of(rule.fields.get("globs"))
    if rule.fields.get("alwaysApply") is True:
        loading.add(path, rule.body, "alwaysApply is true")
    elif patterns:
        if touched and _matches(touched, folder, patterns):
            loading.add(path, rule.body, f"{touched} matches globs")
        else:
            loading.ignore(path, "no touched file matches its globs")
    elif rule.fields.get("description"):
        loading.ignore(path, "only its description is offered; the model decides")
    else:
        loading.ignore(path, "manual: loaded when a person names it")


def _matches(touched: str, folder: str, patterns: tuple[str, ...]) -> bool:
    inner = touched if folder == "." else touched.removeprefix(f"{folder}/")
    return matches_any(touched, patterns) or matches_any(inner, patterns)

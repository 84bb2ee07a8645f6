"""AGENTS.md: plain Markdown at the top of a repository and in its folders."""

from __future__ import annotations

from commonplace.instructions.rulefiles.situation import (
    ClientSituation,
    Loading,
    RuleTree,
    folders_between,
    join,
    marked_root,
    parent,
    read_text,
)

NAME = "AGENTS.md"


def load(tree: RuleTree, situation: ClientSituation) -> Loading:
    """Load the nearest AGENTS.md: the convention itself, without a client's additions."""
    loading = Loading()
    start = parent(situation.touched) if situation.touched else situation.cwd
    top = marked_root(tree, start, (".git",)) or "."
    for folder in reversed(folders_between(top, start)):
        path = join(folder, NAME)
        text = read_text(tree, path)
        if text is None:
            continue
        if loading.rules:
            loading.ignore(path, f"{loading.rules[0].path} is nearer")
        else:
            loading.add(path, text, "the nearest AGENTS.md")
    return loading


def add_agents_files(
    loading: Loading, tree: RuleTree, situation: ClientSituation, *, ignore_case: bool = False
) -> None:
    """Add AGENTS.md from the top down to the working folder and to the touched file."""
    top = marked_root(tree, situation.cwd, (".git",)) or situation.cwd
    folders = folders_between(top, situation.cwd)
    if situation.touched:
        folders += folders_between(top, parent(situation.touched))
    for folder in folders:
        for name in tree.names(folder) if ignore_case else (NAME,):
            if name.lower() != NAME.lower():
                continue
            path = join(folder, name)
            text = read_text(tree, path)
            if text is not None:
                loading.add(path, text, "AGENTS.md of a folder on the way to the work")

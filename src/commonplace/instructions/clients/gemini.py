"""Gemini CLI: GEMINI.md of the user, of the folders above, and of folders that are touched."""

from __future__ import annotations

from commonplace.instructions.rulefiles.front_matter import patterns_of
from commonplace.instructions.rulefiles.imports import imported_paths, resolve
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

NAME = "GEMINI.md"
IMPORT_DEPTH = 5


def load(tree: RuleTree, situation: ClientSituation) -> Loading:
    """Load the files of the start, sorted by path, then those of the touched path."""
    loading = Loading()
    names = patterns_of(situation.settings.get("context.fileName")) or (NAME,)
    markers = patterns_of(situation.settings.get("boundary_markers")) or (".git",)
    root = marked_root(tree, situation.cwd, markers) or situation.cwd
    for name in names:
        _add(loading, tree, f"~/.gemini/{name}", "~", "the user's own file")
    start = [
        join(folder, name) for folder in folders_between(root, situation.cwd) for name in names
    ]
    for path in sorted(start):
        _add(loading, tree, path, root, "between the project root and the working folder")
    if situation.touched:
        for folder in folders_between(situation.cwd, parent(situation.touched)):
            for name in names:
                _add(loading, tree, join(folder, name), root, "a folder of the touched file")
    return loading


def _add(
    loading: Loading, tree: RuleTree, path: str, root: str, reason: str, depth: int = 0
) -> None:
    if loading.has(path):
        return
    text = read_text(tree, path)
    if text is None:
        return
    loading.add(path, text, reason)
    for written in imported_paths(text):
        imported = resolve(path, written)
        if imported is None or not _inside(imported, root):
            loading.ignore(written, f"imported by {path} from outside the project root")
        elif depth >= IMPORT_DEPTH:
            loading.ignore(imported, f"imports nest at most {IMPORT_DEPTH} deep")
        else:
            _add(loading, tree, imported, root, f"imported by {path}", depth + 1)


def _inside(path: str, root: str) -> bool:
    if root == "~":
        return path.startswith("~/")
    return not path.startswith(("~", "/")) and (root == "." or path.startswith(f"{root}/"))

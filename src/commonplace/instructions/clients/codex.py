"""Codex: AGENTS.md from the project root down to the working folder, within one byte budget."""

from __future__ import annotations

from commonplace.instructions.rulefiles.front_matter import patterns_of
from commonplace.instructions.rulefiles.situation import (
    ClientSituation,
    Loading,
    RuleTree,
    decode,
    folders_between,
    join,
    marked_root,
)

BUDGET_BYTES = 32 * 1024
OVERRIDE, PLAIN = "AGENTS.override.md", "AGENTS.md"


def load(tree: RuleTree, situation: ClientSituation) -> Loading:
    """Load what Codex reads when it starts; the touched path changes nothing."""
    loading = Loading()
    _add_user_file(loading, tree)
    settings = situation.settings
    names = (OVERRIDE, PLAIN, *patterns_of(settings.get("project_doc_fallback_filenames")))
    folders = _project_folders(tree, situation)
    for folder in folders_between(".", situation.cwd):
        if folder not in folders and (chosen := _choose(tree, folder, names)):
            loading.ignore(chosen, "above the project root")
    if settings.get("trust_level") == "untrusted":
        for folder in folders:
            if chosen := _choose(tree, folder, names):
                loading.ignore(chosen, "the project is not trusted")
        return loading
    limit = settings.get("project_doc_max_bytes", BUDGET_BYTES)
    _add_project_files(loading, tree, folders, names, limit if isinstance(limit, int) else 0)
    return loading


def _add_user_file(loading: Loading, tree: RuleTree) -> None:
    """Add the user's override unless it is blank, else the user's AGENTS.md."""
    for name in (OVERRIDE, PLAIN):
        path = f"~/.codex/{name}"
        data = tree.read(path)
        if data is None or not data.strip():
            continue
        if loading.rules:
            loading.ignore(path, f"{loading.rules[0].path} replaces it")
        else:
            loading.add(path, decode(data), "the user's own file, outside the budget")


def _project_folders(tree: RuleTree, situation: ClientSituation) -> list[str]:
    markers: tuple[str, ...] = (".git",)
    if isinstance(situation.settings.get("project_root_markers"), list):
        markers = patterns_of(situation.settings["project_root_markers"])
    root = marked_root(tree, situation.cwd, markers) if markers else None
    return folders_between(root or situation.cwd, situation.cwd)


def _choose(tree: RuleTree, folder: str, names: tuple[str, ...]) -> str | None:
    """Return the first of the names that is a file in a folder."""
    for name in names:
        path = join(folder, name)
        if tree.read(path) is not None:
            return path
    return None


def _add_project_files(
    loading: Loading, tree: RuleTree, folders: list[str], names: tuple[str, ...], budget: int
) -> None:
    limit = budget
    for folder in folders:
        chosen = _choose(tree, folder, names)
        for name in names:
            path = join(folder, name)
            if chosen and path != chosen and tree.read(path) is not None:
                loading.ignore(path, f"{chosen} replaces it")
        data = tree.read(chosen) if chosen else None
        if chosen is None or data is None:
            continue
        if budget <= 0:
            loading.ignore(chosen, f"no budget left of {limit} bytes")
            continue
        kept = data[:budget]
        budget -= len(kept)
        if not kept.strip():
            loading.ignore(chosen, "it is blank")
            continue
        cut = f"cut after {len(kept)} of {len(data)} bytes" if len(kept) < len(data) else ""
        loading.add(chosen, decode(kept), "on the way from the project root", cut)

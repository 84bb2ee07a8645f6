"""Cline: `.clinerules`, the user's rules, and the files of other clients."""

from __future__ import annotations

from commonplace.instructions.rulefiles.front_matter import patterns_of, split_front_matter
from commonplace.instructions.rulefiles.globs import matches_any
from commonplace.instructions.rulefiles.situation import (
    ClientSituation,
    Loading,
    RuleTree,
    join,
    read_text,
)

USER_FOLDER = "~/Documents/Cline/Rules"
OTHER_FOLDERS = ("workflows", "hooks", "skills")  # below .clinerules, and not rules
FOREIGN = ("AGENTS.md", ".cursorrules", ".windsurfrules", "~/.agents/AGENTS.md")


def load(tree: RuleTree, situation: ClientSituation) -> Loading:
    """Load the user's rules, then the workspace's, then other clients' files."""
    loading = Loading()
    toggles = situation.settings.get("toggles")
    off = {path for path, on in toggles.items() if on is False} if isinstance(toggles, dict) else {}
    folder = join(situation.cwd, ".clinerules")
    for path in (*tree.files_below(USER_FOLDER), folder, *tree.files_below(folder)):
        below = path.removeprefix(f"{folder}/").split("/")[0]
        if path in off:
            loading.ignore(path, "switched off in the settings")
        elif below in OTHER_FOLDERS:
            loading.ignore(path, f"{below} below .clinerules are not rules")
        elif path == folder or path.endswith((".md", ".txt")):
            _judge(loading, tree, path, situation.touched)
    for name in FOREIGN:
        path = name if name.startswith("~") else join(situation.cwd, name)
        text = read_text(tree, path)
        if text is not None and path not in off:
            loading.add(path, text, "read beside Cline's own rules")
    return loading


def _judge(loading: Loading, tree: RuleTree, path: str, touched: str | None) -> None:
    """Judge one rule. An unreadable header or a `paths` that is not a list leaves it active."""
    text = read_text(tree, path)
    if text is None:
        return
    rule = split_front_matter(text)
    paths = rule.fields.get("paths")
    if not rule.valid:
        loading.add(path, text, "its front matter is not YAML, so it always applies")
    elif not isinstance(paths, list):
        loading.add(path, rule.body, "no paths: it always applies")
    elif touched and matches_any(touched, patterns_of(paths)):
        loading.add(path, rule.body, f"{touched} matches paths")
    else:
        loading.ignore(path, "no touched file matches its paths" if paths else "paths is empty")

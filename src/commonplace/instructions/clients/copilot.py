"""GitHub Copilot: repository instructions, `.instructions.md` files, and what VS Code adds."""

from __future__ import annotations

from commonplace.instructions.clients.agents_md import add_agents_files
from commonplace.instructions.rulefiles.front_matter import (
    RuleText,
    patterns_of,
    split_front_matter,
)
from commonplace.instructions.rulefiles.globs import matches_any
from commonplace.instructions.rulefiles.situation import (
    ClientSituation,
    Loading,
    RuleTree,
    join,
    read_text,
)

REPOSITORY = ".github/copilot-instructions.md"
FOLDER = ".github/instructions"
USER_FOLDER = "~/.copilot/instructions"
SUFFIX = ".instructions.md"
EVERYTHING = {"**", "**/*", "*"}  # VS Code applies these without a file in context
CLAUDE_FILES = ("~/.claude/CLAUDE.md", "CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")


def load(tree: RuleTree, situation: ClientSituation) -> Loading:
    """Load what a surface reads: `vscode` by default, `cli`, or an agent of the website."""
    loading = Loading()
    agent = situation.settings.get("agent")
    surface = situation.settings.get("surface", "website" if agent else "vscode")
    folders = (USER_FOLDER, FOLDER) if surface == "vscode" else (FOLDER,)
    for folder in folders:
        for path in tree.files_below(folder):
            if path.endswith(SUFFIX):
                _judge(loading, tree, path, situation, surface == "vscode")
            elif path.endswith(".md"):
                loading.ignore(path, f"only files that end in {SUFFIX} count")
    text = read_text(tree, REPOSITORY)
    if text is not None:
        loading.add(REPOSITORY, text, "the repository's instructions")
    add_agents_files(loading, tree, situation)
    if surface == "vscode":
        _add_claude_files(loading, tree, situation)
    return loading


def _judge(
    loading: Loading, tree: RuleTree, path: str, situation: ClientSituation, without_file: bool
) -> None:
    text = read_text(tree, path)
    if text is None:
        return
    rule = split_front_matter(text)
    excluded = patterns_of(rule.fields.get("excludeAgent"))
    patterns = patterns_of(rule.fields.get("applyTo"))
    if excluded and situation.settings.get("agent") in excluded:
        loading.ignore(path, f"excludeAgent names {situation.settings['agent']}")
    elif not patterns:
        loading.ignore(path, "no applyTo: attached by a person, or by its description")
    else:
        _add_matching(loading, path, rule, patterns, situation, without_file)


def _add_matching(
    loading: Loading,
    path: str,
    rule: RuleText,
    patterns: tuple[str, ...],
    situation: ClientSituation,
    without_file: bool,
) -> None:
    if without_file and EVERYTHING.intersection(patterns):
        loading.add(path, rule.body, "it applies to everything")
    elif situation.touched and matches_any(situation.touched, patterns):
        loading.add(path, rule.body, f"{situation.touched} matches applyTo")
    else:
        loading.ignore(path, "no touched file matches its applyTo")


def _add_claude_files(loading: Loading, tree: RuleTree, situation: ClientSituation) -> None:
    for name in CLAUDE_FILES:
        path = name if name.startswith("~") else join(situation.cwd, name)
        text = read_text(tree, path)
        if text is not None:
            loading.add(path, text, "VS Code reads Claude's files too")
    for path in tree.files_below(join(situation.cwd, ".claude/rules")):
        text = read_text(tree, path) if path.endswith(".md") else None
        if text is None:
            continue
        rule = split_front_matter(text)
        patterns = patterns_of(rule.fields.get("paths")) or ("**",)
        _add_matching(loading, path, rule, patterns, situation, without_file=True)

"""Fuzzed rule files: no client's loading fails or takes long."""

from __future__ import annotations

import os
from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.instructions.clients.check import check_rule_files
from commonplace.instructions.clients.table import CLIENTS
from commonplace.instructions.rulefiles.situation import ClientEvent, ClientSituation
from measuring import runs_within

SOAK = os.environ.get("COMMONPLACE_SOAK") == "1"
NAMES = [
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "src/CLAUDE.md",
    "GEMINI.md",
    ".claude/rules/r.md",
    ".cursor/rules/r.mdc",
    ".github/copilot-instructions.md",
    ".github/instructions/r.instructions.md",
    ".clinerules/r.md",
    ".kiro/steering/r.md",
    ".devin/rules/r.md",
    ".junie/guidelines.md",
]
KEYS = ["globs", "paths", "applyTo", "alwaysApply", "inclusion", "trigger", "fileMatchPattern"]
SCRAPS = [
    "**/*.ts",
    "[",
    "{a,b",
    "*",
    "true",
    "fileMatch",
    "glob",
    "&a [*a]",
    "!!x y",
    "- ",
    "|",
    "@",
]
values = st.one_of(st.sampled_from(SCRAPS), st.text(max_size=40))
headers = st.lists(st.tuples(st.sampled_from(KEYS), values), max_size=4).map(
    lambda pairs: "---\n" + "".join(f"{key}: {value}\n" for key, value in pairs) + "---\n"
)
bodies = st.one_of(
    st.text(max_size=200), st.sampled_from(["@AGENTS.md", "```\n@x", "<!--", "`@a.md"])
)
texts = st.tuples(st.one_of(headers, st.just("")), bodies).map("".join)
contents = st.one_of(
    texts.map(lambda text: text.encode("utf-8", "replace")), st.binary(max_size=200)
)


class MemoryTree:
    """A tree of files in memory."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def exists(self, path: str) -> bool:
        return any(name == path or name.startswith(f"{path}/") for name in self.files)

    def names(self, folder: str) -> tuple[str, ...]:
        prefix = "" if folder == "." else f"{folder}/"
        below = (name.removeprefix(prefix) for name in self.files if name.startswith(prefix))
        return tuple(sorted({name.split("/")[0] for name in below}))

    def files_below(self, folder: str) -> tuple[str, ...]:
        below = "" if folder == "." else f"{folder}/"
        return tuple(sorted(name for name in self.files if name.startswith(below)))


@settings(max_examples=10_000 if SOAK else 300)
@given(st.dictionaries(st.sampled_from(NAMES), contents, min_size=1, max_size=5))
def test_every_file_is_loaded_or_left_out_with_a_reason(files: dict[str, bytes]) -> None:
    tree = MemoryTree(files)
    situation = ClientSituation(target="src/a.ts", event=ClientEvent.READ)
    for load in CLIENTS.values():
        loading = load(tree, situation)
        assert runs_within(1, partial(load, tree, situation))
        paths = [rule.path for rule in loading.rules]
        assert len(paths) == len(set(paths))
        assert set(paths) <= set(files)
        assert all(rule.reason for rule in (*loading.rules, *loading.ignored))
        assert not set(paths) & {rule.path for rule in loading.ignored}


@settings(max_examples=10_000 if SOAK else 300)
@given(st.dictionaries(st.sampled_from(NAMES), contents, min_size=1, max_size=5))
def test_a_check_accounts_for_every_file(files: dict[str, bytes]) -> None:
    report = check_rule_files(MemoryTree(files))
    assert runs_within(1, lambda: check_rule_files(MemoryTree(files)))
    assert {path for path, _ in report.files} == set(files)
    assert all(finding.path in files and finding.message for finding in report.findings)

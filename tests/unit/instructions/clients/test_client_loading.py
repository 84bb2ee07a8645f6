"""Every case of `rules/cases`: what a client loads in a situation."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from commonplace.instructions.clients.table import CLIENTS
from commonplace.instructions.rulefiles.situation import ClientEvent, ClientSituation
from commonplace.instructions.rulefiles.tree import FolderTree

DATA = Path(os.environ.get("COMMONPLACE_TEST_DATA", "../shared/data"))
CASES: list[dict[str, Any]] = json.loads((DATA / "rules/cases/discovery.json").read_text())
MANAGED = "/etc/claude-code/"


def content(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if "base64" in value:
        return base64.b64decode(value["base64"])
    return str(value.get("prefix", "") + value["repeat"] * value["count"]).encode()


def build(files: dict[str, Any], folder: Path) -> FolderTree:
    """Write the files of a case into a repository, a home and a managed folder."""
    tree = FolderTree(folder / "repo", folder / "home", folder / "managed")
    for root in (tree.root, tree.home, tree.managed):
        assert root is not None
        root.mkdir()
    for name, value in files.items():
        if name.startswith("~/"):
            path = folder / "home" / name[2:]
        elif name.startswith(MANAGED):
            path = folder / "managed" / name.removeprefix(MANAGED)
        else:
            path = folder / "repo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(value, dict) and "symlink" in value:
            path.symlink_to(value["symlink"])
        else:
            path.write_bytes(content(value))
    return tree


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_client_loads_what_its_case_says(case: dict[str, Any], tmp_path: Path) -> None:
    tree = build(case["files"], tmp_path)
    settings = {"memory_project": "P", **case.get("settings", {})}
    situation = ClientSituation(case["cwd"], case["target"], ClientEvent(case["event"]), settings)
    loading = CLIENTS[case["client"]](tree, situation)
    paths = [rule.path for rule in loading.rules]
    if case["order_matters"]:
        assert paths == case["expected"]
    else:
        assert sorted(paths) == sorted(case["expected"])
    for first, second in case.get("order_pairs", []):
        assert paths.index(first) < paths.index(second)
    texts = {rule.path: rule.text for rule in loading.rules}
    for path, text in case.get("texts", {}).items():
        assert texts[path] == content(text).decode()


def test_an_import_that_is_not_read_is_named(tmp_path: Path) -> None:
    files: dict[str, Any] = {
        "CLAUDE.md": "Ask @alice. See @../other/notes.md, @docs/link.md and @docs/x.md.\n"
    }
    files |= {"docs/x.md": "x\n", "docs/link.md": {"symlink": "/etc/hostname"}}
    loading = CLIENTS["claude-code"](build(files, tmp_path), ClientSituation("."))
    assert [rule.path for rule in loading.rules] == ["CLAUDE.md", "docs/x.md"]
    assert [rule.path for rule in loading.ignored] == ["@../other/notes.md", "@docs/link.md"]

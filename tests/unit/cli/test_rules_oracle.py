"""Every case of `rules/cases` through the shipped command: `commonplace rules for --as CLIENT`."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from commonplace.cli import main

DATA = Path(os.environ.get("COMMONPLACE_TEST_DATA", "../shared/data"))
CASES: list[dict[str, Any]] = json.loads((DATA / "rules/cases/discovery.json").read_text())
MANAGED = "/etc/claude-code/"


def content(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if "base64" in value:
        return base64.b64decode(value["base64"])
    return str(value.get("prefix", "") + value["repeat"] * value["count"]).encode()


def place(name: str, folder: Path) -> Path:
    if name.startswith("~/"):
        return folder / "home" / name[2:]
    if name.startswith(MANAGED):
        return folder / "managed" / name.removeprefix(MANAGED)
    return folder / "repo" / name


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_command_shows_what_a_client_loads(
    case: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("repo", "home", "managed"):
        (tmp_path / name).mkdir()
    for name, value in case["files"].items():
        path = place(name, tmp_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(value, dict) and "symlink" in value:
            path.symlink_to(value["symlink"])
        else:
            path.write_bytes(content(value))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    settings = {"memory_project": "P", **case.get("settings", {})}
    arguments = [*([case["target"]] if case["target"] else []), "--as", case["client"]]
    arguments += ["--repo", str(tmp_path / "repo"), "--managed", str(tmp_path / "managed")]
    arguments += ["--cwd", case["cwd"], "--event", case["event"], "--json"]
    for name, value in settings.items():
        arguments += ["--setting", f"{name}={json.dumps(value)}"]
    assert main(["rules", "for", *arguments]) == 0
    answer = json.loads(capsys.readouterr().out)
    paths = [rule["path"] for rule in answer["loaded"]]
    if case["order_matters"]:
        assert paths == case["expected"]
    else:
        assert sorted(paths) == sorted(case["expected"])
    for first, second in case.get("order_pairs", []):
        assert paths.index(first) < paths.index(second)
    texts = {rule["path"]: rule for rule in answer["loaded"]}
    for path, text in case.get("texts", {}).items():
        assert texts[path]["text"] == content(text).decode()
    if case.get("cut") and (case["client"] == "codex"):
        assert answer["ignored"] or any(rule["cut"] for rule in answer["loaded"]), case["cut"]

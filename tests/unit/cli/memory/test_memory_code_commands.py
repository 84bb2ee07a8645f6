"""`--here`, `memory verify` and `memory cite check`: results and exit codes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from commonplace.cli.commands import run

Typed = Callable[..., tuple[int, str]]
SOURCE = "class Store:\n    def add(self, entry):\n        self.commit()\n        return entry\n"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    (folder / "src").mkdir()
    (folder / "src" / "store.py").write_text(SOURCE)
    monkeypatch.chdir(folder / "src")
    return folder


@pytest.fixture
def typed(
    tmp_path: Path, shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Typed:
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("COMMONPLACE_MODELS", raising=False)

    def line(*words: str) -> tuple[int, str]:
        code = run(["--data", str(tmp_path / "home"), "memory", *words])
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        return code, said.out

    return line


def as_json(typed: Typed, *words: str) -> tuple[int, Any]:
    code, text = typed(*words, "--json")
    return code, orjson.loads(text)


def keep(typed: Typed, *places: str) -> str:
    here = [word for place in places for word in ("--here", place)]
    _, added = as_json(typed, "add", "bug", "Store.add commits under the lock", *here)
    return str(added["id"])


def test_here_takes_anchors_from_the_checkout(typed: Typed) -> None:
    id_ = keep(typed, "store.py:Store.add", "store.py:3-4", "store.py")
    _, shown = as_json(typed, "show", id_)
    assert [
        (a["repository"], a["path"], a.get("symbol"), a.get("lines"), a["state"])
        for a in shown["anchors"]
    ] == [
        ("shop", "src/store.py", "Store.add", "2-4", "valid"),
        ("shop", "src/store.py", None, "3-4", "valid"),
        ("shop", "src/store.py", None, None, "valid"),
    ]
    assert "code src/store.py:Store.add of shop: valid" in typed("show", id_)[1]


@pytest.mark.parametrize(
    "place",
    [
        "none.py",
        "store.py:99",
        "store.py:Nothing",
        "/etc/passwd",
        "",
        ":",
        "store.py:3-",
        "store.py:-3",
    ],
)
def test_here_refuses_what_is_not_in_the_checkout(typed: Typed, place: str) -> None:
    code, _ = typed("add", "bug", "T", "--here", place)
    assert code == 2
    assert as_json(typed, "list")[1]["total"] == 0


def test_here_refuses_a_link(typed: Typed, shop: Path) -> None:
    (shop / "src" / "link.py").symlink_to("store.py")
    assert typed("add", "bug", "T", "--here", "link.py:Store.add")[0] == 2


def test_verify_fails_once_the_code_changed_until_the_anchor_is_taken_again(
    typed: Typed, shop: Path, tmp_path: Path
) -> None:
    id_ = keep(typed, "store.py:Store.add")
    assert as_json(typed, "verify", "--repo", str(shop)) == (
        0,
        {
            "repository": ["shop"],
            "other_repositories": {},
            "entries": 1,
            "stale": 0,
            "anchors": {"valid": 1, "moved": 0, "changed": 0, "gone": 0, "unknown": 0},
            "results": [],
        },
    )
    (shop / "src" / "store.py").write_text(SOURCE.replace("commit", "flush"))
    code, found = as_json(typed, "verify", "--repo", str(shop))
    assert (code, found["stale"], found["results"][0]["id"]) == (1, 1, id_)
    code, text = typed("verify", "--repo", str(shop))
    assert (code, "changed" in text) == (1, True)
    export = tmp_path / "memory.jsonl"
    typed("export", str(export))
    assert typed("verify", "--repo", str(shop), "--from", str(export))[0] == 1
    assert typed("verify", "--repo", str(shop), "--name", "other")[0] == 0
    typed("edit", id_, "--here", "store.py:Store.add")
    assert typed("verify", "--repo", str(shop))[0] == 0
    assert typed("verify", "--repo", str(shop / "none"))[0] == 2


def test_stale_names_what_changed_without_a_commit(typed: Typed, shop: Path) -> None:
    keep(typed, "store.py:Store.add")
    (shop / "src" / "store.py").write_text(SOURCE.replace("commit", "flush"))
    code, text = typed("stale")
    assert (code, "changed" in text) == (0, True)
    assert "stale" in typed("search", "commits lock")[1]


def test_citations_are_checked(typed: Typed, shop: Path) -> None:
    id_ = keep(typed, "store.py:Store.add")
    notes = shop / "notes.md"
    notes.write_text(f"Selon [{id_[:12]}] Store.add commits, le verrou\n[{id_}] est vrai\n")
    code, found = as_json(typed, "cite", "check", str(notes))
    assert (code, [c["status"] for c in found["citations"]]) == (0, ["ok", "ok"])
    notes.write_text(f"[{id_}] Another title\n[01ZZZZZZZZ] Nothing\n[{id_[:4]}] Store.add commits")
    code, found = as_json(typed, "cite", "check", str(notes))
    statuses = [(c["line"], c["status"]) for c in found["citations"]]
    assert (code, statuses) == (1, [(1, "other_title"), (2, "not_found"), (3, "ok")])
    notes.write_text(f"[{id_}] Store.add commits\n" * 2)
    code, found = as_json(typed, "cite", "check", str(notes))
    assert (code, [c["line"] for c in found["citations"]]) == (0, [1, 2])
    notes.write_text(f"[{id_}] Another title\n", "utf-16")
    assert typed("cite", "check", str(notes))[0] == 1
    (shop / "src" / "store.py").write_text("")
    notes.write_text(f"[{id_}] Store.add commits under the lock")
    code, found = as_json(typed, "cite", "check", str(notes))
    assert (code, found["citations"][0]["status"]) == (1, "stale")
    _, other = as_json(typed, "add", "bug", "The lock is gone")
    typed("link", other["id"], id_, "--relation", "supersedes")
    code, found = as_json(typed, "cite", "check", str(notes))
    assert found["citations"][0] | {"superseded_by": other["id"]} == found["citations"][0]
    typed("rm", id_)
    assert as_json(typed, "cite", "check", str(notes))[1]["citations"][0]["status"] == "deleted"
    assert typed("cite", "check", str(shop / "none.md"))[0] == 2


def test_verify_in_a_subfolder_compares_the_checkout_around_it(typed: Typed, shop: Path) -> None:
    keep(typed, "store.py:Store.add")
    assert as_json(typed, "verify")[1]["entries"] == 1
    (shop / "src" / "store.py").write_text(SOURCE.replace("commit", "flush"))
    assert typed("verify", "--repo", str(shop / "src"))[0] == 1


def test_verify_names_the_repositories_that_entries_speak_of_instead(
    typed: Typed, shop: Path, tmp_path: Path
) -> None:
    keep(typed, "store.py:Store.add")
    shutil.copytree(shop, tmp_path / "build-17")
    code, found = as_json(typed, "verify", "--repo", str(tmp_path / "build-17"))
    assert (code, found["repository"], found["entries"]) == (0, ["build-17"], 0)
    assert found["other_repositories"] == {"shop": 1}
    code, found = as_json(typed, "verify", "--repo", str(tmp_path / "build-17"), "--name", "SHOP")
    assert found["anchors"]["valid"] == 1


def test_verify_refuses_a_repository_without_checked_out_files(typed: Typed, shop: Path) -> None:
    keep(typed, "store.py:Store.add")
    bare = shop.parent / "bare" / "shop"
    subprocess.run(["git", "clone", "-q", "--bare", str(shop), str(bare)], check=True)
    assert typed("verify", "--repo", str(bare))[0] == 2


def test_here_refuses_files_of_a_bare_repository(
    typed: Typed, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = shop.parent / "shop.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(shop), str(bare)], check=True)
    monkeypatch.chdir(bare)
    assert typed("add", "bug", "T", "--here", "HEAD")[0] == 2


def test_stale_names_a_change_that_is_not_committed(typed: Typed, shop: Path) -> None:
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", "add", "-A"], cwd=shop, check=True)
    subprocess.run(["git", *author, "commit", "-qm", "x"], cwd=shop, check=True)
    keep(typed, "store.py:Store.add")
    (shop / "src" / "store.py").write_text(SOURCE.replace("commit", "flush"))
    assert "committed" in typed("stale")[1]  # a narrow table breaks the line before it


def test_stale_names_the_commit_that_changed_the_definition_and_not_a_later_one(
    typed: Typed, shop: Path
) -> None:
    def commit(text: str) -> str:
        (shop / "src" / "store.py").write_text(text)
        author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *author, "commit", "-qam", "x"], cwd=shop, check=True)
        head = ["git", "rev-parse", "HEAD"]
        return subprocess.run(head, cwd=shop, capture_output=True, check=True).stdout.decode()[:12]

    subprocess.run(["git", "add", "-A"], cwd=shop, check=True)
    commit("import os\n\n\n" + SOURCE)
    keep(typed, "store.py:Store.add")
    changed = SOURCE.replace("commit", "flush")
    guilty = commit("import os\n\n\n" + changed)
    commit("import os\nimport sys\n\n\n" + changed + "\n\nprint(os, sys)\n")
    [entry] = as_json(typed, "stale")[1]["code"]
    assert entry["anchors"][0]["commit"][:12] == guilty

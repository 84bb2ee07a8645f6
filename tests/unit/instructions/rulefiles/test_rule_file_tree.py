"""Reading rule files from a folder: nothing outside, nothing special, nothing endless."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace.instructions.clients.table import CLIENTS
from commonplace.instructions.rulefiles.situation import ClientEvent, ClientSituation
from commonplace.instructions.rulefiles.tree import LONGEST_FILE, FolderTree


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / "repo/src").mkdir(parents=True)
    (tmp_path / "secret.md").write_text("secret")
    return tmp_path / "repo"


def test_a_link_that_leaves_the_repository_is_not_followed(repo: Path) -> None:
    (repo / "AGENTS.md").symlink_to("../secret.md")
    (repo / "out").symlink_to("..")
    tree = FolderTree(repo)
    assert tree.read("AGENTS.md") is None
    assert tree.read("out/secret.md") is None
    assert tree.files_below(".") == ()


def test_a_link_inside_the_repository_is_followed_once(repo: Path) -> None:
    (repo / "src/rules.md").write_text("rule")
    (repo / "AGENTS.md").symlink_to("src/rules.md")
    (repo / "src/loop").symlink_to("..")
    tree = FolderTree(repo)
    assert tree.read("AGENTS.md") == b"rule"
    assert set(tree.files_below(".")) == {"AGENTS.md", "src/rules.md"}


@pytest.mark.parametrize(
    "path", ["../secret.md", "/etc/passwd", "~/x", "a\0b", "src/../../secret.md"]
)
def test_a_path_outside_does_not_exist(repo: Path, path: str) -> None:
    tree = FolderTree(repo)
    assert tree.read(path) is None
    assert not tree.exists(path)


def test_a_pipe_is_not_a_file(repo: Path) -> None:
    os.mkfifo(repo / "AGENTS.md")
    assert FolderTree(repo).read("AGENTS.md") is None


def test_a_huge_file_is_read_up_to_the_limit(repo: Path) -> None:
    with (repo / "CLAUDE.md").open("wb") as file:
        file.truncate(1 << 30)
    data = FolderTree(repo).read("CLAUDE.md")
    assert data is not None
    assert len(data) == LONGEST_FILE


@pytest.mark.parametrize("written", ["@../secret.md", "@/etc/passwd", "@src/../../secret.md"])
@pytest.mark.parametrize(
    ("client", "name"), [("claude-code", "CLAUDE.md"), ("gemini", "GEMINI.md")]
)
def test_an_import_never_leaves_the_repository(
    repo: Path, client: str, name: str, written: str
) -> None:
    (repo / name).write_text(f"{written}\n")
    loading = CLIENTS[client](FolderTree(repo), ClientSituation())
    assert [rule.path for rule in loading.rules] == [name]


@pytest.mark.parametrize(
    ("client", "name"), [("claude-code", "CLAUDE.md"), ("gemini", "GEMINI.md")]
)
def test_imports_that_import_each_other_end(repo: Path, client: str, name: str) -> None:
    (repo / name).write_text("@a.md\n")
    (repo / "a.md").write_text("@b.md\n")
    (repo / "b.md").write_text(f"@a.md @{name}\n")
    loading = CLIENTS[client](FolderTree(repo), ClientSituation())
    assert [rule.path for rule in loading.rules] == [name, "a.md", "b.md"]


def test_claude_code_follows_four_hops_of_imports(repo: Path) -> None:
    (repo / "CLAUDE.md").write_text("@1.md\n")
    for number in range(1, 7):
        (repo / f"{number}.md").write_text(f"@{number + 1}.md\n")
    loading = CLIENTS["claude-code"](FolderTree(repo), ClientSituation())
    assert [rule.path for rule in loading.rules] == ["CLAUDE.md", "1.md", "2.md", "3.md", "4.md"]
    assert [rule.path for rule in loading.ignored] == ["5.md"]


def test_a_new_file_brings_no_path_rules_to_claude_code_but_an_existing_one_does(
    repo: Path,
) -> None:
    (repo / ".claude/rules").mkdir(parents=True)
    (repo / ".claude/rules/py.md").write_text('---\npaths: ["**/*.py"]\n---\nRule.\n')
    (repo / "src/old.py").touch()
    for target, expected in (("src/new.py", []), ("src/old.py", [".claude/rules/py.md"])):
        situation = ClientSituation(target=target, event=ClientEvent.WRITE)
        loading = CLIENTS["claude-code"](FolderTree(repo), situation)
        assert [rule.path for rule in loading.rules] == expected

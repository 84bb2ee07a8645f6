"""The index of git is read as git itself lists it, in every version, and never trusted."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.files.engine.checkout import find_checkout, is_repository
from commonplace.files.engine.folder import scan
from commonplace.files.engine.git_index import read_index

NAMES = ("a.py", "deep/er/b.py", "deep/er/bc.py", "é ü.md", "x" * 200 + ".txt", "build/kept.txt")


def git(folder: Path, *arguments: str) -> str:
    """Run git without the user's settings."""
    done = subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@t", *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"},
    )
    return done.stdout


def make_repository(folder: Path, *options: str) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q", *options)
    (folder / ".gitignore").write_text("build/\n*.log\n!kept.log\n")
    for name in (*NAMES, "build/left.txt", "new.py", "drop.log", "kept.log", "deep/drop.log"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    git(folder, "add", "-f", *NAMES)
    return folder


def listed(folder: Path, *options: str) -> set[str]:
    return set(git(folder, "ls-files", "-z", *options).split("\0")) - {""}


@pytest.mark.parametrize("version", ["2", "4"])
def test_tracked_files_are_those_that_git_lists(tmp_path: Path, version: str) -> None:
    folder = make_repository(tmp_path / "r")
    git(folder, "update-index", "--index-version", version)
    tracked = read_index((folder / ".git" / "index").read_bytes())
    assert tracked is not None
    assert tracked.names == listed(folder) == set(NAMES)


def test_extended_entries_and_sha256_repositories_are_read(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "r", "--object-format=sha256")
    git(folder, "add", "--intent-to-add", "new.py")  # makes the entry an extended one
    checkout = find_checkout(folder)
    assert checkout is not None
    assert checkout.tracked == listed(folder) == {*NAMES, "new.py"}


def test_a_split_index_yields_nothing_instead_of_half(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "r")
    git(folder, "update-index", "--split-index")
    assert read_index((folder / ".git" / "index").read_bytes()) is None


@given(st.binary(max_size=400), st.integers(0, 300))
def test_no_index_makes_the_reader_fail(noise: bytes, cut: int) -> None:
    head = b"DIRC\0\0\0\2\0\0\0\3" + noise
    read_index(noise)
    read_index(head)
    read_index(head[:cut])


def test_a_scan_takes_what_git_would_take(tmp_path: Path) -> None:
    """Tracked files, ignored or not, and untracked files that no rule ignores."""
    folder = make_repository(tmp_path / "r")
    (folder / ".git" / "info" / "exclude").write_text("new.py\n")
    inner = make_repository(folder / "inner")
    assert is_repository(inner)
    found = scan(folder, checkout=find_checkout(folder))
    wanted = listed(folder, "-c", "-o", "--exclude-standard")
    assert {file.path[1:] for file in found.files} == {
        name for name in wanted if not name.startswith("inner/")
    }
    assert "build/kept.txt" in wanted
    assert "/build/left.txt" in found.ignored
    assert [skipped.path for skipped in found.skipped] == ["/inner"]


def test_a_folder_inside_a_checkout_follows_the_rules_above_it(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "r")
    found = scan(folder / "deep", checkout=find_checkout(folder / "deep"))
    assert [file.path for file in found.files] == ["/er/b.py", "/er/bc.py"]
    assert found.ignored == ["/drop.log"]


def test_a_worktree_has_its_own_index(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "r")
    git(folder, "commit", "-q", "-m", "first")
    git(folder, "worktree", "add", "-q", str(tmp_path / "w"))
    (tmp_path / "w" / "late.py").write_text("late")
    git(tmp_path / "w", "add", "late.py")
    checkout = find_checkout(tmp_path / "w")
    assert checkout is not None
    assert checkout.tracked == {*NAMES, "late.py"}
    assert find_checkout(tmp_path) is None

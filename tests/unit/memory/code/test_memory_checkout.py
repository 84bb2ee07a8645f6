"""Folders are read without following links, leaving them, or waiting."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from commonplace.memory.anchors import repository_name
from commonplace.memory.code.checkout import CheckoutTree
from commonplace.memory.code.git import head_commit, last_change, repository_names
from commonplace.memory.code.protocol import FILE_BYTES, UnreadableFileError
from commonplace.memory.code.repositories import Repositories


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "shop"
    (made / "src").mkdir(parents=True)
    (made / "src" / "a.py").write_text("x = 1\n")
    (tmp_path / "secret.py").write_text("password = 1\n")
    return made


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=n", "-c", "user.email=n@localhost")
    done = subprocess.run(
        ["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_a_file_is_read_and_its_version_changes_with_it(folder: Path) -> None:
    tree = CheckoutTree(folder)
    before = tree.version("src/a.py")
    assert tree.read("src/a.py") == b"x = 1\n"
    (folder / "src" / "a.py").write_text("x = 2\n")
    os.utime(folder / "src" / "a.py", ns=(1, 1))
    assert tree.version("src/a.py") != before


@pytest.mark.parametrize("path", ["src/b.py", "src/a.py/b.py", "nothing/a.py", "x" * 300])
def test_what_is_not_there_is_missing(folder: Path, path: str) -> None:
    tree = CheckoutTree(folder)
    assert tree.version(path) is None
    assert tree.read(path) is None


@pytest.mark.parametrize(
    "path", ["../secret.py", "/etc/passwd", "src/../../secret.py", "src//a.py", ".git/config", ""]
)
def test_a_path_never_leaves_the_folder(folder: Path, path: str) -> None:
    with pytest.raises(UnreadableFileError):
        CheckoutTree(folder).read(path)


def test_links_are_refused_wherever_they_are(folder: Path) -> None:
    (folder / "link.py").symlink_to(folder.parent / "secret.py")
    (folder / "inner.py").symlink_to("src/a.py")
    (folder / "up").symlink_to(folder.parent)
    (folder / "loop").symlink_to("loop")
    tree = CheckoutTree(folder)
    for path in ("link.py", "inner.py", "up/secret.py", "loop", "loop/a.py"):
        with pytest.raises(UnreadableFileError, match="link"):
            tree.read(path)
        with pytest.raises(UnreadableFileError, match="link"):
            tree.version(path)
    assert list(tree.files((".py",)).versions) == ["src/a.py"]


def test_pipes_folders_large_files_and_binaries_are_not_compared(folder: Path) -> None:
    os.mkfifo(folder / "pipe.py")
    (folder / "folder.py").mkdir()
    (folder / "large.py").write_bytes(b"x" * (FILE_BYTES + 1))
    (folder / "binary.py").write_bytes(b"x\0y")
    tree = CheckoutTree(folder)
    for path in ("pipe.py", "folder.py", "large.py", "binary.py"):
        with pytest.raises(UnreadableFileError):
            tree.read(path)


def test_folders_nested_deeply_and_names_that_are_not_text_are_survived(folder: Path) -> None:
    deep = folder
    for _ in range(150):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "z.py").write_text("z = 1\n")
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.py")).write_text("q = 1\n")
    found = CheckoutTree(folder).files((".py",))
    assert "src/a.py" in found.versions
    assert not any(path.endswith("z.py") for path in found.versions)
    assert found.gap == "folders nested deeper than 64 were not compared"


def test_a_folder_that_is_not_there_is_unreadable_and_not_empty(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError):
        CheckoutTree(tmp_path / "gone").version("a.py")


def test_a_folder_that_is_empty_or_cannot_be_listed_has_a_gap(tmp_path: Path) -> None:
    assert "cannot be read" in CheckoutTree(tmp_path / "nothing").files((".py",)).gap
    (tmp_path / "unmounted" / ".git").mkdir(parents=True)
    assert "empty" in CheckoutTree(tmp_path / "unmounted").files((".py",)).gap
    deep = tmp_path / "deep"
    place = deep
    for _ in range(20):
        place = place / ("d" * 100)
    place.mkdir(parents=True)
    here = os.open(place, os.O_RDONLY)
    try:
        for _ in range(22):  # a path of more bytes than the system takes
            os.mkdir("d" * 100, dir_fd=here)
            inside = os.open("d" * 100, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = inside
    finally:
        os.close(here)
    assert "cannot be read" in CheckoutTree(deep).files((".py",)).gap


def test_files_left_out_of_a_sparse_checkout_are_not_missing(folder: Path) -> None:
    (folder / "docs").mkdir()
    (folder / "docs" / "b.py").write_text("y = 2\n")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    assert CheckoutTree(folder).files((".py",)).gap == ""
    git(folder, "sparse-checkout", "set", "src")
    listed = CheckoutTree(folder).files((".py",))
    assert (list(listed.versions), "sparse" in listed.gap) == (["src/a.py"], True)


def test_a_file_of_a_submodule_that_is_not_checked_out_is_unreadable(folder: Path) -> None:
    (folder / ".gitmodules").write_text('[submodule "lib"]\n\tpath = vendor/lib\n\turl = ../lib\n')
    (folder / "vendor" / "lib").mkdir(parents=True)
    tree = CheckoutTree(folder)
    with pytest.raises(UnreadableFileError, match="submodule"):
        tree.version("vendor/lib/l.py")
    assert tree.version("vendor/other.py") is None
    (folder / "vendor" / "lib" / ".git").write_text("gitdir: ../../.git/modules/lib\n")
    assert tree.version("vendor/lib/l.py") is None


def test_the_commit_and_the_name_are_read_without_git(folder: Path) -> None:
    git(folder, "init", "-q", "-b", "main")
    assert head_commit(folder) == ""
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    commit = git(folder, "rev-parse", "HEAD")
    assert head_commit(folder) == commit
    git(folder, "pack-refs", "--all")
    assert head_commit(folder) == commit
    assert repository_names(folder) == ("shop",)
    git(folder, "remote", "add", "origin", "git@example.org:team/market.git")
    assert repository_names(folder) == ("market", "shop")
    git(folder, "worktree", "add", "-q", "../branch")
    assert head_commit(folder.parent / "branch") == commit
    assert repository_names(folder.parent / "branch") == ("market", "shop", "branch")
    git(folder, "remote", "remove", "origin")
    assert repository_names(folder.parent / "branch") == ("shop", "branch")


def test_the_last_change_is_told_and_nothing_of_the_repository_runs(folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    first = git(folder, "rev-parse", "HEAD")
    (folder / "src" / "a.py").write_text("x = 3\n")
    git(folder, "commit", "-qam", "two")
    trap = folder.parent / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {folder.parent}/ran\n")
    trap.chmod(0o755)
    programs = ("core.fsmonitor", "core.pager", "diff.external", "gpg.program", "core.sshCommand")
    filters = ("diff.x.textconv", "diff.x.command", "filter.x.clean", "filter.x.smudge")
    for name in (*programs, *filters):
        git(folder, "config", name, str(trap))
    (folder / ".gitattributes").write_text("*.py diff=x filter=x\n")
    git(folder, "config", "log.showSignature", "true")
    change = last_change(folder, "src/a.py", first)
    assert change is not None
    assert change.commit == head_commit(folder)
    uncommitted = last_change(folder, "src/a.py", head_commit(folder))
    assert uncommitted is not None
    assert uncommitted.commit == ""
    assert last_change(folder, "src/a.py", "0" * 40) == change
    assert last_change(folder, "src/a.py", first, (1, 1)) == change
    assert last_change(folder, "src/a.py", first, (7, 9)) == change  # not lines of that commit
    assert not (folder.parent / "ran").exists()
    assert last_change(folder.parent, "secret.py") is None


def test_a_shallow_clone_does_not_take_its_oldest_commit_for_every_change(folder: Path) -> None:
    git(folder, "init", "-q", "-b", "main")
    for text in ("x = 1\n", "x = 2\n", "x = 3\n"):
        (folder / "src" / "a.py").write_text(text)
        (folder / "other.py").write_text("y = 1\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", text)
    copy = folder.parent / "copy"
    git(folder, "clone", "-q", "--depth", "2", f"file://{folder}", str(copy))
    assert last_change(copy, "other.py") is None  # it may be older than what is here
    change = last_change(copy, "src/a.py")
    assert change is not None
    assert change.commit == head_commit(copy)


def test_a_name_means_a_root_or_a_folder_of_it_and_never_a_link(folder: Path) -> None:
    (folder.parent / "alias").symlink_to(folder)
    found = Repositories((folder.parent,)).find("local", "shop")
    assert found is not None
    assert found.identity == f"folder:{folder}"
    assert Repositories((folder,)).find("local", "shop") is not None
    assert Repositories((folder.parent,)).find("local", "alias") is None
    assert Repositories((folder,)).find("local", "other") is None
    assert Repositories().find("local", "shop") is None


def test_a_checkout_in_a_root_is_found_by_the_name_of_its_origin(tmp_path: Path) -> None:
    roots = tmp_path / "roots"
    for name, origin in (
        ("checkout-1", "git@example.com:acme/Shop.git"),
        ("SHOP", "https://example.com/acme/till"),
    ):
        (roots / name).mkdir(parents=True)
        git(roots / name, "init", "-q")
        git(roots / name, "remote", "add", "origin", origin)
    repositories = Repositories((roots,))
    for name, folder in (
        ("Shop", "checkout-1"),
        ("SHOP", "SHOP"),
        ("till", "SHOP"),
        ("TILL", "SHOP"),
        ("shop", "SHOP"),
    ):
        found = repositories.find("local", name)
        assert found is not None, name
        assert found.identity == f"folder:{roots / folder}", name


def test_a_name_in_other_capitals_means_the_same_repository(folder: Path) -> None:
    assert Repositories((folder,)).find("local", "SHOP") is not None
    assert Repositories((folder.parent,)).find("local", "SHOP") is None  # not a checkout of git
    git(folder, "init", "-q")
    assert Repositories((folder.parent,)).find("local", "SHOP") is not None
    assert Repositories(given=folder, names=("shop",)).find("local", "Shop") is not None


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://dev.example.com/team/_git/My%20Shop", "My Shop"),
        ("git@example.com:acme/été-app.git", "été-app"),
        ("ssh://git@example.com:2222/acme/till.git/", "till"),
        ("example.com:till.git", "till"),
        ("C:\\code\\till", "till"),
        ("../till", "till"),
        ("https://example.com/acme/%2e%2e%2fetc", "shop"),
        ("https://example.com/acme/-x", "shop"),
    ],
)
def test_the_whole_last_part_of_the_origin_is_the_name(
    folder: Path, address: str, name: str
) -> None:
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {address}\n')
    assert repository_names(folder)[0] == name
    if address.startswith(("git@", "ssh:")):
        assert repository_name(address) == name


def test_a_submodule_is_a_repository_with_a_name_of_its_own(folder: Path) -> None:
    library = folder.parent / "library"
    library.mkdir()
    (library / "b.py").write_text("y = 1\n")
    for place in (library, folder):
        git(place, "init", "-q")
    git(library, "add", "-A")
    git(library, "commit", "-qm", "one")
    local = ("-c", "protocol.file.allow=always")
    git(folder, *local, "submodule", "--quiet", "add", str(library), "vendor/lib")
    (folder / "link").symlink_to(library)
    with (folder / ".gitmodules").open("a") as file:
        file.write('[submodule "x"]\n\tpath = ../library\n[submodule "y"]\n\tpath = link\n')
    found = Repositories((folder,)).find("local", "library")
    assert found is not None
    assert found.identity == f"folder:{folder}/vendor/lib"
    assert Repositories((folder,)).find("local", "link") is None


def test_folders_in_a_working_folder_that_is_no_repository_are_not_looked_at(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(folder, "init", "-q")
    git(folder, "remote", "add", "origin", "git@example.com:acme/till.git")
    monkeypatch.chdir(folder.parent)
    assert Repositories(local=True).find("local", "till") is None
    monkeypatch.chdir(folder / "src")
    assert Repositories(local=True).find("local", "till") is not None

"""A folder of the disk as files: which of them a `.gitignore` leaves out, which are text, and what they are called here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commonplace.files.model import MAX_PATH_CHARACTERS

ALWAYS_IGNORED = frozenset({".git", ".hg", ".svn"})
_ILLEGAL = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file of the folder: where it is on disk, and its path below the folder (`/a/b`)."""

    source: Path
    path: str


def candidates(folder: Path, *, use_gitignore: bool = True) -> Iterator[Candidate]:
    """Regular files below a folder in path order, without what `.gitignore` files exclude. Links are not followed."""
    from pathspec import GitIgnoreSpec

    folder = folder.resolve()

    def walk(directory: Path, above: tuple[tuple[Path, Any], ...]) -> Iterator[Candidate]:
        rules = above
        ignore = directory / ".gitignore"
        if use_gitignore and ignore.is_file():
            rules = (*above, (directory, GitIgnoreSpec.from_lines(ignore.read_text("utf-8", "replace").splitlines())))
        for item in sorted(directory.iterdir(), key=lambda entry: entry.name):
            if item.is_symlink() or item.name in ALWAYS_IGNORED or _ignored(item, rules):
                continue
            if item.is_dir():
                yield from walk(item, rules)
            elif item.is_file():
                yield Candidate(item, "/" + item.relative_to(folder).as_posix())

    yield from walk(folder, _rules_above(folder) if use_gitignore else ())


def _rules_above(folder: Path) -> tuple[tuple[Path, Any], ...]:
    """The `.gitignore` files between a folder and the top of its repository, outermost first."""
    from pathspec import GitIgnoreSpec

    folder = folder.resolve()
    if (folder / ".git").exists():
        return ()
    rules: list[tuple[Path, Any]] = []
    for parent in folder.parents:
        if (parent / ".gitignore").is_file():
            rules.insert(0, (parent, GitIgnoreSpec.from_lines((parent / ".gitignore").read_text("utf-8", "replace").splitlines())))
        if (parent / ".git").exists():
            return tuple(rules)
    return ()  # not in a repository: what stands above is none of its business


def _ignored(item: Path, rules: tuple[tuple[Path, Any], ...]) -> bool:
    """The innermost file that has a rule for it decides, as git does."""
    for base, spec in reversed(rules):
        name = item.relative_to(base).as_posix() + ("/" if item.is_dir() else "")
        verdict = spec.check_file(name).include
        if verdict is not None:
            return bool(verdict)
    return False


def legal_path(path: str) -> str | None:
    """The path with illegal characters replaced by `_`; None when it is too long."""
    segments = [_ILLEGAL.sub("_", segment) or "_" for segment in path.split("/")[1:]]
    legal = "".join(f"/{segment}" for segment in segments)
    return legal if len(legal) <= MAX_PATH_CHARACTERS else None


def text_of(data: bytes) -> str | None:
    """The text of a file; None when it is binary."""
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None

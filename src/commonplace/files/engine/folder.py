"""Folders on disk as files to import: what `.gitignore` excludes, links, and binary files."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from commonplace.files.engine.checkout import Checkout, is_repository

ALWAYS_IGNORED = frozenset({".git", ".hg", ".svn"})


@dataclass(frozen=True, slots=True)
class FolderFile:
    """A file of the folder: its place on disk, and its path below the folder (`/a/b`)."""

    source: Path
    path: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not imported, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Scan:
    """Files of a folder in path order, those that are skipped, and those that are ignored.

    `unreadable` are folders among the skipped: nobody knows what they hold.
    """

    files: list[FolderFile] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


def scan(folder: Path, *, use_gitignore: bool = True, checkout: Checkout | None = None) -> Scan:
    """List the files of a folder.

    Links are not followed; an unreadable directory is skipped and reported. With `checkout`, the
    files are those that git would take: tracked files, ignored or not, and untracked ones that are
    not ignored; repositories inside are skipped.
    """
    folder = folder.resolve()
    rules = _rules_above(folder) if use_gitignore else ()
    if checkout is not None and checkout.excludes:
        rules = ((checkout.top, _spec(checkout.excludes)), *rules)
    walk = _Walk(folder, use_gitignore, checkout)
    walk.enter(folder, rules)
    return walk.found


Rules = tuple[tuple[Path, Any], ...]


@dataclass(frozen=True, slots=True)
class _Walk:
    folder: Path
    use_gitignore: bool
    checkout: Checkout | None
    found: Scan = field(default_factory=Scan)

    def enter(self, directory: Path, above: Rules, *, excluded: bool = False) -> None:
        """List a directory; `excluded`: only what is tracked."""
        rules = above
        ignore = directory / ".gitignore"
        if self.use_gitignore and ignore.is_file():
            rules = (*above, (directory, _spec(_lines_of(ignore))))
        for item in sorted(directory.iterdir(), key=lambda entry: entry.name):
            if item.name not in ALWAYS_IGNORED:
                self._visit(item, rules, excluded)

    def _visit(self, item: Path, rules: Rules, excluded: bool) -> None:
        path = "/" + item.relative_to(self.folder).as_posix()
        ignored = excluded or _is_ignored(item, rules)
        if ignored and not (self.checkout is not None and self.checkout.is_tracked(item)):
            self.found.ignored.append(path)
        elif (reason := _reason_to_skip(item)) is not None:
            self.found.skipped.append(Skipped(_printable(path), reason))
        elif not item.is_dir():
            self.found.files.append(FolderFile(item, path))
        elif self.checkout is not None and is_repository(item):
            self.found.skipped.append(Skipped(path, "a repository of its own; sync it by itself"))
        else:
            try:
                self.enter(item, rules, excluded=ignored)
            except OSError as error:
                reason = f"the folder cannot be read: {error.strerror or type(error).__name__}"
                self.found.skipped.append(Skipped(path, reason))
                self.found.unreadable.append(path)


def _spec(lines: Iterable[str]) -> Any:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines)


def _lines_of(ignore: Path) -> list[str]:
    return ignore.read_text("utf-8", "replace").splitlines()


def _reason_to_skip(item: Path) -> str | None:
    if item.is_symlink():
        return "a symbolic link; links are not followed"
    if not item.is_dir() and not item.is_file():
        return "not a regular file"
    try:
        item.name.encode()
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    return None


def _printable(path: str) -> str:
    """Return a name that is not UTF-8 as printable text."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _rules_above(folder: Path) -> Rules:
    """Return the `.gitignore` files from the top of the repository down to a folder."""
    folder = folder.resolve()
    if (folder / ".git").exists():
        return ()
    rules: list[tuple[Path, Any]] = []
    for parent in folder.parents:
        if (parent / ".gitignore").is_file():
            rules.insert(0, (parent, _spec(_lines_of(parent / ".gitignore"))))
        if (parent / ".git").exists():
            return tuple(rules)
    return ()  # not in a repository: ignore the folders above


def _is_ignored(item: Path, rules: Rules) -> bool:
    """Return whether a file is ignored: as in git, the innermost rule decides."""
    for base, spec in reversed(rules):
        name = item.relative_to(base).as_posix() + ("/" if item.is_dir() else "")
        verdict = spec.check_file(name).include
        if verdict is not None:
            return bool(verdict)
    return False


def read_bytes(source: Path, most: int) -> bytes:
    """Return up to `most` + 1 bytes of a regular file. OSError, also if it became a link."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(source, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return file.read(most + 1)


def text_of(data: bytes) -> str | None:
    """Return the text of a file; None if it is binary."""
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None

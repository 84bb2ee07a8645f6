"""Folders on disk as files to import: what `.gitignore` excludes, links, and binary files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
    """Files of a folder in path order, those that are skipped, and those that are ignored."""

    files: list[FolderFile] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


def scan(folder: Path, *, use_gitignore: bool = True) -> Scan:
    """List the files of a folder.

    Links are not followed; an unreadable directory is skipped and reported.
    """
    from pathspec import GitIgnoreSpec

    folder = folder.resolve()
    found = Scan()

    def walk(directory: Path, above: tuple[tuple[Path, Any], ...]) -> None:
        rules = above
        ignore = directory / ".gitignore"
        if use_gitignore and ignore.is_file():
            rules = (
                *above,
                (
                    directory,
                    GitIgnoreSpec.from_lines(ignore.read_text("utf-8", "replace").splitlines()),
                ),
            )
        for item in sorted(directory.iterdir(), key=lambda entry: entry.name):
            path = "/" + item.relative_to(folder).as_posix()
            if item.name in ALWAYS_IGNORED:
                continue
            if _is_ignored(item, rules):
                found.ignored.append(path)
            elif (reason := _reason_to_skip(item)) is not None:
                found.skipped.append(Skipped(_printable(path), reason))
            elif item.is_dir():
                enter(item, path, rules)
            else:
                found.files.append(FolderFile(item, path))

    def enter(directory: Path, path: str, rules: tuple[tuple[Path, Any], ...]) -> None:
        try:
            walk(directory, rules)
        except OSError as error:
            found.skipped.append(
                Skipped(
                    path, f"the folder cannot be read: {error.strerror or type(error).__name__}"
                )
            )

    walk(folder, _rules_above(folder) if use_gitignore else ())
    return found


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


def _rules_above(folder: Path) -> tuple[tuple[Path, Any], ...]:
    """Return the `.gitignore` files from the top of the repository down to a folder."""
    from pathspec import GitIgnoreSpec

    folder = folder.resolve()
    if (folder / ".git").exists():
        return ()
    rules: list[tuple[Path, Any]] = []
    for parent in folder.parents:
        if (parent / ".gitignore").is_file():
            rules.insert(
                0,
                (
                    parent,
                    GitIgnoreSpec.from_lines(
                        (parent / ".gitignore").read_text("utf-8", "replace").splitlines()
                    ),
                ),
            )
        if (parent / ".git").exists():
            return tuple(rules)
    return ()  # not in a repository: ignore the folders above


def _is_ignored(item: Path, rules: tuple[tuple[Path, Any], ...]) -> bool:
    """Return whether a file is ignored: as in git, the innermost rule decides."""
    for base, spec in reversed(rules):
        name = item.relative_to(base).as_posix() + ("/" if item.is_dir() else "")
        verdict = spec.check_file(name).include
        if verdict is not None:
            return bool(verdict)
    return False


def text_of(data: bytes) -> str | None:
    """Return the text of a file; None if it is binary."""
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None

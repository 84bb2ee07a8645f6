"""What git knows about a folder: tracked files and the excludes of the repository and its user.

Everything is read from files. The git program is not run: it may be missing, and it runs programs
that a repository's own configuration names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from commonplace.files.engine.git_index import TrackedFiles, read_index

MAX_INDEX_BYTES = 512 << 20
MAX_SETTING_BYTES = 1 << 20
_SECTION = re.compile(r"^\s*\[\s*([^\]\"]*?)\s*(?:\"[^\"]*\")?\s*\]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Checkout:
    """A repository as far as it decides which files belong to a folder of it."""

    top: Path
    tracked: frozenset[str] = frozenset()  # paths below the top, without a leading slash
    tracked_folders: frozenset[str] = frozenset()  # that hold tracked files
    excludes: tuple[str, ...] = field(default=())  # lines, the weakest first

    def is_tracked(self, item: Path) -> bool:
        """Return whether a file is tracked, or a folder has tracked files below it."""
        name = item.relative_to(self.top).as_posix()
        return name in self.tracked or name in self.tracked_folders


def find_checkout(folder: Path) -> Checkout | None:
    """Return the repository that a resolved folder is in, or None."""
    for top in (folder, *folder.parents):
        git = _git_folder(top)
        if git is not None:
            return _open(top, git)
    return None


def is_repository(folder: Path) -> bool:
    """Return whether a folder is the top of a repository, a worktree or a submodule."""
    return _git_folder(folder) is not None


def _git_folder(top: Path) -> Path | None:
    git = top / ".git"
    if git.is_file():  # of a worktree or a submodule
        text = _read_text(git)
        if not text.startswith("gitdir:"):
            return None
        git = top / text.partition(":")[2].strip()
    return git if (git / "HEAD").is_file() else None


def _open(top: Path, git: Path) -> Checkout:
    shared = git / (_read_text(git / "commondir").strip() or ".")
    config = _read_text(shared / "config")
    is_sha256 = _setting(config, "extensions", "objectformat").lower() == "sha256"
    tracked = _tracked(git / "index", 32 if is_sha256 else 20)
    names = tracked.names if tracked is not None else frozenset()
    folders = {name[:at] for name in names for at in range(len(name)) if name[at] == "/"}
    excludes = [line for file in _exclude_files(shared, config) for line in _lines(file)]
    return Checkout(top, names, frozenset(folders), tuple(excludes))


def _tracked(index: Path, hash_bytes: int) -> TrackedFiles | None:
    try:
        if index.stat().st_size > MAX_INDEX_BYTES:
            return None
        return read_index(index.read_bytes(), hash_bytes)
    except OSError:  # a new repository has no index
        return None


def _exclude_files(shared: Path, config: str) -> Iterator[Path]:
    home = Path.home()
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git"
    configured = ""
    for text in (_read_text(settings / "config"), _read_text(home / ".gitconfig"), config):
        configured = _setting(text, "core", "excludesfile") or configured
    yield Path(configured).expanduser() if configured else settings / "ignore"
    yield shared / "info" / "exclude"


def _setting(config: str, section: str, name: str) -> str:
    """Return the last value of a setting; an empty text if it is not set."""
    value = ""
    heads = list(_SECTION.finditer(config))
    for number, head in enumerate(heads):
        if head.group(1).lower() != section or '"' in head.group():
            continue
        end = heads[number + 1].start() if number + 1 < len(heads) else len(config)
        for line in config[head.end() : end].splitlines():
            key, equals, given = line.partition("=")
            if equals and key.strip().lower() == name:
                value = given.strip().strip('"')
    return value


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_SETTING_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _lines(path: Path) -> list[str]:
    return _read_text(path).splitlines()

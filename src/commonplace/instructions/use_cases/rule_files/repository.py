"""A repository on disk whose rule files are read and written.

Nothing is written through a symbolic link, and a file is replaced whole or not at all.
"""

from __future__ import annotations

import configparser
import contextlib
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson

from commonplace.instructions.rulefiles.tree import FolderTree, TreeSurvey
from commonplace.kernel.clock import utc_now
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import JsonObject

STATE_FOLDER = ".commonplace"
SYNC_STATE = "rules-sync.json"
LOCK_FILE = ".commonplace-rules.json"
RULE_FOLDER_NAMES = (
    ".claude",
    ".cursor",
    ".github",
    ".clinerules",
    ".kiro",
    ".devin",
    ".windsurf",
    ".agents",
    ".junie",
)


class UnsafePath(OSError):
    """A path that leads through a link, or is not a regular file."""


@dataclass(frozen=True, slots=True)
class RuleRepository:
    """The folder of a repository; `below` limits what is searched to a folder in it."""

    root: Path
    below: str = "."

    @classmethod
    def at(cls, folder: Path) -> RuleRepository:
        """Open a folder. A rule folder such as `.cursor/rules` stands for its repository."""
        if not folder.is_dir():
            raise CommonplaceError(
                INVALID_ARGUMENT, f"{folder} is not a folder.", hint="Name the repository's folder."
            )
        absolute = folder.resolve()
        parts = absolute.parts
        for depth in (1, 2, 3):
            if len(parts) > depth + 1 and parts[-depth] in RULE_FOLDER_NAMES:
                return cls(absolute.parents[depth - 1], "/".join(parts[-depth:]))
        return cls(absolute)

    @property
    def tree(self) -> FolderTree:
        return FolderTree(self.root)

    def survey(self) -> TreeSurvey:
        """List the files, and what was left out. The folder of our own state is not a rule."""
        survey = self.tree.survey(self.below)
        mine = (f"{STATE_FOLDER}/", LOCK_FILE)
        return TreeSurvey(
            tuple(path for path in survey.files if not path.startswith(mine)), survey.left_out
        )

    @property
    def name(self) -> str:
        """The name in the address of the git remote, else the name of the folder."""
        parser = configparser.RawConfigParser(strict=False)
        with contextlib.suppress(configparser.Error, OSError, UnicodeDecodeError):
            parser.read(self.root / ".git" / "config", encoding="utf-8")
        address = parser.get('remote "origin"', "url", fallback="")
        last = address.rstrip("/").replace(":", "/").rpartition("/")[2].removesuffix(".git")
        return (last or self.root.name)[:200]

    def read(self, path: str) -> bytes | None:
        """Return the content of a file; None if there is none. Links stay inside the folder."""
        return self.tree.read(path)

    def is_gone(self, path: str) -> bool:
        """Tell whether there is nothing at a path, not even what cannot be read."""
        try:
            os.lstat(self.root / path)
        except (FileNotFoundError, NotADirectoryError):
            return True
        except (OSError, ValueError):
            return False
        return False

    def covers(self, path: str) -> bool:
        """Tell whether a path is in the folder that is searched."""
        return self.below == "." or path.startswith(f"{self.below}/")

    def write(self, path: str, content: bytes) -> None:
        """Replace a file atomically. Raises UnsafePath if a link or something else is there."""
        with self._open_folder(path, create=True) as (folder, name):
            mode = _check_target(folder, name)
            draft = f".{name[:80]}.{secrets.token_hex(4)}.tmp"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = os.open(draft, flags, 0o644, dir_fd=folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                    if mode is not None:
                        os.fchmod(file.fileno(), mode)
                os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(draft, dir_fd=folder)
                raise

    def delete(self, path: str) -> None:
        """Delete a file. Raises UnsafePath if a link or something else is there."""
        with self._open_folder(path, create=False) as (folder, name):
            _check_target(folder, name)
            os.unlink(name, dir_fd=folder)

    def keep(self, kind: str, path: str, content: bytes) -> str:
        """Keep a copy of a content among our own files, and return its path."""
        stamp = utc_now().strftime("%Y%m%dT%H%M%S")
        for number in range(1_000):
            suffix = f"-{number}" if number else ""
            copy = f"{STATE_FOLDER}/{kind}/{stamp}{suffix}/{path}"
            if self.read(copy) is None:
                self._make_state_folder()
                self.write(copy, content)
                return copy
        raise UnsafePath(f"too many copies of {path}")

    def load_state(self, name: str) -> JsonObject:
        """Read one of our own files; empty if there is none, or it is not ours."""
        try:
            value = orjson.loads(self.read(name) or b"{}")
        except orjson.JSONDecodeError:
            return {}
        return value if isinstance(value, dict) else {}

    def save_state(self, name: str, state: Mapping[str, object]) -> None:
        """Write one of our own files, unless it has this content."""
        options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
        content = orjson.dumps(state, option=options)
        if self.read(name) != content:
            if name.startswith(f"{STATE_FOLDER}/"):
                self._make_state_folder()
            self.write(name, content)

    def _make_state_folder(self) -> None:
        ignore = f"{STATE_FOLDER}/.gitignore"
        if self.read(ignore) is None:
            self.write(ignore, b"*\n")

    @contextlib.contextmanager
    def _open_folder(self, path: str, *, create: bool) -> Iterator[tuple[int, str]]:
        """Open the folder of a path, step by step, without following a link."""
        *folders, name = path.split("/")
        if not name or {"", ".", ".."} & {*folders, name} or "\0" in path:
            raise UnsafePath(f"{path} is not a path inside the folder")
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for folder in folders:
                if create:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(folder, dir_fd=handle)
                try:
                    following = os.open(folder, flags, dir_fd=handle)
                except FileNotFoundError:
                    raise
                except OSError:
                    raise UnsafePath(f"{folder} in {path} is a link or not a folder") from None
                os.close(handle)
                handle = following
            yield handle, name
        finally:
            os.close(handle)


def _check_target(folder: int, name: str) -> int | None:
    """Return the mode of a regular file; None if there is no such file."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise UnsafePath(f"{name} is a link or not a regular file")
    return stat.S_IMODE(status.st_mode)

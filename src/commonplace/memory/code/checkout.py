"""A folder as a repository. Symbolic links are not followed, and nothing outside is opened."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from commonplace.memory.anchors import path_problem
from commonplace.memory.code.git import is_sparse
from commonplace.memory.code.protocol import FILE_BYTES, FileVersion, TreeFiles, UnreadableFileError

MOST_FILES = 20_000  # of one kind
MOST_FOLDERS = 20_000
DEEPEST = 64
SETTLED_NANOSECONDS = 100_000_000  # clocks of file systems are coarse: a younger file may change
SKIPPED = frozenset(
    (".git", ".hg", ".svn", "node_modules", ".venv", "__pycache__", ".tox", ".mypy_cache")
)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MISSING = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG))
LINK = "a symbolic link is not followed"
SPARSE = "the checkout is sparse: some files are left out"
EMPTY = "the folder of the repository is empty"
UNREADABLE = "the repository cannot be read"
DEEP = f"folders nested deeper than {DEEPEST} were not compared"
SUBMODULE = "its submodule is not checked out"
_SUBMODULE = re.compile(r"^\s*path\s*=\s*(\S.*?)/*\s*$", re.MULTILINE)


class CheckoutTree:
    """The files below a folder, each opened step by step from the top."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.identity = f"folder:{root}"

    def _version(self, path: str) -> FileVersion | None:
        with self._parent(path) as folder:
            if folder is None:
                return None
            status = _status(path.rpartition("/")[2], folder)
        return None if status is None else _version_of(status)

    def version(self, path: str) -> FileVersion | None:
        found = self._version(path)
        if found is None and self._is_in_missing_submodule(path):
            raise UnreadableFileError(SUBMODULE)
        return found

    def submodules(self) -> list[str]:
        """Return the paths of submodules, checked out or not; raises UnreadableFileError."""
        content = self.read(".gitmodules") or b""
        places = _SUBMODULE.findall(content.decode("utf-8", "replace"))
        return [place for place in places if not path_problem(place)]

    def _is_in_missing_submodule(self, path: str) -> bool:
        return any(
            path.startswith(f"{place}/") and not (self.root / place / ".git").exists()
            for place in self.submodules()
        )

    def read(self, path: str) -> bytes | None:
        with self._parent(path) as folder:
            name = path.rpartition("/")[2]
            if folder is None or _status(name, folder) is None:
                return None
            try:
                handle = os.open(name, _FILE, dir_fd=folder)
            except OSError as error:
                _explain(error)
                return None
            with os.fdopen(handle, "rb") as file:
                _check_regular(os.fstat(handle))
                content = file.read(FILE_BYTES + 1)
        if len(content) > FILE_BYTES:
            raise UnreadableFileError(f"larger than {FILE_BYTES} bytes")
        if b"\0" in content:
            raise UnreadableFileError("not a text")
        return content

    def files(self, suffixes: tuple[str, ...]) -> TreeFiles:
        versions: dict[str, FileVersion] = {}
        folders = [("", 0)]
        visited = 0
        gap = SPARSE if is_sparse(self.root) else ""
        while folders:
            folder, depth = folders.pop()
            visited += 1
            if visited > MOST_FOLDERS or len(versions) >= MOST_FILES:
                return TreeFiles(versions, f"only {len(versions)} files were compared")
            found = _entries(self.root / folder)
            if found is None or (not folder and all(entry.name == ".git" for entry in found)):
                gap = UNREADABLE if found is None else EMPTY
            for entry in found or ():
                path = folder + entry.name
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if depth >= DEEPEST:
                            gap = gap or DEEP
                        elif entry.name not in SKIPPED:
                            folders.append((f"{path}/", depth + 1))
                    elif entry.name.endswith(suffixes) and entry.is_file(follow_symlinks=False):
                        status = entry.stat(follow_symlinks=False)
                        if status.st_size <= FILE_BYTES and not path_problem(path):
                            versions[path] = _version_of(status)
                except OSError:
                    continue  # removed since
        return TreeFiles(versions, gap)

    @contextlib.contextmanager
    def _parent(self, path: str) -> Iterator[int | None]:
        """Open the folder of a path without following a link; None if there is none."""
        problem = path_problem(path)
        if problem:
            raise UnreadableFileError(problem)
        handles: list[int] = []
        try:
            try:
                handles.append(os.open(self.root, _FOLDER))
            except OSError as error:
                raise UnreadableFileError(UNREADABLE) from error
            for part in path.split("/")[:-1]:
                try:
                    handles.append(os.open(part, _FOLDER, dir_fd=handles[-1]))
                except OSError as error:
                    if _is_link(part, handles[-1]):
                        raise UnreadableFileError(LINK) from error
                    _explain(error)
                    yield None
                    return
            yield handles[-1]
        finally:
            for handle in handles:
                os.close(handle)


def _entries(folder: Path) -> list[os.DirEntry[str]] | None:
    """Return what a folder has, in order; None if it cannot be read."""
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError:
        return None


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _status(name: str, folder: int) -> os.stat_result | None:
    """Return the status of a regular file, None if there is nothing."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        _explain(error)
        return None
    _check_regular(status)
    return status


def _check_regular(status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise UnreadableFileError(LINK)
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableFileError("not a file")
    if status.st_size > FILE_BYTES:
        raise UnreadableFileError(f"larger than {FILE_BYTES} bytes")


def _explain(error: OSError) -> None:
    """Return None if the error says that nothing is there; else raise that it is unreadable."""
    if error.errno in _MISSING:
        return
    if error.errno == errno.ELOOP:
        raise UnreadableFileError(LINK) from error
    raise UnreadableFileError("the file cannot be read") from error


def _version_of(status: os.stat_result) -> FileVersion:
    key = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    age = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns)
    return FileVersion(key, age > SETTLED_NANOSECONDS)

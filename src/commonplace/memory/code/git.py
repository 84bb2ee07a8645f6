"""What git knows of a folder: its top, its name, the commit, and the last change of a path.

Everything but the last change is read from files of `.git`, without the program.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess  # runs git, with nothing of the repository executed
from collections.abc import Mapping
from pathlib import Path

from commonplace.memory.anchors import COMMIT, LineRange, last_part
from commonplace.memory.code.protocol import LastChange

GIT_SECONDS = 5.0
_FILE_BYTES = 4_000_000  # of a file of `.git`
_DEEPEST = 5  # references to references
_NAME = re.compile(r"[^\W_][\w .+-]{0,99}")
_REFERENCE = re.compile(r"refs/[A-Za-z0-9][\w./+@-]{0,250}")
_ORIGIN = re.compile(r'\[remote "origin"\]([^\[]*)', re.DOTALL)
_SPARSE = re.compile(r"^\s*sparseCheckout\s*=\s*true\s*$", re.IGNORECASE | re.MULTILINE)
_URL = re.compile(r"^\s*url\s*=\s*(\S.*)$", re.MULTILINE)
# Configuration of a repository can name programs: none of these is needed to read its history.
_HARMLESS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.attributesFile=/dev/null",
    "log.showSignature=false",
    "gpg.program=false",
    "protocol.allow=never",
)


def find_top(folder: Path) -> Path | None:
    """Return the nearest folder above that has `.git`."""
    for place in (folder, *folder.parents):
        if (place / ".git").exists():
            return place
    return None


def is_bare(folder: Path) -> bool:
    """Tell whether a folder is a repository without a checkout: nothing can be compared in it."""
    has_history = (folder / "HEAD").is_file() and (folder / "objects").is_dir()
    return has_history and not (folder / ".git").exists()


def repository_names(top: Path) -> tuple[str, ...]:
    """Return the names of a repository: of its origin, if it has one, and of its folder.

    A linked work tree has the name of its main folder too.
    """
    common = _common_folder(top)
    found = _ORIGIN.search(_read(common, "config"))
    url = _URL.search(found[1]) if found else None
    name = last_part(url[1]) if url else ""
    own = [name] if _NAME.fullmatch(name) else []
    main = [common.parent.name] if common.name == ".git" else []
    return tuple(dict.fromkeys([*own, *main, top.name]))


def is_sparse(top: Path) -> bool:
    """Tell whether some files of the commit are left out of the checkout on purpose."""
    own, common = _git_folder(top), _common_folder(top)
    return any(
        _SPARSE.search(_read(folder, name))
        for folder, name in ((own, "config.worktree"), (common, "config"))
    )


def head_commit(top: Path) -> str:
    """Return the commit that is checked out; empty if that cannot be told."""
    own, common = _git_folder(top), _common_folder(top)
    value = _read(own, "HEAD").strip()
    for _ in range(_DEEPEST):
        if not value.startswith("ref:"):
            break
        name = value.removeprefix("ref:").strip()
        if not _REFERENCE.fullmatch(name) or ".." in name:
            return ""
        value = (_read(own, name) or _read(common, name)).strip() or _find_packed(common, name)
    return value if COMMIT.fullmatch(value) else ""


def last_change(
    top: Path, path: str, since: str = "", lines: LineRange | None = None
) -> LastChange | None:
    """Return the last commit after `since` that touched a path; None where git does not tell.

    Its commit is empty if there is none, so that the change is not committed yet. With the lines
    of a definition as it is now, the last one that touched these, if there is one.
    """
    if shutil.which("git") is None or not (top / ".git").exists():
        return None
    span = f"{since}..HEAD" if COMMIT.fullmatch(since) else "HEAD"
    found = _read_log(top, "--end-of-options", span, "--", path)
    if found is None:
        return last_change(top, path) if since else None  # the commit is not known here
    if not found:
        return LastChange("", "")
    if lines is not None:
        part = f"-L{lines[0]},{lines[1]}:{path}"
        quiet = ("--no-patch", "--no-ext-diff", "--no-textconv")
        found = _read_log(top, *quiet, part, "--end-of-options", span) or found
    commit, _, date = found.partition(" ")
    # To git, the oldest commits of a shallow clone added all their files.
    is_oldest = commit in _read(_common_folder(top), "shallow").split()
    return LastChange(commit, date) if COMMIT.fullmatch(commit) and not is_oldest else None


def _read_log(top: Path, *words: str) -> str | None:
    """Return the first commit of a log and its date, empty if there is none; None if it fails."""
    configuration = [word for setting in _HARMLESS for word in ("-c", setting)]
    command = [shutil.which("git") or "git", "--no-pager", "--literal-pathspecs", *configuration]
    command += ["log", "-1", "--format=%H %cI", "--no-show-signature", *words]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program, its arguments are checked
            command,
            cwd=top,
            env=_environment(top),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout[:200].decode("ascii", "replace").strip() if done.returncode == 0 else None


def _environment(top: Path) -> Mapping[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.environ.get("HOME", ""),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_CEILING_DIRECTORIES": str(top.parent),
    }


def _git_folder(top: Path) -> Path:
    """Return the folder of git; a work tree beside it has a file that names it."""
    place = top / ".git"
    if place.is_dir():
        return place
    text = _read(top, ".git").strip()
    return top / text.removeprefix("gitdir:").strip() if text.startswith("gitdir:") else place


def _common_folder(top: Path) -> Path:
    own = _git_folder(top)
    shared = _read(own, "commondir").strip()
    return Path(os.path.normpath(own / shared)) if shared else own


def _find_packed(folder: Path, name: str) -> str:
    for line in _read(folder, "packed-refs").splitlines():
        commit, _, packed = line.partition(" ")
        if packed == name:
            return commit
    return ""


def _read(folder: Path, name: str) -> str:
    """Return a small regular file as text; empty if there is none."""
    try:
        handle = os.open(folder / name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return ""
    with os.fdopen(handle, "rb") as file:
        return file.read(_FILE_BYTES).decode("utf-8", "replace")

"""Write files of clients and take the writing back, with a copy of what was there before."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from commonplace.cli.connect.json_text import same_tokens
from commonplace.kernel.clock import iso, utc_now
from commonplace.kernel.errors import Code, CommonplaceError, Kind
from commonplace.kernel.json_types import JsonObject
from commonplace.kernel.paths import expand_home

CLIENT_CONFIG = Code(
    "CLIENT_CONFIG_UNREADABLE",
    Kind.INVALID_DATA,
    "A client's configuration file cannot be merged safely.",
)
_COPY_NAME = re.compile(r"\.\d{17}(?:-\d+)?\.bak$")
Change = Literal["created", "changed", "unchanged", "removed", "restored", "kept"]


@dataclass(frozen=True, slots=True)
class ClientFileChange:
    """What became of a file; `backup` is the copy of what was there before."""

    path: Path
    change: Change
    backup: Path | None = None
    note: str = ""

    def as_json(self) -> JsonObject:
        shown: JsonObject = {"path": str(self.path), "change": self.change}
        if self.backup is not None:
            shown["backup"] = str(self.backup)
        return shown | ({"note": self.note} if self.note else {})


def read_client_file(path: Path) -> str:
    """Return the text of a file, empty where there is none. Raises CLIENT_CONFIG_UNREADABLE."""
    try:
        return path.read_bytes().decode("utf-8") if path.exists() else ""
    except UnicodeDecodeError:
        raise unsafe(path, "it is not UTF-8 text") from None


def write_client_file(
    path: Path, text: str, *, executable: bool = False, copy: bool = True
) -> ClientFileChange:
    """Replace a file, unless it has this text already, and keep a copy of the old one."""
    is_new = not path.exists()
    if not is_new and read_client_file(path) == text:
        return ClientFileChange(path, "unchanged")
    backup = _replace(path, text, copy)
    if is_new and executable:
        path.chmod(0o755)
    return ClientFileChange(path, "created" if is_new else "changed", backup)


@dataclass(frozen=True, slots=True)
class Stripped:
    """A text without our part: `rest` has no empty lists and objects where ours may have been.

    `compared` is given where the rest may contain more that came from us, such as a version.
    """

    rest: str
    had_ours: bool
    is_empty: bool
    compared: str = ""

    def says_same(self, other: Stripped) -> bool:
        return same_tokens(self.compared or self.rest, other.compared or other.rest)


Strip = Callable[[str], Stripped]


def take_back(path: Path, strip: Strip) -> ClientFileChange | None:
    """Write what remains of a file without our part; None where it has none.

    A copy from before that says the same in other white space is put back as it was. Where nothing
    remains and no such copy exists, the file was made by us and is deleted. The copy that was put
    back is deleted with those made after it that have only our part in addition, such as a key.
    """
    if not path.exists():
        return None
    stripped = strip(read_client_file(path))
    if not stripped.had_ours:
        return None
    copies = list(_read_copies(path, strip))
    from_before = [copy for copy in copies if not copy.stripped.had_ours]
    same = [copy for copy in copies if stripped.says_same(copy.stripped)]
    restored = next((copy for copy in same if not copy.stripped.had_ours), None)
    if restored is not None:
        _replace(path, restored.text, copy=False)
        for copy in same[: same.index(restored) + 1]:
            copy.path.unlink()
        return ClientFileChange(path, "restored")
    if stripped.is_empty and not from_before and stripped.rest.strip() in ("", "{}"):
        path.resolve().unlink()
        remove_empty_folders(path.parent)
        return ClientFileChange(path, "removed")
    return ClientFileChange(path, "changed", _replace(path, stripped.rest))


@dataclass(frozen=True, slots=True)
class _Copy:
    path: Path
    text: str
    stripped: Stripped


def _read_copies(path: Path, strip: Strip) -> Iterator[_Copy]:
    """Yield the copies that this command made of a file, the newest first."""
    found = path.parent.glob(f"{glob.escape(path.name)}.*.bak")
    made = (copy for copy in found if _COPY_NAME.search(copy.name))
    for copy in sorted(made, reverse=True):
        with contextlib.suppress(CommonplaceError):  # somebody changed it
            text = read_client_file(copy)
            yield _Copy(copy, text, strip(text))


def take_back_owned(path: Path, is_ours: Callable[[str], bool]) -> ClientFileChange | None:
    """Delete a file that is wholly ours, and folders that are empty then."""
    if not path.exists():
        return None
    if not is_ours(read_client_file(path)):
        return ClientFileChange(path, "kept", note="it is not ours")
    path.unlink()
    remove_empty_folders(path.parent)
    return ClientFileChange(path, "removed")


def remove_empty_folders(folder: Path) -> None:
    """Delete a folder and those above it that are empty, below home and the working directory."""
    kept = (expand_home("~"), Path.cwd())
    for place in (folder, *folder.parents)[:3]:
        if place in kept or any(place.iterdir()):
            return
        place.rmdir()


def unsafe(path: Path, why: str) -> CommonplaceError:
    return CommonplaceError(
        CLIENT_CONFIG,
        f"{path} was not changed: {why}.",
        hint="Run with --dry-run and paste the entry yourself.",
    )


def _replace(path: Path, text: str, copy: bool = True) -> Path | None:
    """Replace a file atomically and return the path of the copy of the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    backup, mode = None, 0o600
    target = path.resolve()  # keep a dotfile that is a symbolic link
    if target.exists():
        backup = _copy(target, path) if copy else None
        mode = target.stat().st_mode & 0o777
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    temporary.write_bytes(text.encode())
    temporary.chmod(mode)
    temporary.replace(target)
    return backup


def _copy(target: Path, path: Path) -> Path:
    stamp = re.sub(r"[^0-9]", "", iso(utc_now()))
    backup = path.with_name(f"{path.name}.{stamp}.bak")
    number = 1
    while backup.exists():
        number += 1
        backup = path.with_name(f"{path.name}.{stamp}-{number}.bak")
    shutil.copy2(target, backup)
    return backup

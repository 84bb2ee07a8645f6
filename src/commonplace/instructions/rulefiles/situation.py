"""The values of a look at rule files: a situation goes in, a loading comes out."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from commonplace.kernel.json_types import Json


class ClientEvent(StrEnum):
    """What the client is doing when it loads rules."""

    START = "start"
    READ = "read"
    WRITE = "write"
    COMPACT = "compact"


class RuleTree(Protocol):
    """Read-only view of a repository, the user's home (`~/`) and the managed level.

    Paths use `/`; the top of the repository is `.`. A path that leaves the three roots, or is
    not a regular file, does not exist.
    """

    def read(self, path: str) -> bytes | None: ...

    def exists(self, path: str) -> bool: ...

    def names(self, folder: str) -> tuple[str, ...]: ...

    def files_below(self, folder: str) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class ClientSituation:
    """A client at work: where it was started, which path it touches, how it is configured."""

    cwd: str = "."
    target: str | None = None
    event: ClientEvent = ClientEvent.START
    settings: Mapping[str, Json] = field(default_factory=dict)

    @property
    def touched(self) -> str | None:
        """The path that is read or written now; none at the start and after compaction."""
        return self.target if self.event in (ClientEvent.READ, ClientEvent.WRITE) else None


@dataclass(frozen=True, slots=True)
class LoadedRule:
    """A file whose text is in the client's context."""

    path: str
    text: str
    reason: str
    cut: str = ""


@dataclass(frozen=True, slots=True)
class IgnoredRule:
    """A rule file that the client leaves out, and why."""

    path: str
    reason: str


@dataclass(slots=True)
class Loading:
    """What a client loads, in its order. A path is loaded or ignored once."""

    rules: list[LoadedRule] = field(default_factory=list)
    _ignored: dict[str, IgnoredRule] = field(default_factory=dict)
    _loaded_paths: set[str] = field(default_factory=set)

    @property
    def ignored(self) -> tuple[IgnoredRule, ...]:
        """The rules that were left out, and were not loaded for another reason later."""
        return tuple(rule for rule in self._ignored.values() if not self.has(rule.path))

    def add(self, path: str, text: str, reason: str, cut: str = "") -> None:
        if not self.has(path):
            self._loaded_paths.add(path)
            self.rules.append(LoadedRule(path, text, reason, cut))

    def ignore(self, path: str, reason: str) -> None:
        self._ignored.setdefault(path, IgnoredRule(path, reason))

    def has(self, path: str) -> bool:
        return path in self._loaded_paths


def join(folder: str, name: str) -> str:
    """Join a folder and a name; `.` is the top of the repository."""
    return name if folder in (".", "") else f"{folder}/{name}"


def parent(path: str) -> str:
    return posixpath.dirname(path) or "."


def folders_between(top: str, folder: str) -> list[str]:
    """List the folders from `top` down to `folder`, both included; empty if it is not inside."""
    chain = [folder]
    while chain[-1] != top:
        if chain[-1] == ".":
            return []
        chain.append(parent(chain[-1]))
    return chain[::-1]


def marked_root(tree: RuleTree, folder: str, markers: tuple[str, ...]) -> str | None:
    """Find the nearest folder from `folder` upwards that holds one of the markers."""
    while True:
        if any(tree.exists(join(folder, marker)) for marker in markers):
            return folder
        if folder == ".":
            return None
        folder = parent(folder)


def decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def read_text(tree: RuleTree, path: str) -> str | None:
    data = tree.read(path)
    return None if data is None else decode(data)

"""Which repository a name means: a folder below the configured roots, or a stored project."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from commonplace.kernel.auth import Tenant
from commonplace.kernel.paths import working_folder
from commonplace.memory.anchors import is_one_of
from commonplace.memory.code.checkout import CheckoutTree
from commonplace.memory.code.git import find_top, is_bare, repository_names
from commonplace.memory.code.protocol import CodeTree, StoredProjects, UnreadableFileError

LISTED_SECONDS = 30.0  # how long the repositories in a root are kept
MOST_LISTED = 1_000  # folders of a root


@dataclass(slots=True)
class Repositories:
    """Folders and projects that anchors may be compared with.

    A root is a repository, or a folder of repositories. `local` callers may also use the
    repository around their working folder. With `given`, only that folder is used, under the
    names that `names` has. Capitals count only where two names differ in nothing else.
    """

    roots: tuple[Path, ...] = ()
    local: bool = False
    projects: StoredProjects | None = None
    given: Path | None = None
    names: tuple[str, ...] = ()
    _names: dict[Path, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    _listed: dict[Path, tuple[float, Mapping[str, Path]]] = field(default_factory=dict)

    def find(self, tenant: Tenant, name: str) -> CodeTree | None:
        """Return the repository of a name; None if there is none here."""
        if self.given is not None:
            return CheckoutTree(self.given) if is_one_of(name, self.names) else None
        folder = self._folder(name)
        if folder is not None:
            return CheckoutTree(folder)
        return self.projects.find(tenant, name) if self.projects is not None else None

    def around(self) -> Path | None:
        """Return the top of the repository around a local caller, else its working folder."""
        if self.given is not None:
            return self.given
        if not self.local:
            return None
        try:
            here = Path(os.path.realpath(working_folder()))
        except OSError:
            return None  # the working folder was removed
        return find_top(here) or here

    def name_of(self, top: Path) -> str:
        """Return the name of a repository."""
        return self.names[0] if self.names else self._names_of(top)[0]

    def _folder(self, name: str) -> Path | None:
        around = self.around()
        tops: tuple[Path, ...] = (around,) if around is not None else ()
        roots = tuple(Path(os.path.realpath(root)) for root in self.roots)
        whole = [top for top in (*tops, *roots) if top.is_dir() and not is_bare(top)]
        for top in whole:
            if name in self._names_of(top):
                return top
        for root in roots:
            inside = root / name
            if inside.is_dir() and not inside.is_symlink() and not is_bare(inside):
                return inside
        own = [top for top in tops if (top / ".git").exists()]  # else any folder, such as the home
        listed = [self._list(top) for top in (*own, *roots)]
        by_origin = (names[name] for names in listed if name in names)
        whole_in_capitals = (top for top in whole if is_one_of(name, self._names_of(top)))
        plain = name.casefold()
        in_capitals = (names[plain] for names in listed if plain in names)
        return next(chain(by_origin, whole_in_capitals, in_capitals), None)

    def _list(self, root: Path) -> Mapping[str, Path]:
        """Return the checkouts in a folder by their names, also in small letters.

        As they were at most LISTED_SECONDS ago.
        """
        kept = self._listed.get(root)
        if kept is None or time.monotonic() - kept[0] >= LISTED_SECONDS:
            named = [(name, top) for top in _checkouts_in(root) for name in self._names_of(top)]
            found: dict[str, Path] = {}
            for name, top in (*named, *((name.casefold(), top) for name, top in named)):
                found.setdefault(name, top)
            kept = self._listed[root] = (time.monotonic(), found)
        return kept[1]

    def _names_of(self, top: Path) -> tuple[str, ...]:
        """Return the names of a folder, read again when its `.git` changed."""
        try:
            changed = (top / ".git" / "config").stat().st_mtime_ns
        except OSError:
            changed = 0
        kept = self._names.get(top)
        if kept is None or kept[0] != changed:
            kept = self._names[top] = (changed, repository_names(top))
        return kept[1]


def _checkouts_in(root: Path) -> Iterator[Path]:
    """Yield the checkouts in a folder in order: its submodules if it is a repository itself."""
    try:
        if (root / ".git").exists():
            names = CheckoutTree(root).submodules()
        else:
            with os.scandir(root) as found:
                names = sorted(entry.name for entry in found if entry.is_dir())
    except (OSError, UnreadableFileError):
        return
    for top in (root / name for name in names[:MOST_LISTED]):
        is_link = os.path.realpath(top) != str(top)  # or a folder on the way to it
        if not is_link and (top / ".git").exists():
            yield top

"""Which repository a name means: a folder below the configured roots, or a stored project."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from commonplace.kernel.auth import Tenant
from commonplace.kernel.paths import working_folder
from commonplace.memory.code.checkout import CheckoutTree
from commonplace.memory.code.git import find_top, is_bare, repository_names
from commonplace.memory.code.protocol import CodeTree, StoredProjects


@dataclass(slots=True)
class Repositories:
    """Folders and projects that anchors may be compared with.

    A root is a repository, or a folder of repositories. `local` callers may also use the
    repository around their working folder. With `given`, only that folder is used, under the
    names that `names` has.
    """

    roots: tuple[Path, ...] = ()
    local: bool = False
    projects: StoredProjects | None = None
    given: Path | None = None
    names: tuple[str, ...] = ()
    _names: dict[Path, tuple[int, tuple[str, ...]]] = field(default_factory=dict)

    def find(self, tenant: Tenant, name: str) -> CodeTree | None:
        """Return the repository of a name; None if there is none here."""
        if self.given is not None:
            return CheckoutTree(self.given) if name in self.names else None
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
        for root in (*tops, *roots):
            if root.is_dir() and not is_bare(root) and name in self._names_of(root):
                return root
        for root in roots:
            inside = root / name
            if inside.is_dir() and not inside.is_symlink() and not is_bare(inside):
                return inside
        return None

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

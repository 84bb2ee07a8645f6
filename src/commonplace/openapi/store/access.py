"""Which files and hosts the openapi tools may touch."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.paths import expand_home, start_at_folder, working_folder
from commonplace.openapi.errors import PATH_NOT_ALLOWED, SPEC_NOT_FOUND
from commonplace.openapi.store.url_rules import UrlRules


@dataclass(frozen=True, slots=True)
class Access:
    """Folders and hosts that this server may use.

    `local` means stdio or the command line: the caller may read any file of their own. Over HTTP,
    files are read inside `roots` only. Files are written inside `roots`, and for a local caller
    also inside the working folder.
    """

    local: bool = True
    roots: tuple[Path, ...] = ()
    allow_hosts: tuple[str, ...] = ()
    working_folder: Path | None = None
    url_timeout_seconds: float = 20.0

    @property
    def url_rules(self) -> UrlRules:
        """Return the rules for fetching by URL."""
        return UrlRules(
            local=self.local, allow_hosts=self.allow_hosts, timeout_seconds=self.url_timeout_seconds
        )

    def resolve_readable(self, path: str) -> Path:
        """Return the real path of a file that may be read."""
        real = _resolve(path, self.working_folder)
        if not self.local and not any(_is_inside(real, folder) for folder in self._folders()):
            raise self._refusal(path, "read")
        return real

    def resolve_referenced(self, path: str, origin: Path) -> Path:
        """Return the real path of a file that the document at `origin` may refer to.

        It is beside or below the document, in the working folder, or in a root.
        """
        real = _resolve(path, None)
        allowed = (*self._folders(), *((origin.parent,) if self.local else ()))
        if not any(_is_inside(real, folder) for folder in allowed):
            raise self._refusal(path, "read")
        return real

    def resolve_writable(self, path: str) -> Path:
        """Return the real path of a file or folder that may be written.

        It need not exist; symlinks in the path are followed before the check.
        """
        real = _resolve(path, self.working_folder)
        if not any(_is_inside(real, folder) for folder in self._folders()):
            raise self._refusal(path, "write")
        return real

    def _folders(self) -> tuple[Path, ...]:
        own = (self.working_folder or working_folder(),) if self.local else ()
        return tuple(Path(os.path.realpath(folder)) for folder in (*self.roots, *own))

    def _refusal(self, path: str, verb: str) -> CommonplaceError:
        name = Path(path).name[:100]
        hint = (
            "Pass the document as content."
            if verb == "read"
            else "Leave `output` out to get the document in the answer."
        )
        if self.local:
            hint = f"Stay inside the working folder, or add a root in the configuration. {hint}"
        return CommonplaceError(
            PATH_NOT_ALLOWED, f"{name!r} is outside the folders this server may {verb}.", hint=hint
        )


def _resolve(path: str, start: Path | None) -> Path:
    if "\0" in path or not path:
        raise CommonplaceError(SPEC_NOT_FOUND, "The path is empty or contains a NUL character.")
    place = expand_home(path)
    return Path(os.path.realpath(start / place if start is not None else start_at_folder(place)))


def _is_inside(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents

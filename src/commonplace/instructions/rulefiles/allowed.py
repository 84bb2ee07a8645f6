"""Folders whose rule files may be read for a caller."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from commonplace.instructions.errors import REPOSITORY_NOT_ALLOWED
from commonplace.instructions.rulefiles.tree import FolderTree
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.paths import expand_home, start_at_folder, working_folder

LONGEST_PATH = 4_096


@dataclass(frozen=True, slots=True)
class RuleFolders:
    """Where repositories may be: below `roots`, and for a local caller in the working folder.

    `anywhere` is for commands that a person runs.
    """

    roots: tuple[Path, ...] = ()
    local: bool = False
    anywhere: bool = False

    def open(self, repo: str) -> FolderTree:
        """Return the tree of a repository. Symbolic links are followed before the check.

        Raises REPOSITORY_NOT_ALLOWED, also for a folder that does not exist: what is outside is
        not told.
        """
        if not repo or "\0" in repo or len(repo) > LONGEST_PATH:
            raise CommonplaceError(
                INVALID_ARGUMENT, "The repository is not a folder.", details={"field": "repo"}
            )
        real = Path(os.path.realpath(start_at_folder(expand_home(repo))))
        if not self.anywhere and not any(
            real == folder or folder in real.parents for folder in self._folders()
        ):
            raise self._refusal()
        if not real.is_dir():
            raise CommonplaceError(
                INVALID_ARGUMENT,
                "The repository is not a folder.",
                hint="Name a folder that exists.",
                details={"field": "repo"},
            )
        return FolderTree(real)

    def _folders(self) -> tuple[Path, ...]:
        own = (working_folder(),) if self.local else ()
        return tuple(Path(os.path.realpath(folder)) for folder in (*self.roots, *own))

    def _refusal(self) -> CommonplaceError:
        hint = "Add the folder to settings.mcp.instructions.roots."
        if self.local:
            hint = f"Stay inside the working folder. {hint}"
        return CommonplaceError(
            REPOSITORY_NOT_ALLOWED,
            "The repository is outside the folders whose rule files this server may read.",
            hint=hint,
            details={"field": "repo"},
        )

"""Keep a folder and the catalogue of a team in step, both ways."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from commonplace.instructions.engine.mirror import MirrorConflict, MirrorPlan, Side, plan_mirror
from commonplace.instructions.errors import CONFIRMATION_REQUIRED
from commonplace.instructions.model import Author, InstructionChange
from commonplace.instructions.store.mirror_folder import DOCUMENTS, MirrorFolder
from commonplace.instructions.store.postgres.files import InstructionFile
from commonplace.kernel.errors import CommonplaceError

if TYPE_CHECKING:
    from commonplace.instructions.store.postgres.catalogue import PostgresCatalogueStore
    from commonplace.instructions.store.postgres.contents import SharedContents

ACTION = "sync"
GROUP_SIZE = 200  # files that share a transaction
SAFE_REMOVALS = 10  # more need a confirmation if they are most of a side


@dataclass(slots=True)
class MirrorReport:
    """What a synchronisation did. Names are those of files."""

    to_database: list[str] = field(default_factory=list)
    to_folder: list[str] = field(default_factory=list)
    removed_from_database: list[str] = field(default_factory=list)
    removed_from_folder: list[str] = field(default_factory=list)
    conflicts: dict[str, str] = field(default_factory=dict)  # what happened on each side
    invalid: dict[str, str] = field(default_factory=dict)  # why a file was not stored
    in_step: int = 0

    @property
    def changed(self) -> bool:
        """Tell whether a side was changed."""
        return bool(
            self.to_database
            or self.to_folder
            or self.removed_from_database
            or self.removed_from_folder
        )

    @property
    def problems(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the conflicts and the files that are not valid."""
        return self.conflicts, self.invalid

    def add(self, later: MirrorReport) -> None:
        """Add what a later round did; conflicts and problems are those of the last round."""
        self.to_database += later.to_database
        self.to_folder += later.to_folder
        self.removed_from_database += later.removed_from_database
        self.removed_from_folder += later.removed_from_folder
        self.conflicts, self.invalid = later.conflicts, later.invalid
        self.in_step = later.in_step


class CatalogueMirror:
    """A folder and the shared catalogue."""

    def __init__(
        self,
        store: PostgresCatalogueStore,
        contents: SharedContents,
        folder: MirrorFolder,
        author: Author,
        *,
        prefer: Side | None = None,
        allow_removals: bool = False,
    ) -> None:
        self._store = store
        self._contents = contents
        self._folder = folder
        self._author = author
        self._prefer = prefer
        self._allow_removals = allow_removals

    def compare(self) -> MirrorPlan:
        """Compare both sides. Raises CONFIRMATION_REQUIRED if most of a side would be removed."""
        folder, database = self._folder.hashes(), self._contents.hashes()
        plan = plan_mirror(self._folder.load_state(), folder, database, self._prefer)
        if not self._allow_removals:
            _check_removals("database", len(plan.removed_from_database), len(database))
            _check_removals("folder", len(plan.removed_from_folder), len(folder))
        return plan

    def apply(self, plan: MirrorPlan) -> MirrorReport:
        """Carry out a plan; what changed meanwhile is left to the next one."""
        report = MirrorReport()
        base = {**self._folder.load_state(), **plan.same}
        self._update_database(plan, report)
        self._update_folder(plan, report)
        for conflict in plan.conflicts:
            self._keep_conflict(conflict, report)
        ours, theirs = self._folder.hashes(), self._contents.hashes()
        base |= {name: digest for name, digest in ours.items() if theirs.get(name) == digest}
        for name in [name for name in base if name not in ours and name not in theirs]:
            del base[name]
        self._folder.save_state(base)
        for name in plan.same.keys() | {*report.to_database, *report.to_folder}:
            self._folder.drop_copy(name, "database")
        report.in_step = sum(theirs.get(name) == digest for name, digest in ours.items())
        return report

    def _update_database(self, plan: MirrorPlan, report: MirrorReport) -> None:
        if not plan.to_database and not plan.removed_from_database:
            return
        store = self._store
        with store.exclusive():
            current = self._contents.hashes()
            files = []
            for name in plan.to_database:
                content = self._folder.read(name)
                if content is None or current.get(name) != plan.database.get(name):
                    continue  # changed since the comparison
                problem = self._contents.check(name, content)
                if problem is not None:
                    report.invalid[name] = problem
                    continue
                if name in DOCUMENTS:
                    store.commit_document(name, content, self._author)
                else:
                    modified_ns = self._folder.modified_ns(name)
                    files.append(InstructionFile(name[:-5], content, modified_ns, ACTION))
                report.to_database.append(name)
            for start in range(0, len(files), GROUP_SIZE):
                store.commit_files(files[start : start + GROUP_SIZE], self._author)
            self._remove_from_database(plan, current, report)

    def _remove_from_database(
        self,
        plan: MirrorPlan,
        current: dict[str, str],
        report: MirrorReport,
    ) -> None:
        removals = []
        for name in plan.removed_from_database:
            if current.get(name) != plan.database.get(name) or self._folder.read(name) is not None:
                continue
            if name in DOCUMENTS:
                self._store.commit_document(name, None, self._author)
            else:
                removals.append(InstructionChange(name[:-5], None, None, ACTION))
            report.removed_from_database.append(name)
        self._store.commit(removals, self._author)

    def _update_folder(self, plan: MirrorPlan, report: MirrorReport) -> None:
        contents = self._contents.read(plan.to_folder)
        for name, (content, modified_ns) in contents.items():
            replaced = self._folder.read(name) if self._prefer == "database" else None
            if self._folder.write(name, content, modified_ns, plan.folder.get(name)):
                report.to_folder.append(name)
                if replaced is not None:
                    self._folder.keep_copy(name, "folder", replaced)
        for name in plan.removed_from_folder:
            replaced = self._folder.read(name) if self._prefer == "database" else None
            if self._folder.delete(name, plan.folder.get(name)):
                report.removed_from_folder.append(name)
                if replaced is not None:
                    self._folder.keep_copy(name, "folder", replaced)

    def _keep_conflict(self, conflict: MirrorConflict, report: MirrorReport) -> None:
        """Leave both sides as they are, with the database's version beside the files."""
        report.conflicts[conflict.name] = conflict.describe()
        stored = self._contents.read([conflict.name]).get(conflict.name)
        if stored is not None:
            self._folder.keep_copy(conflict.name, "database", stored[0])


def _check_removals(side: str, removals: int, present: int) -> None:
    if removals > SAFE_REMOVALS and removals * 2 > present:
        raise CommonplaceError(
            CONFIRMATION_REQUIRED,
            f"Synchronising would remove {removals} of {present} files from the {side}.",
            hint="If that is meant, repeat the command with --allow-removals.",
            details={"side": side, "removals": removals, "present": present},
        )

"""Import many entries; each one succeeds or fails on its own."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from commonplace.instructions.engine.catalogue import Catalogue
from commonplace.instructions.engine.entry.checks import EntryRefused, check_id
from commonplace.instructions.engine.entry.compose import compose, warnings_of
from commonplace.instructions.model import Author, Instruction, InstructionChange
from commonplace.instructions.results.writing import EntryWarning, ImportFailure, ImportResult
from commonplace.instructions.use_cases.adding import (
    hold_for_review,
    prepare_entry,
    refuse_archived,
    refuse_unreadable_file,
)
from commonplace.instructions.use_cases.committing import (
    GROUP_SIZE,
    check_expected_hash,
    commit_each,
)
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.instructions.use_cases.rule_files.policy import review_hidden_text
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import CommonplaceError, Kind
from commonplace.kernel.json_types import Json
from commonplace.kernel.progress import Report, report_nothing

MAX_GROUP_SIZE = 1000


@dataclass(frozen=True, slots=True)
class EntryImportOptions:
    """How to import: `mode` is skip, overwrite or merge for ids that exist."""

    mode: str = "skip"
    validate: bool = True
    batch_size: int | None = None
    expected_hash: str | None = None


def import_entries(
    parts: CatalogueParts,
    caller: AuthContext,
    entries: Sequence[Json],
    options: EntryImportOptions,
    report: Report = report_nothing,
) -> ImportResult:
    """Write entries in groups; report failures with their place in the list."""
    started = time.perf_counter()
    group_size = max(1, min(options.batch_size or GROUP_SIZE, MAX_GROUP_SIZE))
    with parts.store.exclusive() as catalogue:
        check_expected_hash(options.expected_hash, None, catalogue.hash)
        run = _ImportRun(parts, Author.of(caller), entries, options, catalogue)
        for index, entry in enumerate(entries):
            report("Rules read", index, len(entries))
            run.plan(index, entry)
            if len(run.planned) >= group_size:
                run.write()
        run.write()
        catalogue_hash = catalogue.hash
    return ImportResult(
        catalogue_hash,
        len(entries),
        run.counts["imported"],
        run.counts["skipped"],
        run.counts["overwritten"],
        sorted(run.failures, key=lambda failure: failure.index),
        run.warnings,
        round((time.perf_counter() - started) * 1000, 3),
        run.held,
        frozenset(run.proposed),
    )


@dataclass(slots=True)
class _ImportRun:
    """State of one import: planned changes by id with their place, and what became of others."""

    parts: CatalogueParts
    author: Author
    entries: Sequence[Json]
    options: EntryImportOptions
    catalogue: Catalogue
    planned: dict[str, tuple[int, InstructionChange]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[ImportFailure] = field(default_factory=list)
    warnings: list[EntryWarning] = field(default_factory=list)
    held: dict[int, str] = field(default_factory=dict)
    proposed: set[int] = field(default_factory=set)

    def plan(self, index: int, entry: Json) -> None:
        """Plan the change for one entry, or record why it is skipped or fails."""
        try:
            self._plan(index, entry)
        except EntryRefused as refused:
            self._fail(index, refused.problem.error, refused.problem.hint)
        except CommonplaceError as error:
            if error.code.kind is Kind.UNAVAILABLE:
                raise
            self._fail(index, error.code.name.lower(), error.message)

    def _plan(self, index: int, entry: Json) -> None:
        if not isinstance(entry, Mapping):
            raise EntryRefused("missing entry", "Each entry is an object with id and body.")
        id_, mode, store = check_id(entry), self.options.mode, self.parts.store
        if id_ in self.planned:  # the second of two entries with one id must see the first
            self.write()
        store.refresh(id_)
        existing = self.catalogue.get(id_)
        if existing is not None and mode == "skip":
            self.counts["skipped"] += 1
            return
        if existing is None:
            refuse_archived(store, id_)
            if mode != "overwrite":
                refuse_unreadable_file(store, id_)
        concealed = review_hidden_text(entry, self.parts.governance.hidden_text)
        change = self._prepare(index, entry, existing)
        if change is None:
            return
        self.planned[id_] = (index, change)
        warnings = warnings_of(
            entry, existing if mode == "merge" else None, lax=True, rules=self.parts.rules
        )
        warnings += concealed
        self.warnings += [EntryWarning(index, id_, warning) for warning in warnings]

    def _prepare(
        self, index: int, entry: Mapping[str, Json], existing: Instruction | None
    ) -> InstructionChange | None:
        """Return the change; None if it was proposed instead, and counts as skipped."""
        # An import sets the times of creation itself (docs/reference/contracts/instructions.md).
        given = {key: value for key, value in entry.items() if key != "createdAt"}
        document = compose(
            given,
            existing,
            lax=True,
            origin=self.parts.origin(self.author),
            rules=self.parts.rules,
            keep_omitted=self.options.mode == "merge",
            checked=self.options.validate,
        )
        notes = hold_for_review(self.parts, self.author, existing, document)
        if existing is not None and notes is None:
            from commonplace.instructions.use_cases.review.submitting import propose_once

            propose_once(self.parts, self.author, existing, given)
            note = "Proposed: it takes effect when somebody approves it."
            self.held[index] = note
            self.proposed.add(index)
            self.warnings.append(EntryWarning(index, existing.id, note))
            self.counts["skipped"] += 1
            return None
        self.warnings += [EntryWarning(index, str(entry["id"]), note) for note in notes or ()]
        if notes:
            self.held[index] = notes[0]
        return prepare_entry(document, f"import:{self.options.mode}", self.parts.rules)

    def write(self) -> None:
        """Commit the planned changes. Raises if nothing can be written at all."""
        if not self.planned:
            return
        existed = {id_ for id_ in self.planned if self.catalogue.get(id_) is not None}
        changes = [change for _, change in self.planned.values()]
        failures = commit_each(self.parts.store, changes, self.author)
        none_written = not self.counts["imported"] + self.counts["overwritten"]
        if failures and len(failures) == len(self.planned) and none_written:
            raise next(iter(failures.values()))
        for id_, (index, _) in self.planned.items():
            if id_ in failures:
                self._fail(index, "unwritable", str(failures[id_]))
            else:
                self.counts["overwritten" if id_ in existed else "imported"] += 1
        self.planned.clear()

    def _fail(self, index: int, error: str, hint: str) -> None:
        entry = self.entries[index]
        id_ = entry.get("id") if isinstance(entry, Mapping) else None
        self.failures.append(
            ImportFailure(index, id_ if isinstance(id_, str) else None, error, hint)
        )

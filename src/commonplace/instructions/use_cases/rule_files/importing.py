"""Import the rule files of a repository: every file is accounted for."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from commonplace.instructions.adapters.discovery import ExaminedFile, examine
from commonplace.instructions.adapters.entries import (
    entry_of,
    find_unusable_globs,
    kept_of,
    rule_of,
)
from commonplace.instructions.adapters.naming import candidate_id, numbered
from commonplace.instructions.adapters.reading import NO_TEXT, FoundRule, RuleReading
from commonplace.instructions.model import RuleOrigin
from commonplace.instructions.rulefiles.scan import ScanFinding
from commonplace.instructions.use_cases.importing import EntryImportOptions, import_entries
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.instructions.use_cases.rule_files.policy import (
    HiddenText,
    find_hidden_text,
    is_blocked,
)
from commonplace.instructions.use_cases.rule_files.repository import RuleRepository
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.json_types import Json, JsonObject

IMPORTED, UPDATED, UNCHANGED, KEPT = "imported", "updated", "unchanged", "kept"
CONFLICT, BLOCKED, FAILED, SKIPPED = "conflict", "blocked", "failed", "skipped"
PROPOSED = "proposed"
WRITTEN = (IMPORTED, UPDATED)


@dataclass(frozen=True, slots=True)
class RuleImportOptions:
    """How to import. `overwrite` lets files win over changes made in the catalogue."""

    repository: str = ""
    dry_run: bool = False
    overwrite: bool = False
    update: bool = True


@dataclass(frozen=True, slots=True)
class RuleFileOutcome:
    """What became of a file, or of one of the rules in it."""

    path: str
    status: str
    client: str = ""
    id: str | None = None
    line: int = 1
    reason: str = ""
    notes: tuple[str, ...] = ()
    findings: tuple[ScanFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleImportReport:
    """Every file of the folder, in order of path, with what became of it."""

    files: tuple[RuleFileOutcome, ...]

    @property
    def counts(self) -> Counter[str]:
        return Counter(outcome.status for outcome in self.files)


@dataclass(slots=True)
class CatalogueRules:
    """The rules of the catalogue by id and by origin."""

    documents: Mapping[str, Mapping[str, Json]]
    by_origin: dict[tuple[str, str, str], list[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, parts: CatalogueParts) -> CatalogueRules:
        """Read every rule of the catalogue."""
        parts.store.open()
        entries, _ = parts.store.snapshot()
        rules = cls({entry.id: entry.document.whole() for entry in entries})
        for id_, document in rules.documents.items():
            origin = RuleOrigin.of(document)
            if origin is not None:
                rules.by_origin.setdefault(origin_key(origin), []).append(id_)
        return rules

    def hash_of(self, id_: str) -> str:
        """Hash what a rule file could say of a rule."""
        return rule_of(self.documents[id_]).hash

    def is_edited(self, id_: str) -> bool:
        """Tell whether a rule was changed in the catalogue after its import."""
        return kept_of(self.documents[id_]).get("base") != self.hash_of(id_)


def origin_key(origin: RuleOrigin) -> tuple[str, str, str]:
    return origin.repository, origin.client, origin.file


def import_rule_files(
    parts: CatalogueParts,
    caller: AuthContext,
    repository: RuleRepository,
    options: RuleImportOptions,
    catalogue: CatalogueRules | None = None,
) -> RuleImportReport:
    """Import every rule file below a folder. A file that did not change is left alone."""
    survey = repository.survey()
    examined = examine(repository.tree, survey.files)
    known = catalogue or CatalogueRules.read(parts)
    run = _RuleImport(known, options, parts.governance.hidden_text)
    for file in examined:
        run.plan_file(file)
    if not options.dry_run:
        run.write(parts, caller)
    left_out = [RuleFileOutcome(path, SKIPPED, reason=reason) for path, reason in survey.left_out]
    return RuleImportReport(
        tuple(sorted([*run.outcomes, *left_out], key=lambda file: (file.path, file.line)))
    )


@dataclass(slots=True)
class _RuleImport:
    """State of one import: what becomes of each file, and the entries to write."""

    catalogue: CatalogueRules
    options: RuleImportOptions
    hidden_text: HiddenText
    outcomes: list[RuleFileOutcome] = field(default_factory=list)
    entries: list[JsonObject] = field(default_factory=list)
    _places: list[int] = field(default_factory=list)  # of the outcomes of the entries
    _taken: set[str] = field(default_factory=set)
    _reserved: set[str] = field(init=False)  # ids that a new rule cannot have
    _planned: dict[str, tuple[int, FoundRule]] = field(default_factory=dict)
    """Rules with markers that are written, with the places of their entries."""

    def __post_init__(self) -> None:
        self._reserved = set(self.catalogue.documents)

    def plan_file(self, file: ExaminedFile) -> None:
        """Decide about the rules of one file."""
        reading = file.reading
        if reading is None:
            self.outcomes.append(RuleFileOutcome(file.path, SKIPPED, reason=file.reason))
        elif reading.problem:
            status = SKIPPED if reading.problem == NO_TEXT else FAILED
            outcome = RuleFileOutcome(
                file.path, status, reading.client, reason=reading.problem, notes=reading.notes
            )
            self.outcomes.append(outcome)
        else:
            for found in reading.rules:
                self._plan_rule(file, reading, found)

    def _plan_rule(self, file: ExaminedFile, reading: RuleReading, found: FoundRule) -> None:
        origin = make_origin(file, reading.client, found, self.options.repository)
        unusable = find_unusable_globs(found.rule)
        notes = [*reading.notes, *(f"{glob}: {why}" for glob, why in unusable.items())]
        outcome = RuleFileOutcome(
            file.path,
            IMPORTED,
            reading.client,
            None,
            found.line,
            notes=tuple(notes),
            findings=find_hidden_text(found.rule.text + "\n" + found.rule.description),
        )
        if found.id in self._planned:
            self._plan_copy(replace(outcome, id=found.id), found)
            return
        id_, known = self._identify(file.path, found, origin)
        self._decide(replace(outcome, id=id_), found, origin, known)

    def _plan_copy(self, outcome: RuleFileOutcome, found: FoundRule) -> None:
        """Decide about another copy of a rule that this import brings, as exports write them."""
        place, first = self._planned[str(found.id)]
        reason = f"a copy of {self.outcomes[self._places[place]].path}"
        if not found.rule.dialect and found.rule.text == first.rule.text and found.rule.globs:
            # One rule about several folders has a copy in each.
            globs = tuple(dict.fromkeys((*first.rule.globs, *found.rule.globs)))
            merged = replace(first, rule=replace(first.rule, globs=globs))
            self._planned[str(found.id)] = (place, merged)
            origin = RuleOrigin(**self.entries[place]["origin"])
            self.entries[place] = entry_of(merged.rule, str(found.id), origin)
        elif not found.intact and found.rule.hash != first.rule.hash:
            reason = f"it differs from {self.outcomes[self._places[place]].path}"
            self.outcomes.append(replace(outcome, status=CONFLICT, reason=reason))
            return
        self.outcomes.append(replace(outcome, status=KEPT, reason=reason))

    def _decide(
        self, outcome: RuleFileOutcome, found: FoundRule, origin: RuleOrigin, known: bool
    ) -> None:
        id_ = str(outcome.id)
        status, reason = IMPORTED, ""
        if known:
            status, reason = self._compare(id_, found, origin)
        if status in WRITTEN and is_blocked(outcome.findings, self.hidden_text):
            status, reason = BLOCKED, "it hides text, and the policy refuses that"
        self.outcomes.append(replace(outcome, status=status, reason=reason))
        if status in WRITTEN:
            if found.id is not None:
                self._planned[id_] = (len(self.entries), found)
            self._places.append(len(self.outcomes) - 1)
            self.entries.append(
                with_extensions(entry_of(found.rule, id_, origin), self.catalogue, known)
            )

    def _identify(self, path: str, found: FoundRule, origin: RuleOrigin) -> tuple[str, bool]:
        """Return the id of a rule, and whether the catalogue has it."""
        documents = self.catalogue.documents
        for id_ in self.catalogue.by_origin.get(origin_key(origin), ()):
            if id_ not in self._taken and found.id in (None, id_):
                self._taken.add(id_)
                return id_, True
        if found.id is not None and found.id in documents:
            return found.id, True  # an export: the rule itself comes from somewhere else
        if found.id is not None and found.id not in self._taken:
            self._taken.add(found.id)
            self._reserved.add(found.id)
            return found.id, False
        candidate = candidate_id(path, found.rule.title)
        id_ = numbered(candidate, self._reserved)
        self._taken.add(id_)
        self._reserved.add(id_)
        return id_, False

    def _compare(self, id_: str, found: FoundRule, origin: RuleOrigin) -> tuple[str, str]:
        """Compare a rule with the catalogue's: three ways, by the hash of the last import."""
        document = self.catalogue.documents[id_]
        stored = RuleOrigin.of(document)
        if rule_of(document).hash == found.rule.hash:
            return UNCHANGED, ""
        if stored is None or origin_key(stored) != origin_key(origin):
            if found.intact:
                return KEPT, "an export of the catalogue's rule"
            reason = "the file claims a rule that did not come from it"
            return (UPDATED, "") if self.options.overwrite else (CONFLICT, reason)
        if kept_of(document).get("base") == found.rule.hash:
            return KEPT, "changed in the catalogue since it was imported"
        if not self.options.update and not self.options.overwrite:
            return SKIPPED, "the id exists"
        if self.catalogue.is_edited(id_) and not self.options.overwrite:
            return CONFLICT, "changed in the file and in the catalogue"
        return UPDATED, ""

    def write(self, parts: CatalogueParts, caller: AuthContext) -> None:
        """Write the entries, and record those that the catalogue refuses."""
        if not self.entries:
            return
        result = import_entries(parts, caller, self.entries, EntryImportOptions("merge"))
        for failure in result.failures:
            place = self._places[failure.index]
            reason = f"{failure.error}: {failure.hint}"
            self.outcomes[place] = replace(self.outcomes[place], status=FAILED, reason=reason)
        for index, note in result.held.items():
            place = self._places[index]
            known = self.outcomes[place]
            status = PROPOSED if index in result.proposed else known.status
            self.outcomes[place] = replace(known, status=status, notes=(*known.notes, note))


def make_origin(file: ExaminedFile, client: str, found: FoundRule, repository: str) -> RuleOrigin:
    """Return where a rule was found; its hash is that of its text."""
    digest = hashlib.sha256(found.rule.text.encode("utf-8", "replace")).hexdigest()
    return RuleOrigin(file.path, found.line, client, digest, repository)


def with_extensions(entry: JsonObject, catalogue: CatalogueRules, known: bool) -> JsonObject:
    """Keep the other extensions of a rule that the catalogue has."""
    if known:
        others = catalogue.documents[entry["id"]].get("extensions")
        if isinstance(others, dict):
            entry["extensions"] = {**others, **entry["extensions"]}
    return entry

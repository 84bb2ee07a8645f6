"""Check rule files against what they should be: the catalogue, their markers, each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from commonplace.instructions.adapters.discovery import ExaminedFile, examine
from commonplace.instructions.adapters.entries import rule_of
from commonplace.instructions.adapters.losses import compare_rules
from commonplace.instructions.adapters.reading import NO_TEXT
from commonplace.instructions.clients.check import RuleFinding, RuleReport, check_rule_files
from commonplace.instructions.rulefiles.scan import FindingSeverity
from commonplace.instructions.use_cases.rule_files.conflicting import find_opposed, find_versions
from commonplace.instructions.use_cases.rule_files.exporting import load_lock
from commonplace.instructions.use_cases.rule_files.importing import CatalogueRules
from commonplace.instructions.use_cases.rule_files.repository import LOCK_FILE, RuleRepository
from commonplace.instructions.use_cases.rule_files.selecting import DECLINED
from commonplace.instructions.use_cases.rule_files.syncing import (
    RuleSyncOptions,
    SyncComparison,
    compare_sides,
)

ERROR, WARNING, NOTE = FindingSeverity.ERROR, FindingSeverity.WARNING, FindingSeverity.NOTE
SYNC_HINT = "Run commonplace rules sync."


def check_repository(
    repository: RuleRepository,
    catalogue: CatalogueRules | None = None,
    options: RuleSyncOptions | None = None,
) -> RuleReport:
    """Check the rule files of a repository; with a catalogue, also whether they are in step."""
    report = check_rule_files(repository.tree)
    survey = repository.survey()
    examined = examine(repository.tree, survey.files)
    findings = [*report.findings, *_find_unreadable(examined)]
    findings += _find_edited(examined)
    findings += _find_missing(repository)
    findings += find_versions(examined)
    findings += find_opposed(examined)
    if catalogue is not None and options is not None:
        comparison = compare_sides(catalogue, repository, options)
        findings += _find_drift(comparison)
        findings += _find_losses(comparison, catalogue)
    return RuleReport(
        report.files,
        tuple(sorted(findings, key=lambda finding: (finding.path, finding.line, finding.code))),
    )


def _find_unreadable(examined: Iterable[ExaminedFile]) -> Iterator[RuleFinding]:
    for file in examined:
        problem = file.reading.problem if file.reading else ""
        if problem == NO_TEXT:
            yield RuleFinding("empty", NOTE, file.path, 0, "It has no text.", "Delete the file.")
        elif problem:
            message = f"It cannot be imported: {problem}."
            yield RuleFinding("unreadable", ERROR, file.path, 0, message, "Save it as UTF-8 text.")


def _find_edited(examined: Iterable[ExaminedFile]) -> Iterator[RuleFinding]:
    """Find exported rules that were edited, by their markers alone."""
    for file in examined:
        for found in file.reading.rules if file.reading else ():
            if found.id is not None and not found.intact:
                message = f"The rule {found.id} was edited after it was exported."
                hint = "Run commonplace rules sync, or export it again with --force."
                yield RuleFinding("drift", ERROR, file.path, found.line, message, hint)


def _find_missing(repository: RuleRepository) -> Iterator[RuleFinding]:
    """Find exported files that are gone, by the record of exports."""
    for path, entry in load_lock(repository).items():
        declined = isinstance(entry, dict) and entry.get(DECLINED)
        if repository.read(path) is None and not declined:
            message = "The file was exported and is gone."
            hint = "Export again; that also updates .commonplace-rules.json."
            yield RuleFinding("drift", ERROR, path, 0, message, hint)


def _find_drift(comparison: SyncComparison) -> Iterator[RuleFinding]:
    plan = comparison.plan
    for names, message in (
        (plan.to_database, "The catalogue does not have this version of the rule."),
        (plan.to_folder, "The catalogue has another version of the rule."),
        (plan.removed_from_database, "The file is gone, and the catalogue still has the rule."),
        (plan.removed_from_folder, "The rule is no longer in the catalogue."),
    ):
        for name in names:
            yield RuleFinding("drift", ERROR, *_place(comparison, name), message, SYNC_HINT)
    for client, ids in comparison.missing.items():
        for id_ in ids:
            message = f"The catalogue's rule {id_} has no file for {client}."
            yield RuleFinding("drift", ERROR, LOCK_FILE, 0, message, SYNC_HINT)
    for conflict in plan.conflicts:
        what = conflict.describe().replace("database", "catalogue")
        message = f"The rule was {what}."
        hint = "Run commonplace rules sync --prefer files or --prefer catalogue."
        yield RuleFinding("conflict", ERROR, *_place(comparison, conflict.name), message, hint)


def _find_losses(comparison: SyncComparison, catalogue: CatalogueRules) -> Iterator[RuleFinding]:
    """Find what files in step with the catalogue cannot say."""
    for name in comparison.plan.same:
        rule, id_ = comparison.rules.get(name), comparison.ids.get(name)
        if rule is None or id_ not in catalogue.documents:
            continue
        stored = rule_of(catalogue.documents[str(id_)])
        for loss in compare_rules(str(id_), stored, rule.found.rule, rule.origin.client):
            message = f"The file does not hold {loss.field} of {id_}: {loss.why}."
            hint = "Export the rule to a format that has it, or accept the loss."
            place = _place(comparison, name)
            yield RuleFinding("loss", WARNING, *place, message, hint)


def _place(comparison: SyncComparison, name: str) -> tuple[str, int]:
    rule = comparison.rules.get(name)
    return name.partition("#")[0], rule.found.line if rule else 0

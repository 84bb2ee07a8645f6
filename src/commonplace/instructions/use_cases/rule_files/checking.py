"""Check rule files against what they should be: the catalogue, their markers, each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from commonplace.instructions.adapters.discovery import ExaminedFile, examine
from commonplace.instructions.adapters.entries import rule_of
from commonplace.instructions.adapters.losses import compare_rules
from commonplace.instructions.adapters.naming import slug
from commonplace.instructions.adapters.places import place_of
from commonplace.instructions.adapters.reading import NO_TEXT, FoundRule
from commonplace.instructions.clients.check import RuleFinding, RuleReport, check_rule_files
from commonplace.instructions.rulefiles.scan import FindingSeverity
from commonplace.instructions.use_cases.rule_files.exporting import load_lock
from commonplace.instructions.use_cases.rule_files.importing import CatalogueRules
from commonplace.instructions.use_cases.rule_files.repository import RuleRepository
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
    findings += _find_contradictions(examined)
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
    for path in load_lock(repository):
        if repository.read(path) is None:
            message = "The file was exported and is gone."
            hint = "Export again; that also updates .commonplace-rules.json."
            yield RuleFinding("drift", ERROR, path, 0, message, hint)


def _find_contradictions(examined: Iterable[ExaminedFile]) -> Iterator[RuleFinding]:
    """Find rules of the same name and title that clients read in different versions."""
    groups: dict[tuple[str, str, str], list[tuple[ExaminedFile, FoundRule]]] = {}
    for file in examined:
        for found in file.reading.rules if file.reading else ():
            if not found.rule.dialect:
                continue
            place = place_of(file.path)
            name = slug(place.stem.rpartition("/")[2], 80)
            key = (place.owner, name, slug(found.rule.title, 80))
            groups.setdefault(key, []).append((file, found))
    for members in groups.values():
        first_file, first = members[0]
        for file, found in members[1:]:
            if file.reading is None or first_file.reading is None:
                continue
            if file.reading.client == first_file.reading.client:
                continue
            if found.rule.text != first.rule.text:
                message = f"It says something else than {first_file.path}, of the same title."
            elif (found.rule.activation, found.rule.globs) != (
                first.rule.activation,
                first.rule.globs,
            ):
                message = f"It applies to other files than {first_file.path}, with the same text."
            else:
                continue
            hint = "Keep one of them in the catalogue and export it."
            yield RuleFinding("conflict", WARNING, file.path, found.line, message, hint)


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

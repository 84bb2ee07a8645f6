"""Follow rule files that were renamed or moved, so that a rule keeps its id and its fields."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from commonplace.instructions.adapters.discovery import examine
from commonplace.instructions.model import RuleOrigin
from commonplace.instructions.use_cases.importing import EntryImportOptions, import_entries
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.instructions.use_cases.rule_files.importing import (
    UNCHANGED,
    UPDATED,
    CatalogueRules,
    RuleImportOptions,
    RuleImportReport,
    import_rule_files,
    make_origin,
    origin_key,
)
from commonplace.instructions.use_cases.rule_files.repository import RuleRepository
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.json_types import JsonObject


def find_renamed(
    catalogue: CatalogueRules,
    repository: RuleRepository,
    name: str,
) -> dict[str, RuleOrigin]:
    """Return the rules whose file is gone while another has their text, with the new origin.

    `name` is that of the repository. Only pairs that leave no choice count: one rule that lost its
    file, and one file of the same client that no rule came from.
    """
    lost: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (where, client, path), ids in catalogue.by_origin.items():
        if where == name and repository.covers(path) and repository.is_gone(path):
            for id_ in ids:
                origin = RuleOrigin.of(catalogue.documents[id_])
                digest = origin.hash if origin is not None else ""
                lost[client, digest].append(id_)
    if not lost:
        return {}
    new: dict[tuple[str, str], list[RuleOrigin]] = defaultdict(list)
    for file in examine(repository.tree, repository.survey().files):
        reading = file.reading
        for found in reading.rules if reading is not None else ():
            origin = make_origin(file, reading.client if reading else "", found, name)
            known = origin_key(origin) in catalogue.by_origin
            if found.id is None and not known:
                new[origin.client, origin.hash].append(origin)
    return {
        ids[0]: new[key][0]
        for key, ids in lost.items()
        if len(ids) == 1 and len(new.get(key, ())) == 1
    }


def move_origins(catalogue: CatalogueRules, moves: Mapping[str, RuleOrigin]) -> CatalogueRules:
    """Return the catalogue as it is when rules come from their new files."""
    if not moves:
        return catalogue
    documents = {
        id_: {**document, "origin": moves[id_].as_json()} if id_ in moves else document
        for id_, document in catalogue.documents.items()
    }
    by_origin: dict[tuple[str, str, str], list[str]] = {}
    for key, ids in catalogue.by_origin.items():
        for id_ in ids:
            by_origin.setdefault(origin_key(moves[id_]) if id_ in moves else key, []).append(id_)
    return replace(catalogue, documents=documents, by_origin=by_origin)


def write_origins(
    parts: CatalogueParts,
    caller: AuthContext,
    catalogue: CatalogueRules,
    moves: Mapping[str, RuleOrigin],
) -> None:
    """Store where rules come from now. One that cannot be written is followed the next time."""
    entries: list[JsonObject] = [
        {"id": id_, "body": catalogue.documents[id_]["body"], "origin": origin.as_json()}
        for id_, origin in moves.items()
    ]
    if entries:
        import_entries(parts, caller, entries, EntryImportOptions("merge"))


def renamed_paths(catalogue: CatalogueRules, moves: Mapping[str, RuleOrigin]) -> dict[str, str]:
    """Return the new path of each old one."""
    paths = {}
    for id_, origin in moves.items():
        before = RuleOrigin.of(catalogue.documents[id_])
        if before is not None:
            paths[before.file] = origin.file
    return paths


def import_with_renames(
    parts: CatalogueParts,
    caller: AuthContext,
    repository: RuleRepository,
    options: RuleImportOptions,
) -> RuleImportReport:
    """Import every rule file below a folder; a renamed file updates its rule."""
    catalogue = CatalogueRules.read(parts)
    moves = find_renamed(catalogue, repository, options.repository)
    if not options.dry_run:
        write_origins(parts, caller, catalogue, moves)
    moved = move_origins(CatalogueRules.read(parts) if moves else catalogue, moves)
    report = import_rule_files(parts, caller, repository, options, moved)
    before = {new: old for old, new in renamed_paths(catalogue, moves).items()}
    return RuleImportReport(
        tuple(
            replace(file, status=UPDATED, reason=f"renamed from {before[file.path]}")
            if file.path in before and file.status == UNCHANGED
            else file
            for file in report.files
        )
    )

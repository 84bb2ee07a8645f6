"""`commonplace rules import`, `export` and `sync`: rule files and the catalogue."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli.printing import JsonFlag, out, print_json, say, table
from commonplace.cli.session import session
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import JsonObject

if TYPE_CHECKING:
    from commonplace.instructions.clients.check import RuleReport
    from commonplace.instructions.engine.mirror import Side
    from commonplace.instructions.rules_service import RulesService
    from commonplace.instructions.use_cases.rule_files.exporting import RuleExportReport
    from commonplace.instructions.use_cases.rule_files.importing import RuleImportReport
    from commonplace.instructions.use_cases.rule_files.selecting import RuleSelection
    from commonplace.instructions.use_cases.rule_files.syncing import RuleSyncReport

MOST_ROWS = 60
QUIET = ("unchanged", "skipped")
BAD = ("failed", "conflict", "blocked")

Folder = Annotated[Path, typer.Argument(help="The repository's folder, or a folder of rule files.")]
Repository = Annotated[
    str, typer.Option(help="Name of the repository; default: of its git remote or folder.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing; show what would happen.")]


def import_(
    folder: Folder,
    repository: Repository = "",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Files win over changes made in the catalogue.")
    ] = False,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Import the rule files of a folder into the catalogue.

    Reads AGENTS.md, CLAUDE.md, .claude/rules, .cursor/rules, Copilot, Gemini, Cline, Kiro,
    Windsurf and Devin, Junie, Amp and skills, also with broken front matter. A second import
    changes only what changed. Exit code 1 if a file failed, conflicts or was blocked.

    Example:
      commonplace rules import . --dry-run
      commonplace rules import ~/src/shop --json
    """
    report = run_import(folder, repository, overwrite=overwrite, dry_run=dry_run)
    if as_json:
        print_json(import_as_json(report, dry_run=dry_run))
    else:
        _print_import(report, dry_run)
    raise typer.Exit(1 if any(report.counts[status] for status in BAD) else 0)


def run_import(
    folder: Path, repository: str, *, overwrite: bool, dry_run: bool, update: bool = True
) -> RuleImportReport:
    """Import a folder as the local user, with an audit record unless it is a dry run."""
    from commonplace.instructions.use_cases.rule_files.importing import RuleImportOptions
    from commonplace.instructions.use_cases.rule_files.repository import RuleRepository
    from commonplace.kernel.auth import local_user

    name = repository or RuleRepository.at(folder).name
    options = RuleImportOptions(name, dry_run, overwrite, update)

    def work() -> RuleImportReport:
        return _rules().import_files(local_user(), folder, options)

    if dry_run:
        return work()
    return session().record_change("rules_import", {"repository": name}, work)


def import_as_json(report: RuleImportReport, *, dry_run: bool) -> JsonObject:
    return {
        "dryRun": dry_run,
        "counts": dict(sorted(report.counts.items())),
        "files": [asdict(outcome) for outcome in report.files],
    }


def _print_import(report: RuleImportReport, dry_run: bool) -> None:
    rows = []
    for outcome in report.files:
        reason = "; ".join(filter(None, (outcome.reason, *outcome.notes)))
        for finding in outcome.findings:
            reason += f"{'; ' * bool(reason)}line {finding.line}: {finding.kind}"
        if outcome.status not in QUIET or outcome.client:
            rows.append((outcome.status, outcome.path, outcome.id or "", reason))
    if rows:
        out.print(table(("status", "file", "id", "note"), rows[:MOST_ROWS]))
    if len(rows) > MOST_ROWS:
        say(f"... and {len(rows) - MOST_ROWS} more; --json lists all")
    counts = ", ".join(f"{status} {count}" for status, count in sorted(report.counts.items()))
    say(f"{'would be: ' * dry_run}{counts or 'no files'}")


def export(
    folder: Annotated[Path, typer.Argument(help="The repository's folder.")],
    client: Annotated[
        str,
        typer.Option(
            "--to",
            help="The client: agents-md, amp, claude-code, cline, codex, copilot, cursor, devin, "
            "gemini, junie, kiro or skills.",
        ),
    ],
    ids: Annotated[
        list[str] | None, typer.Option("--id", help="Only this rule; repeat for more.")
    ] = None,
    categories: Annotated[
        list[str] | None, typer.Option("--category", help="Only this category; repeat for more.")
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace files of people too; copies are kept."),
    ] = False,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Write the rules of the catalogue as the files of a client, with a report of losses.

    The report comes from reading the files again. Files that a person wrote or edited are left
    alone; exit code 1 if there are any.

    Example:
      commonplace rules export . --to cursor
      commonplace rules export . --to agents-md --dry-run --json
    """
    from commonplace.instructions.use_cases.rule_files.exporting import RuleExportOptions
    from commonplace.kernel.auth import local_user

    options = RuleExportOptions(
        client, tuple(ids or ()), tuple(categories or ()), force=force, dry_run=dry_run
    )
    report = _rules().export_files(local_user(), folder, options)
    if as_json:
        print_json({"dryRun": dry_run, **asdict(report)})
    else:
        _print_export(report, dry_run)
    raise typer.Exit(1 if report.refused else 0)


def _print_export(report: RuleExportReport, dry_run: bool) -> None:
    rows = [
        (file.status, file.path, "; ".join(filter(None, (file.reason, file.backup))))
        for file in report.files
        if file.status != "unchanged"
    ]
    if rows:
        out.print(table(("file is", "path", "note"), rows[:MOST_ROWS]))
    losses = [(loss.id, loss.field, loss.why) for loss in report.losses]
    if losses:
        out.print(table(("rule", "loses", "because"), losses[:MOST_ROWS]))
    for id_, reason in report.left_out.items():
        say(f"not exported: {id_}, {reason}")
    for limit in report.limits:
        say(f"limit: {limit}")
    for count, what in ((len(rows), "files"), (len(losses), "losses")):
        if count > MOST_ROWS:
            say(f"... and {count - MOST_ROWS} more {what}; --json lists all")
    say(
        f"{'dry run: ' * dry_run}{len(report.files)} files for {report.client}, "
        f"{len(report.losses)} fields lost, {len(report.refused)} files left alone"
    )


SyncClients = Annotated[
    list[str] | None,
    typer.Option(
        "--to",
        help="Write rules that only the catalogue has for this client, now and from now on; "
        "repeat for more, none ends it.",
    ),
]
SyncIds = Annotated[
    list[str] | None,
    typer.Option("--id", help="With --to: only this rule, once; repeat for more."),
]
SyncCategories = Annotated[
    list[str] | None,
    typer.Option("--category", help="With --to: only this category; repeat for more."),
]
SyncScopes = Annotated[
    list[str] | None,
    typer.Option(
        "--scope",
        help="With --to: only rules for organisation, team=NAME, workspace=NAME or "
        "user=NAME; repeat for more. Default: organisation.",
    ),
]


def sync(
    folder: Folder = Path(),
    repository: Repository = "",
    to: SyncClients = None,
    ids: SyncIds = None,
    categories: SyncCategories = None,
    scopes: SyncScopes = None,
    prefer: Annotated[str, typer.Option(help="Who wins a conflict: files or catalogue.")] = "",
    allow_removals: Annotated[
        bool, typer.Option("--allow-removals", help="Allow to remove most rules of a side.")
    ] = False,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Keep the rule files of a repository and the catalogue in step, both ways.

    Both sides are compared with their state after the last synchronisation. A rule that changed
    on both is a conflict: it is reported, both stay as they are, and the catalogue's version is
    put into .commonplace/conflicts. With --to, rules that only the catalogue has are written too,
    and the choice is kept in .commonplace-rules.json for the next times. Exit code 1 if there are
    conflicts or problems.

    Example:
      commonplace rules sync
      commonplace rules sync --to cursor --category security
      commonplace rules sync ~/src/shop --prefer files
    """
    from commonplace.instructions.use_cases.rule_files.repository import RuleRepository
    from commonplace.instructions.use_cases.rule_files.syncing import RuleSyncOptions
    from commonplace.kernel.auth import local_user

    name = repository or RuleRepository.at(folder).name
    selection = _selection(folder, to, ids, categories, scopes)
    options = RuleSyncOptions(
        name, catalogue_name(), _side(prefer), allow_removals, dry_run, selection
    )

    def work() -> RuleSyncReport:
        return _rules().sync_files(local_user(), folder, options)

    arguments = {"repository": name}
    report = work() if dry_run else session().record_change("rules_sync", arguments, work)
    if as_json:
        print_json({"dryRun": dry_run, **asdict(report)})
    else:
        _print_sync(report)
    raise typer.Exit(1 if report.conflicts or report.problems else 0)


def _print_sync(report: RuleSyncReport) -> None:
    rows = [
        (name, what)
        for names, what in (
            (report.to_catalogue, "copied to the catalogue"),
            (report.proposed, "proposed: the catalogue has it when somebody approves it"),
            (report.to_files, "copied to the file"),
            (report.removed_from_catalogue, "removed from the catalogue"),
            (report.removed_from_files, "removed from the files"),
        )
        for name in names
    ]
    rows += [(new, f"renamed from {old}") for old, new in report.renamed.items()]
    rows += [(name, f"conflict: {what}") for name, what in report.conflicts.items()]
    rows += [(name, f"problem: {what}") for name, what in report.problems.items()]
    rows += [(loss.id, f"loses {loss.field}: {loss.why}") for loss in report.losses]
    if rows:
        out.print(table(("rule", "what happened"), rows))
    if report.declined:
        say(f"not written, because their file was deleted here: {', '.join(report.declined)}")
    if report.only_in_catalogue:
        say(f"{len(report.only_in_catalogue)} rules are in the catalogue only; --to writes them")
    say(f"{report.in_step} rules are in step")


def _selection(
    folder: Path,
    clients: list[str] | None,
    ids: list[str] | None,
    categories: list[str] | None,
    scopes: list[str] | None,
) -> RuleSelection | None:
    """Return what is to be written; None: what was chosen before."""
    from commonplace.instructions.use_cases.rule_files.repository import RuleRepository
    from commonplace.instructions.use_cases.rule_files.selecting import (
        RuleSelection,
        load_selection,
    )

    if not (clients or ids or categories or scopes):
        return None
    chosen = tuple(clients or load_selection(RuleRepository.at(folder)).clients)
    named = tuple(client for client in chosen if client != "none")
    return RuleSelection(named, tuple(ids or ()), tuple(categories or ()), tuple(scopes or ()))


def _side(prefer: str) -> Side | None:
    sides: dict[str, Side] = {"files": "folder", "catalogue": "database"}
    if prefer and prefer not in sides:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"'{prefer}' is neither files nor catalogue.",
            hint="Use --prefer files or --prefer catalogue.",
        )
    return sides.get(prefer)


def check_with_catalogue(folder: Path, repository: str) -> RuleReport:
    """Check the rule files of a folder, and whether they are in step with the catalogue."""
    from commonplace.instructions.use_cases.rule_files.repository import RuleRepository
    from commonplace.instructions.use_cases.rule_files.syncing import RuleSyncOptions
    from commonplace.kernel.auth import local_user

    name = repository or RuleRepository.at(folder).name
    options = RuleSyncOptions(name, catalogue_name(), allow_removals=True, dry_run=True)
    return _rules().check_files(local_user(), folder, options)


def catalogue_name() -> str:
    """Return a name of the catalogue that tells it from others, without saying where it is."""
    from commonplace.bootstrap.team import on_postgres

    settings = session().config().settings
    place = str(settings.instructions_directory.resolve())
    if on_postgres(settings):
        from commonplace.instructions.store.postgres.catalogue import PostgresCatalogueStore
        from commonplace.instructions.store.postgres.contents import SharedContents

        services = session().app().services
        store = services.instructions.parts.store
        assert isinstance(store, PostgresCatalogueStore)
        place = SharedContents(services.postgres, store).identity()
    return hashlib.sha256(place.encode()).hexdigest()[:16]


def _rules() -> RulesService:
    return session().app().services.instructions.rules

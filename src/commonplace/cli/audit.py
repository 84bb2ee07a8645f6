"""`commonplace audit`: query, verify, export and prune the audit trail."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.printing import JsonFlag, out, print_json, say, table
from commonplace.cli.session import session
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.storage.disk.access import require_folder
from commonplace.storage.disk.private_files import open_private
from commonplace.telemetry.query import MAX_RECORDS, AuditFilter
from commonplace.telemetry.trail import AuditTrail, FolderTrail

app = typer.Typer(help="Read and verify the audit trail.", no_args_is_help=True)


LocalFlag = Annotated[
    bool, typer.Option("--local", help="Only the chains of this data folder, not of all servers.")
]


Since = Annotated[
    str | None, typer.Option(help="Not before, ISO 8601 UTC: 2026-01-31 or 2026-01-31T10:00:00Z.")
]
Until = Annotated[str | None, typer.Option(help="Before, ISO 8601 UTC.")]


@app.command()
def verify(
    local: LocalFlag = False,
    anchors: Annotated[
        Path | None,
        typer.Option(
            help="A copy of the heads that a server wrote to `settings.audit.anchor`.",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Check every chain for changed, removed, reordered or cut records.

    On PostgreSQL the chains of all servers are checked. Exit code 1 if a chain is not intact.

    Examples:
      commonplace audit verify --json
      commonplace audit verify --anchors heads.jsonl
    """
    settings = session().config().settings
    if not settings.audit_directory.is_dir():
        require_folder(settings.data)  # a new data folder has no trail; a wrong path is an error
    verdict = _trail(local, anchors).verify()
    if as_json:
        print_json(verdict.as_dict())
    else:
        for problem in verdict.problems:
            say(
                f"{problem.chain} record "
                f"{problem.record if problem.record is not None else '-'}: {problem.problem}"
            )
        for warning in verdict.warnings:
            say(f"note: {warning.chain}: {warning.problem}")
        out.print(
            f"{verdict.chains} chains, {verdict.records} records: "
            f"{'intact' if verdict.ok else 'NOT intact'}"
        )
    if not verdict.ok:
        raise typer.Exit(1)


@app.command()
def query(
    tool: Annotated[str | None, typer.Option(help="Only this tool.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Only this tenant.")] = None,
    outcome: Annotated[str | None, typer.Option(help="ok, refused, rejected or failed.")] = None,
    code: Annotated[str | None, typer.Option(help="Only this error code.")] = None,
    trace_id: Annotated[
        str | None, typer.Option("--trace", help="Only the call with this trace id.")
    ] = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[
        int, typer.Option(min=1, max=MAX_RECORDS, help="Most records, newest first.")
    ] = 50,
    local: LocalFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Show changes and refusals, newest first.

    Examples:
      commonplace audit query --outcome refused
      commonplace audit query --tool file_write --since 2026-01-31 --json
    """
    wanted = AuditFilter(tenant, tool, outcome, code, trace_id, since, until, limit)
    records = _trail(local).query(wanted)
    if as_json:
        print_json({"records": records, "returned": len(records)})
        return
    columns = ("ts", "tool", "tenant", "label", "outcome", "code", "trace_id")
    out.print(table(columns, [[record.get(column) for column in columns] for record in records]))


@app.command()
def export(
    target: Annotated[Path, typer.Argument(help="File to write, one JSON record per line.")],
    tenant: Annotated[str | None, typer.Option(help="Only this tenant.")] = None,
    since: Since = None,
    until: Until = None,
    local: LocalFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Write audit records to a file, each exactly as it was recorded, with its hash.

    Examples:
      commonplace audit export audit.jsonl
      commonplace audit export january.jsonl --since 2026-01-01 --until 2026-02-01
    """
    wanted = AuditFilter(tenant=tenant, since=since, until=until)  # checks and completes the times
    written = 0
    try:
        with open_private(target, "xb") as lines:
            for line in _trail(local).export(wanted.tenant, wanted.since, wanted.until):
                lines.write(line + b"\n")
                written += 1
    except OSError as failed:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"{target} cannot be written: {failed.strerror}.",
            hint="Name a new file in a folder that exists.",
        ) from failed
    if as_json:
        print_json({"records": written, "file": str(target)})
    else:
        out.print(f"{written} records written to {target}")


@app.command()
def prune(
    days: Annotated[
        int | None,
        typer.Option(min=1, help="Age of the oldest record to keep; default: the retention."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Remove old audit records now; a server with a retention does it every hour.

    What is left can be verified. The removal itself is recorded.

    Example:
      commonplace audit prune --days 365
    """
    from commonplace.bootstrap.audit_upkeep import prune_audit

    kept_days = days or session().config().settings.audit.retention_days
    if not kept_days:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            "No retention is configured.",
            hint="Give --days, or set settings.audit.retention_days.",
        )
    removed = session().record_change(
        "audit_prune", {"days": kept_days}, lambda: prune_audit(session().app().services, kept_days)
    )
    if as_json:
        print_json({"days": kept_days, "removed": removed})
    else:
        out.print(
            f"removed {removed['records']} records from the database, "
            f"{removed['chains']} chains from the data folder"
        )


def _trail(local: bool, anchors: Path | None = None) -> AuditTrail:
    """Return the trail of all servers, or of this data folder."""
    from commonplace.bootstrap.audit_upkeep import anchored_heads
    from commonplace.bootstrap.team import on_postgres, open_team_trail

    if anchors is not None and not anchors.is_file():
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"There is no file {anchors}.",
            hint="Copy the file that settings.audit.anchor names from its second place.",
        )
    settings = session().config().settings
    folder = FolderTrail(settings.audit_directory, lambda: anchored_heads(settings, anchors))
    if local or not on_postgres(settings):
        return folder
    return open_team_trail(session().app().services, folder, anchors)

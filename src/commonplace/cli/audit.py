"""`commonplace audit`: query the audit trail and verify that it is intact."""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.cli.printing import JsonFlag, out, print_json, say, table
from commonplace.cli.session import session
from commonplace.storage.disk.access import require_folder
from commonplace.telemetry.query import MAX_RECORDS, AuditFilter
from commonplace.telemetry.trail import AuditTrail, FolderTrail

app = typer.Typer(help="Read and verify the audit trail.", no_args_is_help=True)


LocalFlag = Annotated[
    bool, typer.Option("--local", help="Only the chains of this data folder, not of all servers.")
]


@app.command()
def verify(local: LocalFlag = False, as_json: JsonFlag = False) -> None:
    """Check every chain for changed, removed, reordered or cut records.

    On PostgreSQL the chains of all servers are checked. Exit code 1 if a chain is not intact.

    Example:
      commonplace audit verify --json
    """
    settings = session().config().settings
    if not settings.audit_directory.is_dir():
        require_folder(settings.data)  # a new data folder has no trail; a wrong path is an error
    verdict = _trail(local).verify()
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
    since: Annotated[
        str | None,
        typer.Option(help="Not before, ISO 8601 UTC: 2026-01-31 or 2026-01-31T10:00:00Z."),
    ] = None,
    until: Annotated[str | None, typer.Option(help="Before, ISO 8601 UTC.")] = None,
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


def _trail(local: bool) -> AuditTrail:
    """Return the trail of all servers, or of this data folder."""
    from commonplace.bootstrap.team import on_postgres

    settings = session().config().settings
    if local or not on_postgres(settings):
        return FolderTrail(settings.audit_directory)
    return session().app().services.trail

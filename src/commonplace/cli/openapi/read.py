"""Commands that read API descriptions: validate, parse, walk, diff."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.openapi.source import Source, call, mark, spec
from commonplace.cli.printing import JsonFlag, out, print_json, say, table
from commonplace.cli.terminal import write_text
from commonplace.cli.wording import in_commands
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import JsonObject

EVERYTHING = 1000


class ReportFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    SARIF = "sarif"
    MARKDOWN = "markdown"


class WalkKind(StrEnum):
    OPERATIONS = "operations"
    SCHEMAS = "schemas"
    PARAMETERS = "parameters"
    RESPONSES = "responses"
    HEADERS = "headers"
    SECURITY = "security"
    PATHS = "paths"
    REFS = "refs"


class FailOn(StrEnum):
    BREAKING = "breaking"
    WARNING = "warning"
    ANY = "any"
    NEVER = "never"


FormatOption = Annotated[ReportFormat, typer.Option("--format", "-f", help="How to print.")]


def validate(
    source: Source,
    strict: Annotated[
        bool, typer.Option("--strict", help="Also apply rules beyond the specification.")
    ] = False,
    no_warnings: Annotated[bool, typer.Option("--no-warnings", help="Errors only.")] = False,
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", help="Rule to ignore, or rule:/pointer*. Repeatable."),
    ] = None,
    ignore_file: Annotated[
        Path | None,
        typer.Option(
            "--ignore-file", help="A file with one such entry per line; # starts a comment."
        ),
    ] = None,
    format_: FormatOption = ReportFormat.TABLE,
    as_json: JsonFlag = False,
) -> None:
    """Check a document. Exit code 1 if it has errors.

    Example:
      commonplace oas validate openapi.yaml --format sarif > results.sarif
    """
    from commonplace.cli.openapi.report import findings_markdown, sarif

    ignored = [*(ignore or []), *(_entries(ignore_file) if ignore_file else [])]
    arguments = {
        "spec": spec(source),
        "strict": strict,
        "no_warnings": no_warnings,
        "ignore": ignored,
        "limit": EVERYTHING,
    }
    answer = call("oas_validate", arguments)
    findings = [*answer["errors"], *answer["warnings"]]
    chosen = ReportFormat.JSON if as_json else format_
    if chosen is ReportFormat.JSON:
        print_json(answer)
    elif chosen is ReportFormat.SARIF:
        print_json(sarif(findings, source, _rules("validate")))
    elif chosen is ReportFormat.MARKDOWN:
        write_text(findings_markdown(answer, source))
    else:
        _print_findings(answer, findings, source)
    raise typer.Exit(0 if answer["valid"] else 1)


def _print_findings(answer: JsonObject, findings: list[JsonObject], source: str) -> None:
    rows = [
        (
            mark(f["severity"]),
            f.get("line", ""),
            f["rule"],
            f"{f['message']} {in_commands(f['fix'])}\n{f['path'] or '/'}",
        )
        for f in findings
    ]
    if rows:
        out.print(table(("", "line", "rule", "problem"), rows))
    verdict = "valid" if answer["valid"] else "not valid"
    say(
        f"{source}: {verdict} OpenAPI {answer['version']}, {answer['error_count']} errors, "
        f"{answer['warning_count']} warnings"
    )
    if "note" in answer:
        say(answer["note"])


def parse(
    source: Source,
    full: Annotated[bool, typer.Option("--full", help="Print the whole document.")] = False,
    resolve_refs: Annotated[
        bool,
        typer.Option("--resolve-refs", help="With --full: replace references by their targets."),
    ] = False,
    pointer: Annotated[
        str | None, typer.Option("--pointer", help="With --full: only this part, a JSON pointer.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Summarize a document.

    Example:
      commonplace oas parse openapi.yaml --full --pointer /components/schemas
    """
    answer = call(
        "oas_parse",
        {"spec": spec(source), "full": full, "resolve_refs": resolve_refs, "pointer": pointer},
    )
    if as_json:
        print_json(answer)
    elif full:
        write_text(answer["full_document"])
    else:
        shown = {
            **answer,
            "servers": ", ".join(server["url"] for server in answer.get("servers", [])),
            "tags": ", ".join(answer.get("tags", [])),
        }
        out.print(table(("field", "value"), list(shown.items())))


def walk(
    kind: Annotated[WalkKind, typer.Argument(help="What to look for.")],
    source: Source,
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--where", "-w", help="field=value, e.g. method=get, path=/users/*. Repeatable."
        ),
    ] = None,
    group_by: Annotated[
        str | None, typer.Option("--group-by", "-g", help="Count by this field.")
    ] = None,
    detail: Annotated[bool, typer.Option("--detail", help="Print whole objects as JSON.")] = False,
    resolve_refs: Annotated[
        bool, typer.Option("--resolve-refs", help="Replace references by their targets.")
    ] = False,
    extension: Annotated[
        str | None, typer.Option("--extension", help="x-name or x-name=value.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="Most results.")] = None,
    offset: Annotated[int, typer.Option("--offset", min=0, help="Skip the first.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Query the parts of a document.

    Example:
      commonplace oas walk operations openapi.yaml -w tag=pets -w deprecated=true
    """
    arguments: JsonObject = {
        "spec": spec(source),
        "detail": detail,
        "resolve_refs": resolve_refs,
        "offset": offset,
    }
    arguments |= {
        name: value
        for name, value in (("group_by", group_by), ("extension", extension), ("limit", limit))
        if value is not None
    }
    answer = call(f"oas_walk_{kind.value}", arguments | _filters(filters or []))
    rows = next(
        (value for key, value in answer.items() if isinstance(value, list) and key not in _NOTES),
        [],
    )
    if as_json or detail:
        print_json(answer)
    elif rows:
        columns = list(dict.fromkeys(name for row in rows for name in row))
        cells = [
            tuple(
                ", ".join(row[c]) if isinstance(row.get(c), list) else row.get(c, "")
                for c in columns
            )
            for row in rows
        ]
        out.print(table(columns, cells, one_line=True))
    say(f"{answer['returned']} of {answer['matched']} shown, {answer['total']} in all")


def diff(
    base: Source,
    revision: Source,
    breaking_only: Annotated[
        bool, typer.Option("--breaking-only", help="Only changes that break clients.")
    ] = False,
    no_info: Annotated[bool, typer.Option("--no-info", help="Omit informational changes.")] = False,
    literal: Annotated[
        bool,
        typer.Option(
            "--literal", help="Across OpenAPI versions, count format differences as breaking."
        ),
    ] = False,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="Lowest severity that sets exit code 1.")
    ] = FailOn.BREAKING,
    format_: FormatOption = ReportFormat.TABLE,
    as_json: JsonFlag = False,
) -> None:
    """Compare two documents. Exit code 1 if clients break.

    Example:
      commonplace oas diff main.yaml branch.yaml --format markdown
    """
    from commonplace.cli.openapi.report import changes_markdown, sarif

    arguments = {
        "base": spec(base),
        "revision": spec(revision),
        "breaking_only": breaking_only,
        "no_info": no_info,
        "literal": literal,
    }
    answer = call("oas_diff", arguments | {"limit": EVERYTHING})
    chosen = ReportFormat.JSON if as_json else format_
    if chosen is ReportFormat.JSON:
        print_json(answer)
    elif chosen is ReportFormat.SARIF:
        print_json(sarif(answer["changes"], revision, _rules("diff")))
    elif chosen is ReportFormat.MARKDOWN:
        write_text(changes_markdown(answer, base, revision))
    else:
        rows = [
            (mark(c["severity"]), c["rule"], f"{c['message']}\n{c['path']}")
            for c in answer["changes"]
        ]
        if rows:
            out.print(table(("", "rule", "change"), rows))
        say(answer["summary"])
    failed = answer["breaking_count"] + (
        answer["warning_count"] if fail_on is FailOn.WARNING else 0
    )
    failed = answer["total_changes"] if fail_on is FailOn.ANY else failed
    raise typer.Exit(1 if failed and fail_on is not FailOn.NEVER else 0)


_NOTES = frozenset({"circular_refs", "unresolved_refs", "refs_left"})


def _filters(entries: list[str]) -> JsonObject:
    found: JsonObject = {}
    for entry in entries:
        name, equals, value = entry.partition("=")
        if not equals:
            raise CommonplaceError(
                INVALID_ARGUMENT,
                f"--where {entry!r} is not field=value.",
                hint="Write it like method=get.",
            )
        found[name.strip()] = {"true": True, "false": False}.get(value.lower(), value)
    return found


def _entries(path: Path) -> list[str]:
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise CommonplaceError(
            INVALID_ARGUMENT, f"--ignore-file {str(path)!r} cannot be read: {error.strerror}."
        ) from None
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _rules(of: str) -> dict[str, str]:
    if of == "diff":
        from commonplace.openapi.engine.diff.rules import CHANGE_RULES

        return {rule.id: rule.meaning for rule in CHANGE_RULES.values()}
    from commonplace.openapi.engine.validate.rules import RULES

    return {rule.id: rule.meaning for rule in RULES.values()}

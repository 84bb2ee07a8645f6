"""`commonplace call` and `commonplace tools`: run and list tools without a client."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from commonplace.cli.printing import JsonFlag, out, print_coloured_json, print_json, table
from commonplace.cli.session import fail, session
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import JsonObject

if TYPE_CHECKING:
    from commonplace.dispatch.registry import Selection


def call(
    tool: Annotated[
        str, typer.Argument(help="Name of the tool, or a bare method such as health/check.")
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            help="Arguments as name=value (values are read as JSON where possible, @FILE reads a "
            "file), or one JSON object."
        ),
    ] = None,
    args: Annotated[
        str | None,
        typer.Option("--args", help="All arguments as one JSON object; - reads it from stdin."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Run one tool as the local user.

    Examples:
      commonplace call health_check
      commonplace call file_write project=demo path=/notes.md content=@notes.md
      commonplace call rekall_search '{"query": "flaky test"}' --json
    """
    outcome = session().outcome(tool, {**_object(args), **_pairs(arguments or [])})
    if outcome.error is not None:
        if as_json:
            print_json({"error": outcome.error.as_dict()})
        raise typer.Exit(fail(outcome.error, of_tool=True))
    from commonplace.dispatch.call import to_json

    assert outcome.output is not None
    value = to_json(outcome.output)
    if as_json:
        print_json(value)
    else:
        print_coloured_json(value)
    if outcome.rejected:
        raise typer.Exit(1)


def tools(
    all_tools: Annotated[bool, typer.Option("--all-tools", help="Include extended tools.")] = False,
    toolsets: Annotated[
        str | None, typer.Option(help="Only these toolsets, separated by commas.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="List the tools of a profile: core, rekall or oastools.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the tools that a client sees, and what the listing costs in tokens.

    Name, description and input schema reach a model (model_tokens); a client gets more (tokens).
    Both counts are upper bounds for o200k_base.

    Examples:
      commonplace tools
      commonplace tools --all-tools --json
      commonplace tools --profile oastools
    """
    from commonplace.dispatch.describe import describe, for_model
    from commonplace.kernel.tokens import count_tokens

    registry = session().app().registry
    registry.check(selection := _selection(profile, toolsets, all_tools))
    rows: list[JsonObject] = []
    for tool in registry.listed(selection):
        described = describe(tool, selection)
        rows.append(
            {
                "name": described["name"],
                "toolset": tool.toolset,
                "tier": tool.tier.value,
                "scope": "by arguments" if callable(tool.scope) else tool.scope.value,
                "writes": not tool.read_only,
                "model_tokens": count_tokens(orjson.dumps(for_model(described)).decode()),
                "tokens": count_tokens(orjson.dumps(described).decode()),
                "summary": tool.description.split(". ")[0].strip(),
            }
        )
    totals = {name: sum(row[name] for row in rows) for name in ("model_tokens", "tokens")}
    if as_json:
        print_json({"tools": rows, "count": len(rows), **totals})
        return
    tier = ("tier",) if all_tools else ()
    columns = ("name", "toolset", *tier, "scope", "model_tokens", "tokens", "summary")
    out.print(table(columns, [[row[column] for column in columns] for row in rows], one_line=True))
    out.print(
        f"{len(rows)} tools: at most {totals['model_tokens']:,} tokens reach a model, of a listing "
        f"of at most {totals['tokens']:,}"
    )


def _selection(profile: str | None, toolsets: str | None, all_tools: bool) -> Selection:
    from commonplace.cli.profiles import PROFILES
    from commonplace.dispatch.registry import Selection

    if profile is None:
        wanted = frozenset(part.strip() for part in (toolsets or "").split(",") if part.strip())
        return Selection(toolsets=wanted if toolsets else None, all_tiers=all_tools)
    if profile not in PROFILES:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"There is no profile {profile!r}.",
            hint=f"Profiles: {', '.join(PROFILES)}.",
        )
    return PROFILES[profile].selection


def _object(text: str | None) -> JsonObject:
    if text is None:
        return {}
    raw = sys.stdin.read() if text == "-" else text
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as broken:
        raise CommonplaceError(INVALID_ARGUMENT, f"The arguments are not JSON: {broken}.") from None
    if not isinstance(value, dict):
        raise CommonplaceError(INVALID_ARGUMENT, "The arguments must be one JSON object.")
    return value


def _pairs(pairs: list[str]) -> JsonObject:
    arguments: JsonObject = {}
    for pair in pairs:
        name, found, value = pair.partition("=")
        if pair.startswith("{"):
            arguments |= _object(pair)
        elif found:
            arguments[name] = _value(value)
        else:
            raise CommonplaceError(
                INVALID_ARGUMENT,
                f"{pair!r} is not name=value.",
                hint="Or give all arguments as one JSON object.",
            )
    return arguments


def _value(text: str) -> Any:
    if text.startswith("@"):
        try:
            return Path(text[1:]).read_text("utf-8")
        except UnicodeDecodeError:
            raise CommonplaceError(INVALID_ARGUMENT, f"{text[1:]} is not UTF-8 text.") from None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text

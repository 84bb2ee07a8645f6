"""Commands that look inside files: search, grep and symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli.files.access import (
    Prefix,
    Project,
    report_more,
    service,
    wait_for_index,
)
from commonplace.cli.printing import JsonFlag, out, plain_text, print_json, say
from commonplace.cli.session import session

if TYPE_CHECKING:
    pass


def search(
    query: Annotated[str, typer.Argument(help="Words or a question.")],
    project: Project = "default",
    prefix: Prefix = "",
    limit: Annotated[int, typer.Option(help="Maximum number of chunks, up to 20.")] = 5,
    explain: Annotated[
        bool, typer.Option("--explain", help="Explain the rank of each chunk.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Find the passages that answer a query.

    Example:
      commonplace files search "who holds the lock" --project demo --explain
    """
    service()
    wait_for_index()
    arguments = {
        "project": project,
        "query": query,
        "path_prefix": prefix,
        "limit": limit,
        "explain": True,
    }
    answer = session().call("file_search", arguments)
    if as_json:
        print_json(answer)
        return
    for chunk in answer["chunks"]:
        place = (
            f"{chunk['file_path']}#{chunk['file_seek_start_bytes']}-{chunk['file_seek_end_bytes']}"
        )
        original = f"  ({chunk['source_path']})" if "source_path" in chunk else ""
        out.print(
            plain_text(f"{chunk['score']:.3f}  ", style="dim")
            + plain_text(place, style="bold")
            + plain_text(original)
        )
        out.print(plain_text(f"       {chunk['explain']['snippet']}"))
        if explain:
            shown = {key: value for key, value in chunk["explain"].items() if key != "snippet"}
            out.print(plain_text(f"       {shown}", style="dim"))
    if not answer["chunks"]:
        say("nothing found")
    for note in answer.get("notes", ()):
        say(f"note: {note}")


def grep(
    pattern: Annotated[str, typer.Argument(help="RE2 pattern, or text with --literal.")],
    project: Project = "default",
    prefix: Prefix = "",
    literal: Annotated[bool, typer.Option("--literal", "-F", help="Plain text.")] = False,
    ignore_case: Annotated[bool, typer.Option("--ignore-case", "-i", help="Ignore case.")] = False,
    limit: Annotated[int, typer.Option(help="Maximum number of lines, up to 500.")] = 100,
    as_json: JsonFlag = False,
) -> None:
    """Find lines that match a pattern. Exit code 1 if none does.

    Example:
      commonplace files grep "TODO|FIXME" --project demo --prefix /src/
    """
    arguments = {"project": project, "pattern": pattern, "path_prefix": prefix, "literal": literal}
    answer = session().call("file_grep", {**arguments, "ignore_case": ignore_case, "limit": limit})
    if as_json:
        print_json(answer)
    else:
        for match in answer["matches"]:
            out.print(
                plain_text(f"{match['file_path']}:{match['line']}:{match['text']}"), soft_wrap=True
            )
        report_more(answer)
    if not answer["matches"]:
        raise typer.Exit(1)


def symbols(
    name: Annotated[str, typer.Argument(help="A name, such as Session or Session.send.")] = "",
    project: Project = "default",
    path: Annotated[str, typer.Option("--path", help="Show the outline of this file.")] = "",
    lines: Annotated[
        str, typer.Option("--lines", help="With --path: what stands around lines, as 10 or 10-40.")
    ] = "",
    prefix: Prefix = "",
    limit: Annotated[int, typer.Option(help="Maximum number of definitions, up to 200.")] = 20,
    as_json: JsonFlag = False,
) -> None:
    """Show where a name is defined and used, or the outline of a file. Exit code 1 if nowhere.

    Example:
      commonplace files symbols Session.send --project demo
      commonplace files symbols --path /src/client.py --project demo
    """
    service()
    wait_for_index()
    arguments = {"project": project, "name": name, "path": path, "path_prefix": prefix}
    around = _line_range(lines) if lines else {}
    answer = session().call("file_symbols", {**arguments, **around, "limit": limit})
    if as_json:
        print_json(answer)
    else:
        for entry in answer["symbols"]:
            place = f"{entry['file_path']}:{entry['line']}"
            out.print(
                plain_text(f"{place}  ", style="bold")
                + plain_text(f"{entry['kind']} {entry['qualified_name']}  ")
                + plain_text(entry["signature"], style="dim"),
                soft_wrap=True,
            )
        for use in answer["uses"]:
            shown = ", ".join(str(line) for line in use["lines"])
            out.print(plain_text(f"{use['file_path']}  used on lines {shown}"), soft_wrap=True)
        for entry in answer.get("neighbours", ()):
            place = f"{entry['file_path']}:{entry['start_line']}-{entry['end_line']}"
            out.print(plain_text(f"{entry['relation']} {place}  {entry['qualified_name']}"))
            out.print(plain_text(entry["content"]), soft_wrap=True)
        for note in answer.get("notes", ()):
            say(f"note: {note}")
    if not answer["symbols"] and not answer["uses"]:
        raise typer.Exit(1)


def _line_range(text: str) -> dict[str, int]:
    first, dash, last = text.partition("-")
    if not first.isdecimal() or (dash and not last.isdecimal()):
        raise typer.BadParameter("write a line as 10 or lines as 10-40", param_hint="--lines")
    return {"start_line": int(first), "end_line": int(last or first)}

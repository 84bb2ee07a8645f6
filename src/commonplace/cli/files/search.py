"""Commands that look inside files: search, grep and symbols."""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.cli.files.access import (
    Prefix,
    Project,
    line_range,
    report_more,
    service,
    wait_for_index,
)
from commonplace.cli.printing import JsonFlag, out, plain_text, print_json, say
from commonplace.cli.session import session
from commonplace.kernel.json_types import JsonObject


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
        first, last = chunk["start_line"], chunk["end_line"]
        place = f"{chunk['file_path']}:{first}" + (f"-{last}" if last > first else "")
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
    globs: Annotated[
        list[str] | None,
        typer.Option(
            "--glob", "-g", help="Only these paths, such as *.py; ! excludes. Repeatable."
        ),
    ] = None,
    literal: Annotated[bool, typer.Option("--literal", "-F", help="Plain text.")] = False,
    ignore_case: Annotated[bool, typer.Option("--ignore-case", "-i", help="Ignore case.")] = False,
    context: Annotated[
        int, typer.Option("--context", "-C", help="Lines around each match, up to 20.")
    ] = 0,
    limit: Annotated[int, typer.Option(help="Maximum number of lines, up to 500.")] = 100,
    as_json: JsonFlag = False,
) -> None:
    """Find lines that match a pattern. Exit code 1 if none does.

    Example:
      commonplace files grep "TODO|FIXME" --project demo --prefix /src/
      commonplace files grep "def lock" --project demo -g "*.py" -g "!tests/**" -C 2
    """
    arguments = {
        "project": project,
        "pattern": pattern,
        "path_prefix": prefix,
        "globs": globs or [],
        "literal": literal,
        "ignore_case": ignore_case,
        "context": context,
        "limit": limit,
    }
    answer = session().call("file_grep", arguments)
    if as_json:
        print_json(answer)
    else:
        _print_matches(answer["matches"], grouped=context > 0)
        report_more(answer)
    if not answer["matches"]:
        raise typer.Exit(1)


def _print_matches(matches: list[JsonObject], *, grouped: bool) -> None:
    """Print as grep does: `:` after the number of a matching line, `-` after that of another."""
    last: tuple[str, int] | None = None
    for match in matches:
        path, line = str(match["file_path"]), int(match["line"])
        before, after = match.get("before", ()), match.get("after", ())
        first = line - len(before)
        if grouped and last is not None and last != (path, first - 1):
            out.print(plain_text("--"))
        rows = [(first + at, "-", text) for at, text in enumerate(before)]
        rows.append((line, ":", match["text"]))
        rows += [(line + 1 + at, "-", text) for at, text in enumerate(after)]
        for number, sign, text in rows:
            out.print(plain_text(f"{path}{sign}{number}{sign}{text}"), soft_wrap=True)
        last = (path, line + len(after))


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
    around = line_range(lines) if lines else {}
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

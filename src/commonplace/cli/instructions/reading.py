"""Commands that read the catalogue: list, search, show, graph."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from commonplace.cli.instructions.access import Id, call, existing_item
from commonplace.cli.printing import JsonFlag, out, plain_text, print_json, say, table
from commonplace.cli.terminal import write_text
from commonplace.kernel.json_types import JsonObject

OPTIONAL_FACTS = ("appliesTo", "languages", "activation")


def _rows(items: list[JsonObject]) -> Any:
    cells = [
        [
            item["id"],
            item["title"],
            item["priority"],
            item["requirement"],
            item["status"],
            ", ".join(item["categories"]),
        ]
        for item in items
    ]
    return table(("id", "title", "priority", "requirement", "status", "categories"), cells)


def list_(
    category: Annotated[
        str | None, typer.Option("--category", "-c", help="Only this category.")
    ] = None,
    limit: Annotated[int, typer.Option(help="Most entries shown.")] = 100,
    as_json: JsonFlag = False,
) -> None:
    """List instructions.

    Examples:
      commonplace instructions list
      commonplace instructions list -c security --json
    """
    answer = call("instructions_list", category=category, limit=limit)
    if as_json:
        print_json(answer)
        return
    out.print(_rows(answer["items"]))
    say(f"{len(answer['items'])} of {answer['count']}")


def search(
    query: Annotated[
        str, typer.Argument(help="A question, words, an identifier, or a part of the text.")
    ],
    limit: Annotated[int, typer.Option(help="Most entries shown.")] = 10,
    status: Annotated[
        list[str] | None, typer.Option(help="Only this state: draft, review, approved, deprecated.")
    ] = None,
    category: Annotated[
        list[str] | None, typer.Option("--category", "-c", help="Only this category.")
    ] = None,
    path: Annotated[
        str | None, typer.Option(help="Only what applies to this path of a repository.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Search instructions by words, parts of words and meaning, best first.

    Examples:
      commonplace instructions search "force push" --limit 5
      commonplace instructions search "how are secrets stored" --status approved --path src/app.py
    """
    answer = call(
        "instructions_search",
        q=query,
        limit=limit,
        highlight=True,
        status=status or None,
        categories=category or None,
        path=path,
    )
    if as_json:
        print_json(answer)
        return
    for item, marks in zip(answer["items"], answer["highlights"], strict=True):
        mark = "" if item["status"] == "approved" else f"  ({item['status']})"
        replaced = f", see {item['deprecatedBy']}" if item.get("deprecatedBy") else ""
        out.print(plain_text(f"{item['id']}  {item['title']}{mark}{replaced}", style="bold"))
        out.print(plain_text(f"  {marks['snippet']}"))
    for written, read in answer.get("corrected", {}).items():
        say(f"{written} was read as {read}")
    say(
        f"{len(answer['items'])} of {answer['count']}"
        + (" (no text contains all the words)" if answer.get("relaxed") else "")
    )
    if answer.get("note"):
        say(answer["note"])


def show(
    id_: Id,
    history: Annotated[
        bool, typer.Option("--history", help="Show its changes, with differences.")
    ] = False,
    archived: Annotated[bool, typer.Option("--archived", help="Also an archived one.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show one instruction.

    Example:
      commonplace instructions show no-force-push --history
    """
    item = existing_item(id_, archived=archived)
    changes = call("instructions_history", id=id_) if history else None
    if as_json:
        print_json(changes if changes is not None else item)
        return
    if changes is not None:
        for change in changes["changes"]:
            who = f"{change['by']} ({change['agent']})" if "agent" in change else change["by"]
            out.print(
                plain_text(
                    f"#{change['change']} {change['at']} {change['action']} by {who}", style="bold"
                )
            )
            for name, values in change["diff"]["fields"].items():
                out.print(plain_text(f"  {name}: {values['from']} -> {values['to']}"))
            out.print(plain_text(change["diff"]["bodyDiff"]))
        return
    facts = (
        "version",
        "status",
        "owner",
        "priority",
        "priorityTier",
        "requirement",
        "categories",
        "appliesTo",
        "languages",
        "activation",
        "nextReviewDue",
        "updatedAt",
        "sourceHash",
    )
    out.print(plain_text(item["title"], style="bold"))
    rows = [
        [name, _format_value(item.get(name))]
        for name in facts
        if name in item or name not in OPTIONAL_FACTS
    ]
    if "origin" in item:
        rows.append(["origin", f"{item['origin']['file']}:{item['origin'].get('line', 1)}"])
    out.print(table(("", ""), rows))
    out.print()
    out.print(plain_text(item["body"]))


def _format_value(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else "" if value is None else str(value)


def graph(
    format_: Annotated[
        str, typer.Option("--format", "-f", help="mermaid, dot or json.")
    ] = "mermaid",
    enrich: Annotated[bool, typer.Option(help="Add metadata and category nodes.")] = False,
    max_edges: Annotated[int | None, typer.Option(help="Cut the edges after this many.")] = None,
) -> None:
    """Draw how instructions share categories.

    Example:
      commonplace instructions graph --format dot | dot -Tsvg > graph.svg
    """
    answer = call(
        "graph_export",
        format=format_,
        enrich=enrich,
        includeCategoryNodes=enrich,
        maxEdges=max_edges,
    )
    if format_ == "json":
        print_json(answer)
    else:
        write_text(answer[format_])

"""`commonplace search` and `commonplace open`: everything by words, anything by reference."""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.cli.printing import JsonFlag, out, plain_text, print_json, say, table
from commonplace.cli.session import session
from commonplace.kernel.json_types import JsonObject
from commonplace.kernel.ref import RefKind


def search(
    query: Annotated[list[str], typer.Argument(help="What to find, in words or by name.")],
    kind: Annotated[
        list[RefKind] | None, typer.Option("--kind", "-k", help="One kind; may be repeated.")
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", "-p", help="Project of files, APIs and lessons.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Most results.")] = 10,
    as_json: JsonFlag = False,
) -> None:
    """Search rules, lessons, files and operations of stored APIs at once.

    Example:
      commonplace search refund an order --kind openapi
    """
    arguments: JsonObject = {"query": " ".join(query), "limit": limit}
    if kind:
        arguments["kinds"] = [str(name) for name in kind]
    if project is not None:
        arguments["project"] = project
    answer = session().call("search_all", arguments)
    if as_json:
        print_json(answer)
        return
    rows = [
        (f"{found['score']:.2f}", found["ref"], found["title"], found["why"], found["snippet"])
        for found in answer["results"]
    ]
    if rows:
        out.print(table(("score", "reference", "title", "because", "text"), rows))
    else:
        say("Nothing was found.")
    for name, reason in answer.get("unavailable", {}).items():
        say(f"{name}: not searched ({reason})")
    for note in answer.get("notes", ()):
        say(note)


def open_(
    refs: Annotated[
        list[str], typer.Argument(help="References, such as file:PROJECT/PATH#L10-L40.")
    ],
    budget: Annotated[int, typer.Option("--budget", "-b", help="Most tokens.")] = 2_000,
    as_json: JsonFlag = False,
) -> None:
    """Print what references name. Exit code 3 if one of them names nothing.

    Example:
      commonplace open 'file:demo/notes.md#L1-L20'
    """
    answer = session().call("open_ref", {"refs": refs, "budget": budget})
    if as_json:
        print_json(answer)
    for item in () if as_json else answer["items"]:
        if "error" in item:
            say(f"{item['ref']}: {item['error']['message']}")
            continue
        say(f"{item['ref']}  {item.get('title', '')}".rstrip())
        out.print(plain_text(item["text"].rstrip("\n")))
        if "next" in item:
            say(f"goes on: {item['next']}")
    if any("error" in item for item in answer["items"]):
        raise typer.Exit(3)

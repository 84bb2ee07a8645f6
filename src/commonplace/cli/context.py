"""`commonplace context TASK`: what matters for a task, from all toolsets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.printing import JsonFlag, out, plain_text, print_json, say
from commonplace.cli.session import session
from commonplace.context.model import DEFAULT_BUDGET, LEAST_BUDGET, MOST_BUDGET, PackSection
from commonplace.kernel.json_types import JsonObject


def context(
    task: Annotated[str, typer.Argument(help="The task or prompt, in words.")],
    path: Annotated[
        list[str] | None,
        typer.Option(help="A file that is open or about to change; repeat for more."),
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", "-p", help="Project of files and lessons.")
    ] = None,
    budget: Annotated[
        int, typer.Option(help="Most tokens of the answer.", min=LEAST_BUDGET, max=MOST_BUDGET)
    ] = DEFAULT_BUDGET,
    since: Annotated[
        str | None, typer.Option(help="Id of a pack: only what is new after it.")
    ] = None,
    repo: Annotated[
        Path | None, typer.Option(help="Folder of a repository whose rule files count too.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the scores.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show what matters for a task: rules, lessons, passages of files, API operations.

    Examples:
      commonplace context "Add pagination to the list of orders" --path src/orders/api.py
      commonplace context "Why is the database locked?" --budget 4000 --explain
    """
    arguments: JsonObject = {"task": task, "paths": path or [], "budget": budget}
    optional = {"project": project, "since": since, "repo": str(repo.resolve()) if repo else None}
    arguments |= {name: value for name, value in optional.items() if value is not None}
    pack = session().call("context", arguments | {"explain": explain})
    if as_json:
        print_json(pack)
        return
    for section in PackSection:
        for item in pack.get(section.value, ()):
            _print_item(section, item)
    for section, count in pack.get("cut", {}).items():
        say(f"{count} more in {section} did not fit")
    if pack.get("empty"):
        say(f"nothing relevant in {', '.join(pack['empty'])}")
    for note in pack.get("notes", ()):
        say(note)
    say(f"pack {pack['pack_id']}: at most {pack['tokens']:,} of {pack['budget']:,} tokens")


def _print_item(section: PackSection, item: JsonObject) -> None:
    facts = [item["why"], *item.get("marks", ())]
    if "updated" in item:
        facts.append(f"changed {item['updated']}")
    if item.get("cut"):
        facts.append("cut")
    heading = f"{section.value}: {item['ref']}"
    if "title" in item:
        heading += f"  {item['title']}"
    out.print(plain_text(f"{heading}\n  ({'; '.join(facts)})"), style="bold")
    if "explain" in item:
        scores = ", ".join(f"{name} {value}" for name, value in item["explain"].items())
        out.print(plain_text(f"  {scores}"), style="dim")
    if "text" in item:
        out.print(plain_text(item["text"]))
    out.print()

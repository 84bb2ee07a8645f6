"""`commonplace memory promote`: a rule from lessons."""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.cli.memory.access import split_tags
from commonplace.cli.printing import JsonFlag, out, plain_text, print_json, say, table
from commonplace.cli.session import session
from commonplace.kernel.json_types import JsonObject

SHOWN = ("id", "owner", "appliesTo", "languages", "activation", "categories", "requirement")


def promote(
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of the lessons.")] = None,
    suggestion: Annotated[
        str | None, typer.Option("--suggestion", help="Id of a generalisation, instead of ids.")
    ] = None,
    rule_id: Annotated[str, typer.Option("--id", help="Id of the rule.")] = "",
    title: Annotated[str, typer.Option("--title", help="Title of the rule.")] = "",
    body: Annotated[str, typer.Option("--body", help="Text of the rule.")] = "",
    owner: Annotated[str, typer.Option("--owner", help="Who answers for it.")] = "",
    applies_to: Annotated[
        list[str] | None, typer.Option("--applies-to", "-g", help="Glob of files; repeatable.")
    ] = None,
    categories: Annotated[
        list[str] | None, typer.Option("--category", help="A category; repeatable.")
    ] = None,
    submit: Annotated[
        bool, typer.Option("--submit", help="Submit it for review; otherwise only show it.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Draft a rule from lessons; show what everybody would read, and submit it on request.

    Example:
      commonplace memory promote 01M7KPP5BJ --applies-to "src/**/*.py" --owner ann
    """
    if not ids and suggestion is None:
        raise typer.BadParameter("Give ids of lessons, or --suggestion.")
    arguments: JsonObject = {
        "entries": ids or [],
        "id": rule_id,
        "title": title,
        "body": body,
        "owner": owner,
        "applies_to": applies_to or [],
        "categories": split_tags(categories),
    }
    if suggestion is not None:
        arguments["suggestion"] = suggestion
    answer = session().call("memory_promote", arguments)
    if submit:
        seen = {"preview_hash": answer["preview_hash"]}
        answer = session().call("memory_promote", {**arguments, **seen})
    if as_json:
        print_json(answer)
        return
    _print_rule(answer["rule"])
    rows = [
        (lesson["id"], lesson["title"], lesson.get("stale", "")) for lesson in answer["sources"]
    ]
    out.print(table(("lesson", "title", "stale"), rows))
    for warning in answer.get("warnings", ()):
        say(warning)
    for promoted in () if answer["submitted"] else answer.get("promoted", ()):
        say(f"a rule comes from these lessons already: {promoted}")
    if answer["submitted"]:
        say(f"submitted: commonplace instructions review show {answer['rule']['id']}")
    else:
        say("nothing was published; --submit asks for a review of this text")


def _print_rule(rule: JsonObject) -> None:
    out.print(plain_text(rule["title"], style="bold"))
    out.print(plain_text(rule["body"]))
    for name in SHOWN:
        value = rule.get(name)
        if value:
            text = ", ".join(value) if isinstance(value, list) else str(value)
            out.print(plain_text(f"{name}: {text}"))
    out.print(plain_text(f"rationale: {rule['rationale']}"))

"""Calls of instruction tools, and options that the commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from commonplace.cli.session import session
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import JsonObject

Id = Annotated[str, typer.Argument(metavar="ID", help="The instruction's id.")]


def call(tool: str, **arguments: Any) -> Any:
    return session().call(
        tool, {name: value for name, value in arguments.items() if value is not None}
    )


def existing_item(id_: str, *, archived: bool = False) -> JsonObject:
    answer = call("instructions_get", id=id_, archived=archived)
    if answer.get("notFound"):
        from commonplace.instructions.errors import INSTRUCTION_NOT_FOUND

        raise CommonplaceError(
            INSTRUCTION_NOT_FOUND,
            f"There is no instruction {id_}.",
            hint="It is archived: use --archived."
            if answer.get("archived")
            else "commonplace instructions search finds it.",
        )
    item: JsonObject = answer["item"]
    return item

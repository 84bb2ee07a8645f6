"""Warn the caller of a write about characters that readers of the stored text will not see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from commonplace.dispatch.tool import Output, RawResult, Rejected
from commonplace.kernel.hidden_characters import count_hidden, reveal, summarize
from commonplace.kernel.json_types import Json


def with_warnings(output: Output, warnings: Sequence[str]) -> Output:
    """Return a write's output with these warnings in it.

    They go to `warnings`, or to `notes` where the contract gives that name another meaning.
    Refusals and finished results are returned as they are.
    """
    if isinstance(output, (Rejected, RawResult)):
        return output
    fields = (
        output.model_dump(mode="json", exclude_none=True, by_alias=True)
        if isinstance(output, BaseModel)
        else dict(output)
    )
    for name in ("warnings", "notes"):
        present = fields.get(name, [])
        if isinstance(present, list) and all(isinstance(item, str) for item in present):
            return {**fields, name: [*present, *warnings]}
    return fields


def describe_hidden(arguments: Mapping[str, Json]) -> tuple[str, ...]:
    """Describe the hidden characters of each argument."""
    found = []
    for name, value in arguments.items():
        counted = count_hidden((name, value))
        if counted:
            found.append(
                f"{reveal(str(name))} holds {summarize(counted)}. They are stored as given, and "
                f"readers do not see them."
            )
    return tuple(found)

"""Complete ids, projects, paths, types and tags while a person types them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping

from commonplace.context.offering.calls import ClientCalls, call_if_offered
from commonplace.kernel.json_types import JsonObject

MOST_VALUES = 100
MOST_LESSONS = 1_000
LESSONS_AT_ONCE = 200
_ENTRY_TYPES = ("bug", "pattern", "decision", "pitfall", "config", "reference")
Given = Mapping[str, str]


async def complete(
    call: ClientCalls, target: str, argument: str, value: str, given: Given
) -> JsonObject:
    """Return values for an argument of a prompt or a variable of a template.

    `target` is the name of the prompt or the template; `given` are the other arguments.
    """
    find = _COMPLETERS.get((_kind(target), argument)) or _COMPLETERS.get(("", argument))
    values = list(dict.fromkeys(await find(call, value, given))) if find is not None else []
    return {
        "completion": {
            "values": values[:MOST_VALUES],
            "total": len(values),
            "hasMore": len(values) > MOST_VALUES,
        }
    }


def _kind(target: str) -> str:
    scheme, found, _ = target.partition(":///")
    return scheme if found else target


async def _instruction_ids(call: ClientCalls, value: str, given: Given) -> list[str]:
    if value.strip():
        asked = await call_if_offered(call, "instructions_search", {"q": value, "limit": 200})
    else:
        asked = await call_if_offered(call, "instructions_query", {"limit": 200})
    return _matching((item["id"] for item in (asked or {}).get("items", ())), value)


async def _lesson_ids(call: ClientCalls, value: str, given: Given) -> list[str]:
    return _matching([entry["id"] for entry in await _lessons(call)], value)


async def _lessons(call: ClientCalls) -> list[JsonObject]:
    """Return the newest lessons, up to a bound that is read in a moment."""
    entries: list[JsonObject] = []
    while len(entries) < MOST_LESSONS:
        arguments = {"limit": LESSONS_AT_ONCE, "offset": len(entries)}
        listed = await call_if_offered(call, "memory_list", arguments) or {}
        entries += listed.get("entries", ())
        if not listed.get("has_more"):
            break
    return entries


async def _projects(call: ClientCalls, value: str, given: Given) -> list[str]:
    found = await call_if_offered(call, "file_projects", {})
    return _matching((item["project"] for item in (found or {}).get("projects", ())), value)


async def _paths(call: ClientCalls, value: str, given: Given) -> list[str]:
    """Complete the last part of a path; directories end with a slash."""
    if not given.get("project"):
        return []
    folder = value.rpartition("/")[0]
    arguments = {"project": given["project"], "path": f"/{folder.strip('/')}" if folder else ""}
    found = await call_if_offered(call, "file_browse", arguments)
    entries = (found or {}).get("entries", ())
    names = (
        entry["path"].lstrip("/") + ("/" if entry["type"] == "DIRECTORY" else "")
        for entry in entries
    )
    return [name for name in names if name.startswith(value.lstrip("/"))]


async def _types(call: ClientCalls, value: str, given: Given) -> list[str]:
    return _matching(_ENTRY_TYPES, value)


async def _tags(call: ClientCalls, value: str, given: Given) -> list[str]:
    """Complete the last tag of a list; those before it are repeated and not offered again."""
    typed = [tag.strip() for tag in value.split(",")]
    before, last = typed[:-1], typed[-1]
    tags = {tag for entry in await _lessons(call) for tag in entry["tags"]}
    found = _matching(sorted(tags.difference(before)), last)
    return [",".join([*before, tag]) for tag in found]


_Completer = Callable[[ClientCalls, str, Given], Awaitable[list[str]]]
_COMPLETERS: Mapping[tuple[str, str], _Completer] = {
    ("instruction", "id"): _instruction_ids,
    ("explain-rule", "id"): _instruction_ids,
    ("memory", "id"): _lesson_ids,
    ("", "project"): _projects,
    ("", "path"): _paths,
    ("", "type"): _types,
    ("", "tags"): _tags,
}


def _matching(values: Iterable[str], typed: str) -> list[str]:
    """Return the values that contain what was typed, those that start with it first."""
    lowered = typed.strip().casefold()
    found = [value for value in values if lowered in value.casefold()]
    return sorted(found, key=lambda value: not value.casefold().startswith(lowered))

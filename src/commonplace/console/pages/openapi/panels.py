"""What the tabs show: each calls a tool and returns values for its template."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from commonplace.console.caller import Answer, CallError
from commonplace.console.page import Page
from commonplace.console.pages.openapi.details import describe_part
from commonplace.console.pages.openapi.view import STORED, View
from commonplace.console.pages.openapi.walks import WALKS, Walk, walk_arguments
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.kernel.ref import Ref

ROWS = 50
AROUND = 40  # lines shown before and after a line of the source
MAX_LINE_CHARS = 2000
MAX_SOURCE_CHARS = 150_000


@dataclass(frozen=True, slots=True)
class Panel:
    """A filled tab. `output` is what the tool returned, `document` a text that can be taken."""

    template: str
    values: JsonObject = field(default_factory=dict)
    output: Json = None
    error: CallError | None = None
    document: str | None = None


FillPanel = Callable[[Page, View], Awaitable[Panel]]


async def show_findings(page: Page, view: View) -> Panel:
    """Validate the document."""
    answer = await page.call(
        "oas_validate",
        {
            "spec": view.source.spec,
            "limit": ROWS,
            "offset": (view.page - 1) * ROWS,
            "no_warnings": view.flag("errors"),
            "strict": view.flag("strict"),
        },
    )
    if answer.error is not None:
        return Panel("findings", error=answer.error)
    found = answer.output
    rows = [*found.get("errors", ()), *found.get("warnings", ())]
    longest = max(found["error_count"], found["warning_count"])
    return Panel("findings", {"found": found, "rows": rows, "total": longest}, found)


async def show_parts(page: Page, view: View) -> Panel:
    """List the parts of one kind, count them by group, or show one of them."""
    walk = WALKS[view.tab]
    if view.text("schema"):
        return await _show_named_schema(page, view, walk)
    if view.text("item"):
        return await _show_part(page, view, walk)
    group_by = view.text("group_by")
    arguments: JsonObject = {
        "spec": view.source.spec,
        "limit": ROWS,
        "offset": (view.page - 1) * ROWS,
        **walk_arguments(walk, view),
    }
    if group_by in walk.groups:
        arguments["group_by"] = group_by
    answer = await page.call(walk.tool, arguments)
    if answer.error is not None:
        return Panel("parts", {"walk": walk, "item": None}, error=answer.error)
    found = answer.output
    values = {
        "walk": walk,
        "item": None,
        "total": found["matched"],
        "rows": [_cells(row) for row in found.get(walk.rows, ())],
        "groups": found.get("groups"),
        "first": (view.page - 1) * ROWS,
    }
    return Panel("parts", values, found)


async def _show_part(page: Page, view: View, walk: Walk) -> Panel:
    """Show the part with a number in the list, or every use of a reference."""
    arguments: JsonObject = {"spec": view.source.spec, "detail": True}
    if walk.item:
        number = view.number("item", 0)
        arguments |= {**walk_arguments(walk, view), "limit": 1, "offset": number}
    else:
        arguments |= {"target": view.text("item"), "limit": ROWS, "offset": (view.page - 1) * ROWS}
    return _part_panel(walk, await page.call(walk.tool, arguments))


async def _show_named_schema(page: Page, view: View, walk: Walk) -> Panel:
    arguments: JsonObject = {"spec": view.source.spec, "named": True, "detail": True, "limit": 1}
    return _part_panel(walk, await page.call(walk.tool, {**arguments, "name": view.text("schema")}))


def _part_panel(walk: Walk, answer: Answer) -> Panel:
    if answer.error is not None:
        return Panel("parts", {"walk": walk, "item": None}, error=answer.error)
    found = answer.output.get(walk.items) or []
    if not walk.item:
        values = {"walk": walk, "item": {}, "uses": found, "total": answer.output["matched"]}
        return Panel("part", values, answer.output)
    if not found:
        return Panel("part", {"walk": walk, "item": {}, "uses": None, "part": None})
    item = found[0]
    part = item.get(walk.item, item)
    text, tables = describe_part(walk.item, part)
    names = ("method", "status", "path", "name")
    title = " ".join(str(item[name]) for name in names if item.get(name))
    values = {
        "walk": walk,
        "item": item,
        "title": title,
        "part": part,
        "text": text,
        "tables": tables,
        "uses": None,
    }
    return Panel("part", values, item)


def _cells(row: Mapping[str, Json]) -> JsonObject:
    return {
        name: ", ".join(map(str, value)) if isinstance(value, list) else value
        for name, value in row.items()
    }


async def show_source(page: Page, view: View) -> Panel:
    """Show the text of the document around a line, or the part that a pointer names."""
    pointer = view.text("pointer")
    text = None if pointer else await _read_text(page, view)
    if text is None:
        arguments: JsonObject = {"spec": view.source.spec, "full": True}
        if pointer:
            arguments["pointer"] = pointer
        answer = await page.call("oas_parse", arguments)
        if answer.error is not None:
            return Panel("source", error=answer.error)
        text = str(answer.output.get("full_document") or "")
    return Panel("source", cut_source(text, view.number("line", 0)) | {"pointer": pointer})


async def _read_text(page: Page, view: View) -> str | None:
    """Return the text of a pasted or stored document; None if only its server has it."""
    if view.source.text is not None:
        return view.source.text
    if not view.source.name.startswith(STORED):
        return None
    try:
        ref = Ref.parse(view.source.name)
    except CommonplaceError:  # the tool says what is wrong with it
        return None
    answer = await page.call("file_read", {"project": ref.project, "path": ref.key})
    return str(answer.output["content"]) if answer.ok else None


def cut_source(text: str, line: int) -> JsonObject:
    """Return the lines to show: all of a small document, else those around a line."""
    if len(text) <= MAX_SOURCE_CHARS:
        return {"text": text, "first": 1, "line": line, "count": text.count("\n") + 1, "cut": False}
    lines = text.split("\n")
    wanted = min(max(line, 1), len(lines))
    first = max(1, wanted - AROUND)
    shown = "\n".join(entry[:MAX_LINE_CHARS] for entry in lines[first - 1 : wanted + AROUND])
    return {"text": shown, "first": first, "line": line, "count": len(lines), "cut": True}

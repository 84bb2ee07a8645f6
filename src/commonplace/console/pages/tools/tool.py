"""One tool: its form, the answer to a call, and the call in other forms."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import orjson
from starlette.responses import Response

from commonplace.console.errors import PageNotFound
from commonplace.console.form_data import FormData
from commonplace.console.page import Page, PageRoute
from commonplace.console.pages.tools.answer import make_copies, raw_text, render_parts
from commonplace.console.pages.tools.fields import PREFIX, ToolForm, make_form, texts_of
from commonplace.console.pages.tools.list import FILE_ENTRY, ListedTool, make_row

UNPROCESSABLE = 422


async def show(page: Page) -> Response:
    """Show the form; `args` in the address fills it."""
    tool, tools = await _find(page)
    form = make_form(tool["inputSchema"], _shared_texts(page, tool))
    return _render(page, tool, tools, form)


async def run(page: Page) -> Response:
    """Call the tool with the arguments of the form, and show the answer below it."""
    sent = await page.form()
    tool, tools = await _find(page)
    form = make_form(tool["inputSchema"], _texts(sent))
    if not form.is_valid:
        return _render(page, tool, tools, form, UNPROCESSABLE)
    begun = time.perf_counter()
    answer = await page.call(tool["name"], form.arguments)
    milliseconds = (time.perf_counter() - begun) * 1000
    value = answer.output if answer.error is None else {"error": dict(answer.error)}
    raw, language = raw_text(value)
    return _render(
        page,
        tool,
        tools,
        form,
        error=answer.error,
        milliseconds=round(milliseconds, 1),
        results=render_parts(value) if answer.error is None else [],
        raw=raw,
        raw_language=language,
        arguments=orjson.dumps(form.arguments).decode(),
        copies=make_copies(
            tool["name"], form.arguments, _endpoint(page), page.session.key is not None
        ),
    )


async def _find(page: Page) -> tuple[ListedTool, list[dict[str, Any]]]:
    name = page.parameter("name")
    tools = await page.caller.tools()
    found = next((tool for tool in tools if tool["name"] == name), None)
    if found is None:
        raise PageNotFound(f"No tool is called {name}.", "Open Tools to see all of them.")
    return found, tools


def _shared_texts(page: Page, tool: ListedTool) -> Mapping[str, str]:
    """Return the texts of the arguments in the address, which anybody may have typed."""
    try:
        arguments = orjson.loads(page.query("args") or "{}")
    except orjson.JSONDecodeError:
        return {}
    return texts_of(tool["inputSchema"], arguments) if isinstance(arguments, dict) else {}


def _texts(form: FormData) -> dict[str, str]:
    return {
        name.removeprefix(PREFIX): form.text(name)
        for name in form.fields
        if name.startswith(PREFIX)
    }


def _endpoint(page: Page) -> str:
    """Return the address of the server for other clients."""
    host = page.request.headers.get("host", "")
    scheme = "https" if page.parts.is_https(page.request.url.scheme) else "http"
    return page.caller.endpoint or f"{scheme}://{host}/mcp"


def _render(
    page: Page,
    tool: ListedTool,
    tools: list[dict[str, Any]],
    form: ToolForm,
    status: int = 200,
    **answer: object,
) -> Response:
    row = make_row(tool)
    siblings = [make_row(other) for other in tools] if row.is_file_tool else []
    return page.render(
        "pages/tools/tool.html",
        status,
        tool=tool,
        row=row,
        siblings=[other for other in siblings if other.is_file_tool],
        file_entry=FILE_ENTRY,
        form=form,
        answer=answer or None,
    )


ROUTES = (
    PageRoute("/tools/{name}", show),
    PageRoute("/tools/{name}", run, methods=("POST",)),
)

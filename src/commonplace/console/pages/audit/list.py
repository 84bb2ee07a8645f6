"""The list of records: filters and place in the address, new records by server-sent events."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson
from starlette.responses import Response

from commonplace.console.caller import Answer
from commonplace.console.live import stream_parts
from commonplace.console.page import Page, PageRoute
from commonplace.console.pages.audit.records import (
    MAX_EXPORT,
    OUTCOMES,
    PAGE_SIZE,
    AuditView,
    make_rows,
)
from commonplace.console.rendering import render, url


async def show(page: Page) -> Response:
    """Show the newest records, or those before the time in the address."""
    view = AuditView.of(page)
    answer = await page.call("audit_query", view.arguments(PAGE_SIZE))
    verdict = await page.call("audit_verify", {}) if page.query("verify") else None
    return page.render(
        "pages/audit/list.html",
        view=view,
        outcomes=OUTCOMES,
        verdict=verdict,
        newest=url("/audit", **view.query) if view.until else "",
        live="" if view.until else url("/live/audit", **view.query),
        export=url("/audit/export", **view.query),
        verify=url("/audit", **view.query, verify="1"),
        **_values(view, answer),
    )


def _values(view: AuditView, answer: Answer) -> dict[str, Any]:
    """Return the values of the part that lists records."""
    found = [] if answer.error is not None else answer.output["records"]
    shown = view.select(found, PAGE_SIZE)
    return {"error": answer.error, "records": make_rows(shown), "older": view.older(shown)}


async def stream(page: Page) -> Response:
    """Send the list whenever it changes."""
    view = AuditView.of(page)

    async def render_parts() -> Mapping[str, str]:
        values = _values(view, await page.call("audit_query", view.arguments(PAGE_SIZE)))
        return {"records": render(page.parts.environment, "pages/audit/records.html", values)}

    return stream_parts(page, render_parts)


async def export(page: Page) -> Response:
    """Download the records that match, whole, at most MAX_EXPORT."""
    view = AuditView.of(page)
    found = await page.ask("audit_query", view.arguments(MAX_EXPORT))
    records = view.select(found["records"], MAX_EXPORT)
    name = f"audit-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    return Response(
        orjson.dumps(records, option=orjson.OPT_INDENT_2),
        media_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


ROUTES = (
    PageRoute("/audit", show),
    PageRoute("/live/audit", stream),
    PageRoute("/audit/export", export),
)

"""One record, whole; a read can be run again."""

from __future__ import annotations

from starlette.responses import Response

from commonplace.console.caller import Answer
from commonplace.console.errors import PageNotFound
from commonplace.console.page import Page, PageRoute
from commonplace.console.pages.audit.records import AuditRow, after, is_replayable, make_row

MAX_CANDIDATES = 100


async def show(page: Page) -> Response:
    """Show a record."""
    return _render(page, await _find(page), None)


async def run_again(page: Page) -> Response:
    """Call the tool of a read again, with the permissions of this person."""
    await page.form()
    record = await _find(page)
    if not is_replayable(record):
        raise PageNotFound("This call cannot be run again.", "Open the tool and fill in its form.")
    return _render(page, record, await page.call(str(record["tool"]), record["arguments"]))


async def _find(page: Page) -> AuditRow:
    """Return the record that the address names. Raises PageNotFound."""
    at, trace = page.query("at"), page.query("trace")
    wanted = {"since": at, "until": after(at), "reads": True, "limit": MAX_CANDIDATES}
    if trace:
        wanted["trace_id"] = trace
    found = await page.ask("audit_query", wanted) if at else {"records": []}
    if not found["records"]:
        raise PageNotFound(
            "This audit record does not exist.",
            "Changes and refusals are kept until a configured retention removes them; reads only "
            "while the server that answered them runs.",
        )
    first: AuditRow = found["records"][0]
    return first


def _render(page: Page, record: AuditRow, answer: Answer | None) -> Response:
    return page.render(
        "pages/audit/record.html",
        record=record,
        row=make_row(record),
        is_read=record["chain"] is None,
        is_replayable=is_replayable(record),
        answer=answer,
    )


ROUTES = (
    PageRoute("/audit/record", show),
    PageRoute("/audit/record", run_again, methods=("POST",)),
)

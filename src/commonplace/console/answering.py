"""Run the handler of a page, and turn the reasons why it ended early into responses."""

from __future__ import annotations

import logging

from starlette.requests import Request
from starlette.responses import Response

from commonplace.console.caller import CallError
from commonplace.console.errors import CallFailed, FormRejected, PageNotFound, SignedOut
from commonplace.console.page import ConsoleParts, Page, PageHandler
from commonplace.console.redirects import turn_away
from commonplace.console.session import Session
from commonplace.kernel.errors import CommonplaceError

LOG = logging.getLogger(__name__)
NOT_FOUND = ("NOT_FOUND", "_NOT_FOUND")


async def answer_page(
    request: Request, session: Session, parts: ConsoleParts, handler: PageHandler
) -> Response:
    """Answer one request of a signed-in person."""
    page = Page(request, session, parts)
    try:
        return await _run(page, handler)
    except Exception:  # a defect of a page must not cost the person more than this page
        LOG.exception("The page %s failed.", page.path)
        return page.render(
            "problem.html",
            500,
            title="This page failed",
            problem="The server could not show this page. The reason is in its log.",
            hint="Reload the page. If it fails again, please report it.",
        )


async def _run(page: Page, handler: PageHandler) -> Response:
    try:
        return await handler(page)
    except SignedOut:
        return turn_away(page.request)
    except PageNotFound as missing:
        return page.render(
            "problem.html", 404, title="Not found", problem=missing.message, hint=missing.hint
        )
    except FormRejected as rejected:
        return page.render(
            "problem.html",
            rejected.status,
            title="The form was not accepted",
            problem=rejected.message,
            hint="",
        )
    except CallFailed as failed:
        return _render_failure(page, failed.error)
    except CommonplaceError as failed:  # the list of tools of a server that does not answer
        return _render_failure(page, failed.as_dict())


def _render_failure(page: Page, error: CallError) -> Response:
    is_missing = str(error.get("code")).endswith(NOT_FOUND)
    title = "Not found" if is_missing else "This did not work"
    return page.render("call_failed.html", 404 if is_missing else 200, title=title, error=error)

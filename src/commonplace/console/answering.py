"""Run the handler of a page, and turn the reasons why it ended early into responses."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from commonplace.console.errors import CallFailed, FormRejected, PageNotFound, SignedOut
from commonplace.console.page import ConsoleParts, Page, PageHandler
from commonplace.console.redirects import turn_away
from commonplace.console.session import Session

NOT_FOUND = ("NOT_FOUND", "_NOT_FOUND")


async def answer_page(
    request: Request, session: Session, parts: ConsoleParts, handler: PageHandler
) -> Response:
    """Answer one request of a signed-in person."""
    page = Page(request, session, parts)
    try:
        return await handler(page)
    except SignedOut:
        return turn_away(request)
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
        code = str(failed.error.get("code"))
        return page.render(
            "call_failed.html",
            404 if code.endswith(NOT_FOUND) else 200,
            title="Not found" if code.endswith(NOT_FOUND) else "This did not work",
            error=failed.error,
        )

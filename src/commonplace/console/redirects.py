"""Where a request comes from, and where people without a session are sent."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from commonplace.console.security import ROOT, address_of, login_address

MAX_ADDRESS = 64  # a proxy may forward any text


def turn_away(request: Request) -> Response:
    """Lead somebody without a session to the sign-in page, and back afterwards."""
    if request.headers.get("accept", "").startswith("text/event-stream"):
        return Response(status_code=401)
    wanted = address_of(request.scope) if request.method == "GET" else _page_of_form(request)
    target = login_address(wanted)
    if request.headers.get("hx-request") == "true":
        return Response(status_code=200, headers={"HX-Redirect": target})
    return RedirectResponse(target, 303)


def _page_of_form(request: Request) -> str:
    """Return the page that a form was sent from."""
    referrer = request.headers.get("referer", "")
    return referrer[referrer.find(ROOT) :] if ROOT in referrer else ""


def browser_address(request: Request) -> str | None:
    """Return the address of the browser; that of a trusted proxy is already replaced."""
    return None if request.client is None else request.client.host[:MAX_ADDRESS]

"""The console on a server: the ASGI application at /console and its routes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route, Router

from commonplace.console.redirects import browser_address, turn_away
from commonplace.console.security import ROOT, add_security_headers
from commonplace.console.session import COOKIE, Gate, Session, Sessions

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from commonplace.console.page import ConsoleParts, PageRoute

MIN_COMPRESSED_BYTES = 1000


class Console:
    """The application to mount at /console. Templates and pages are imported when it is opened."""

    def __init__(self, gate: Gate, version: str) -> None:
        self._sessions = Sessions(gate)
        self._version = version
        self._app: ASGIApp | None = None
        self._building = asyncio.Lock()
        self._stopping = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 4404})
            return
        app = self._app or await self._build()
        await app({**scope, "root_path": ""}, receive, add_security_headers(send))

    async def close(self) -> None:
        """End the open streams."""
        self._stopping.set()

    async def _build(self) -> ASGIApp:
        async with self._building:
            if self._app is None:
                self._app = await asyncio.to_thread(self._make_app)
            return self._app

    def _make_app(self) -> ASGIApp:
        from commonplace.console.assets.served import Assets
        from commonplace.console.page import ConsoleParts
        from commonplace.console.pages import PAGE_ROUTES
        from commonplace.console.rendering import make_environment
        from commonplace.console.signin import SignIn

        parts = ConsoleParts(
            make_environment(),
            Assets(),
            self._version,
            self._sessions.gate.is_https,
            self._stopping,
        )
        signin = SignIn(self._sessions, parts)
        guard = Guard(self._sessions, signin.remember)

        async def static(request: Request) -> Response:
            return parts.assets.respond(request)

        routes = [
            Route(f"{ROOT}/login", signin.login, methods=["GET", "POST"]),
            Route(f"{ROOT}/logout", signin.logout, methods=["POST"]),
            Route(f"{ROOT}/theme", signin.choose_theme, methods=["POST"]),
            Route(f"{ROOT}/static/{{name:path}}", static),
            *(_page_route(route, guard, parts) for route in PAGE_ROUTES),
        ]
        missing = guard.protect(_missing_page(parts))
        router = Router(routes, redirect_slashes=True, default=_as_app(missing))
        return GZipMiddleware(router, minimum_size=MIN_COMPRESSED_BYTES, compresslevel=5)


class Guard:
    """Finds the session of a request, or sends people to the sign-in page."""

    def __init__(
        self, sessions: Sessions, remember: Callable[[Response, Session, Request], None]
    ) -> None:
        self._sessions = sessions
        self._remember = remember

    def protect(
        self, answer: Callable[[Request, Session], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return an endpoint that runs `answer` for people with a session."""

        async def endpoint(request: Request) -> Response:
            address = browser_address(request)
            session = await asyncio.to_thread(self._sessions.find, request.cookies, address)
            is_new = session is None
            if session is None:
                session = self._sessions.open_without_key(address)
            if session is None:
                return turn_away(request)
            response = await answer(request, session)
            if response.headers.get("set-cookie", "").startswith(f"{COOKIE}="):
                return response
            if is_new or self._sessions.is_due(session):
                self._remember(response, session, request)
            return response

        return endpoint


def _page_route(route: PageRoute, guard: Guard, parts: ConsoleParts) -> Route:
    from commonplace.console.answering import answer_page

    async def answer(request: Request, session: Session) -> Response:
        return await answer_page(request, session, parts, route.handler)

    return Route(f"{ROOT}{route.path}", guard.protect(answer), methods=list(route.methods))


def _missing_page(parts: ConsoleParts) -> Callable[[Request, Session], Awaitable[Response]]:
    from commonplace.console.answering import answer_page
    from commonplace.console.errors import PageNotFound
    from commonplace.console.page import Page

    async def raise_missing(page: Page) -> Response:
        raise PageNotFound

    async def answer(request: Request, session: Session) -> Response:
        return await answer_page(request, session, parts, raise_missing)

    return answer


def _as_app(endpoint: Callable[[Request], Awaitable[Response]]) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        response = await endpoint(Request(scope, receive))
        await response(scope, receive, send)

    return app


def console_routes(
    console: Console, refuse: Callable[[Mapping[str, str], str], Response | None]
) -> list[BaseRoute]:
    """Return the routes /console, and / that leads there.

    `refuse` is the server's check of Host and Origin.
    """

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        headers: Mapping[str, str] = HTTPConnection(scope).headers
        if str(scope["path"]).startswith(f"{ROOT}/static/"):
            # Files that everybody may have; the sandboxed frame asks for them as origin "null".
            headers = {"host": headers.get("host", "")}
        refused = refuse(headers, scope.get("scheme", "http"))
        if refused is None:
            await console(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 4403})
        else:
            await refused(scope, receive, send)

    async def home(request: Request) -> Response:
        return RedirectResponse(f"{ROOT}/", 307)

    return [Route("/", home), Mount(ROOT, app=guarded)]

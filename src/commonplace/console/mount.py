"""The console on a server: an ASGI application at /console that guards pages, assets and
websocket, and is built when first opened.
"""

from __future__ import annotations

import asyncio
import hmac
import html
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, unquote

from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from commonplace.console.session import COOKIE, CSRF_COOKIE, Gate, Session, Sessions
from commonplace.kernel.errors import CommonplaceError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PATH = "/console"
HOME = f"{PATH}/"
MAX_FORM_BYTES = 16 * 1024
CONTENT_SECURITY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' "
    "'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; object-src 'none'; "
    "base-uri 'none'; form-action 'self'"
)
HEADERS = [
    (b"content-security-policy", CONTENT_SECURITY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
]


class Console:
    """Mount it at /console. `storage` is where NiceGUI may keep its own files."""

    def __init__(self, gate: Gate, version: str, storage: str) -> None:
        self._sessions = Sessions(gate)
        self._version = version
        self._storage = storage
        self._app: ASGIApp | None = None
        self._building = asyncio.Lock()
        self._stop = asyncio.Event()
        self._host: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope = {**scope, "root_path": ""}
        path = scope["path"].removeprefix(PATH).rstrip("/") or "/"
        if scope["type"] == "http":
            send = _with_headers(send)
            if path == "/login":
                return await self._login(scope, receive, send)
            if path == "/logout":
                return await self._logout(scope, receive, send)
        session = self._sessions.find(HTTPConnection(scope).cookies)
        if session is None:
            return await self._turn_away(scope, receive, send)
        scope["commonplace.session"] = session
        app = self._app or await self._build()
        await app(scope, receive, send)
        return None

    async def _turn_away(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 4401})
            return
        session = self._sessions.open_without_key()
        if session is not None:
            response: Response = RedirectResponse(scope["path"] + _query(scope), 303)
            self._remember(response, session, scope)
        else:
            response = RedirectResponse(f"{PATH}/login{_then(scope)}", 303)
        await response(scope, receive, send)

    async def _login(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if request.method != "POST":
            return await self._form(
                self._is_secure(scope), None, destination(request.query_params.get("next", ""))
            )(scope, receive, send)
        fields = await _fields(request)
        then = destination(fields.get("next", ""))
        expected = request.cookies.get(CSRF_COOKIE, "")
        if not expected or not hmac.compare_digest(expected, fields.get("csrf", "")):
            return await self._form(
                self._is_secure(scope), "The form was too old. Please try again.", then, 403
            )(scope, receive, send)
        try:
            session = await asyncio.to_thread(self._sessions.open, fields.get("key", "").strip())
        except CommonplaceError as refused:
            status = 429 if refused.retryable else 401
            return await self._form(self._is_secure(scope), refused.message, then, status)(
                scope, receive, send
            )
        response = RedirectResponse(then, 303)
        self._remember(response, session, scope)
        response.delete_cookie(CSRF_COOKIE, path=f"{PATH}/login")
        await response(scope, receive, send)
        return None

    async def _logout(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Only a POST ends the session: stored text cannot make a browser send one, and SameSite
        keeps other sites out.
        """
        if scope["method"] != "POST":
            return await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
        self._sessions.close(Request(scope).cookies.get(COOKIE, ""))
        response = RedirectResponse(f"{PATH}/login", 303)
        response.delete_cookie(COOKIE, path=PATH)
        await response(scope, receive, send)
        return None

    def _form(self, secure: bool, problem: str | None, then: str, status: int = 200) -> Response:
        token = secrets.token_urlsafe(24)
        page = (Path(__file__).parent / "login.html").read_text()
        page = (
            page.replace("%CSRF%", token)
            .replace("%PROBLEM%", _problem(problem))
            .replace("%NEXT%", html.escape(then))
        )
        response = HTMLResponse(page, status)
        response.set_cookie(
            CSRF_COOKIE,
            token,
            path=f"{PATH}/login",
            httponly=True,
            samesite="strict",
            secure=secure,
            max_age=900,
        )
        return response

    def _remember(self, response: Response, session: Session, scope: Scope) -> None:
        response.set_cookie(
            COOKIE,
            session.token,
            path=PATH,
            httponly=True,
            samesite="strict",
            secure=self._is_secure(scope),
        )

    def _is_secure(self, scope: Scope) -> bool:
        """Whether the browser must send the cookie over TLS only.

        A trusted proxy's X-Forwarded-Proto is in the scope's scheme.
        """
        return self._sessions.gate.is_https(scope.get("scheme", "http"))

    async def _build(self) -> ASGIApp:
        """Import NiceGUI off the event loop, then keep its lifespan in a task of its own."""
        async with self._building:
            if self._app is None:
                from commonplace.console.build import build_pages, prepare

                await asyncio.to_thread(prepare, self._storage)
                app = build_pages(self._sessions, self._version)
                started = asyncio.Event()

                async def host() -> None:
                    async with app.router.lifespan_context(app):
                        started.set()
                        await self._stop.wait()

                self._host = asyncio.create_task(host())
                waiter = asyncio.create_task(started.wait())
                await asyncio.wait({waiter, self._host}, return_when=asyncio.FIRST_COMPLETED)
                waiter.cancel()
                if self._host.done():
                    self._host.result()
                self._app = app
            return self._app

    async def close(self) -> None:
        self._stop.set()
        if self._host is not None:
            await asyncio.wait({self._host}, timeout=5)


def console_routes(
    console: Console, refuse: Callable[[Mapping[str, str], str], Response | None]
) -> list[BaseRoute]:
    """/console, and / that leads there. `refuse` is the server's check of Host and Origin."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        refused = refuse(headers, scope.get("scheme", "http"))
        if refused is None:
            await console(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 4403})
        else:
            await refused(scope, receive, send)

    async def home(request: Request) -> Response:
        return RedirectResponse(f"{PATH}/", 307)

    return [Route("/", home), Mount(PATH, app=guarded)]


async def _fields(request: Request) -> dict[str, str]:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            return {}
    return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
        await send(message)

    return sending


def destination(wanted: str) -> str:
    """Where to go after signing in: a view of this console, or its first page where what was
    asked for is anything else.
    """
    path = unquote(wanted.partition("?")[0])
    both = wanted + path  # as sent, and as a browser might come to read it
    if (
        not both.isprintable()
        or "//" in both
        or "\\" in both
        or {".", ".."} & set(path.split("/"))
        or not wanted.startswith(HOME)
    ):
        return HOME
    return HOME if path.rstrip("/") in (f"{PATH}/login", f"{PATH}/logout") else wanted


def _then(scope: Scope) -> str:
    """The view that was asked for, as the query of the login page; nothing for the first page
    and for what is no page.
    """
    if scope["method"] != "GET" or scope["path"].startswith(f"{PATH}/_nicegui"):
        return ""
    wanted = destination(quote(scope["path"]) + _query(scope))
    return "" if wanted == HOME else f"?next={quote(wanted, safe='/')}"


def _query(scope: Mapping[str, Any]) -> str:
    query = scope.get("query_string", b"").decode("latin-1")
    return f"?{query}" if query else ""


def _problem(problem: str | None) -> str:
    return f'<p class="problem" role="alert">{html.escape(problem)}</p>' if problem else ""

"""The console on a server: an ASGI application at /console that guards pages, assets and websocket, and is built when first opened."""

from __future__ import annotations

import asyncio
import hmac
import html
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from commonplace.console.session import COOKIE, CSRF_COOKIE, Gate, Session, Sessions
from commonplace.kernel.errors import CommonplaceError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PATH = "/console"
MAX_FORM_BYTES = 16 * 1024
CONTENT_SECURITY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; object-src 'none'; base-uri 'none'; form-action 'self'"
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
            self._remember(response, session)
        else:
            response = RedirectResponse(f"{PATH}/login", 303)
        await response(scope, receive, send)

    async def _login(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if request.method != "POST":
            return await self._form(None)(scope, receive, send)
        fields = await _fields(request)
        expected = request.cookies.get(CSRF_COOKIE, "")
        if not expected or not hmac.compare_digest(expected, fields.get("csrf", "")):
            return await self._form("The form was too old. Please try again.", 403)(scope, receive, send)
        try:
            session = await asyncio.to_thread(self._sessions.open, fields.get("key", "").strip())
        except CommonplaceError as refused:
            status = 429 if refused.retryable else 401
            return await self._form(refused.message, status)(scope, receive, send)
        response = RedirectResponse(f"{PATH}/", 303)
        self._remember(response, session)
        response.delete_cookie(CSRF_COOKIE, path=f"{PATH}/login")
        await response(scope, receive, send)
        return None

    async def _logout(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Only a POST ends the session: stored text cannot make a browser send one, and SameSite keeps other sites out."""
        if scope["method"] != "POST":
            return await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
        self._sessions.close(Request(scope).cookies.get(COOKIE, ""))
        response = RedirectResponse(f"{PATH}/login", 303)
        response.delete_cookie(COOKIE, path=PATH)
        await response(scope, receive, send)
        return None

    def _form(self, problem: str | None, status: int = 200) -> Response:
        token = secrets.token_urlsafe(24)
        response = HTMLResponse(LOGIN_PAGE.replace("%CSRF%", token).replace("%PROBLEM%", _problem(problem)), status)
        response.set_cookie(
            CSRF_COOKIE, token, path=f"{PATH}/login", httponly=True, samesite="strict", secure=self._sessions.gate.secure_cookie, max_age=900
        )
        return response

    def _remember(self, response: Response, session: Session) -> None:
        response.set_cookie(COOKIE, session.token, path=PATH, httponly=True, samesite="strict", secure=self._sessions.gate.secure_cookie)

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


def _query(scope: Mapping[str, Any]) -> str:
    query = scope.get("query_string", b"").decode("latin-1")
    return f"?{query}" if query else ""


def _problem(problem: str | None) -> str:
    return f'<p class="problem" role="alert">{html.escape(problem)}</p>' if problem else ""


LOGIN_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in - Commonplace</title>
<style>
:root { color-scheme: light dark; --ink: #1d2733; --paper: #f6f5f1; --card: #fff; --line: #d9d6cc; --accent: #0b6e69; --bad: #a3241f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7ecf1; --paper: #12181f; --card: #1a222c; --line: #33404d; --accent: #4fb8b1; --bad: #ff8a84; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { width: min(24rem, 92vw); background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 2rem; }
h1 { margin: 0 0 .25rem; font-size: 1.4rem; } p { margin: 0 0 1.25rem; }
label { display: block; font-weight: 600; margin-bottom: .35rem; }
input { width: 100%; padding: .65rem .75rem; border: 1px solid var(--line); border-radius: 8px; background: transparent; color: inherit; font: inherit; }
button { margin-top: 1rem; width: 100%; padding: .7rem; border: 0; border-radius: 8px; background: var(--accent); color: var(--card); font: inherit; font-weight: 600; cursor: pointer; }
.problem { color: var(--bad); font-weight: 600; }
small { display: block; margin-top: 1.25rem; opacity: .8; }
code { font-size: .9em; }
</style></head><body><main>
<h1>Commonplace</h1><p>Sign in with your key.</p>%PROBLEM%
<form method="post" action="/console/login"><input type="hidden" name="csrf" value="%CSRF%">
<label for="key">API key</label><input id="key" name="key" type="password" autocomplete="current-password" required autofocus>
<button type="submit">Sign in</button></form>
<small>No key yet? On the server: <code>commonplace keys add --label you --scope read</code></small>
</main></body></html>"""

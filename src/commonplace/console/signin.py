"""Sign in with a key, sign out, choose a theme."""

from __future__ import annotations

import asyncio
import secrets

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from commonplace.console.errors import FormRejected
from commonplace.console.form_data import FormData, read_form
from commonplace.console.page import THEME_COOKIE, THEMES, ConsoleParts
from commonplace.console.redirects import browser_address
from commonplace.console.rendering import render
from commonplace.console.security import HOME, ROOT, is_same_token, safe_destination
from commonplace.console.session import COOKIE, Session, Sessions
from commonplace.kernel.errors import CommonplaceError

CSRF_COOKIE = "commonplace_csrf"
MAX_FORM_BYTES = 16 * 1024
YEAR_SECONDS = 365 * 24 * 3600


class SignIn:
    """The pages for people who are not signed in."""

    def __init__(self, sessions: Sessions, parts: ConsoleParts) -> None:
        self._sessions = sessions
        self._parts = parts

    async def login(self, request: Request) -> Response:
        """Show the form, or sign in with the key that was sent."""
        if request.method != "POST":
            return self._form(request, None, safe_destination(request.query_params.get("next", "")))
        form = await _small_form(request)
        target = safe_destination(form.text("next"))
        expected = request.cookies.get(CSRF_COOKIE, "")
        if not is_same_token(expected, form.text("csrf")):
            return self._form(request, "The form was too old. Please try again.", target, 403)
        try:
            key, address = form.text("key").strip(), browser_address(request)
            session = await asyncio.to_thread(self._sessions.open, key, address)
        except CommonplaceError as refused:
            status = 429 if refused.retryable else 401
            return self._form(request, refused.message, target, status)
        response = RedirectResponse(target, 303)
        self.remember(response, session, request)
        response.delete_cookie(CSRF_COOKIE, path=f"{ROOT}/login")
        return response

    async def logout(self, request: Request) -> Response:
        """End the session. Only POST requests do: a link in a stored text cannot send one."""
        response = RedirectResponse(f"{ROOT}/login", 303)
        response.delete_cookie(COOKIE, path=ROOT)
        return response

    async def choose_theme(self, request: Request) -> Response:
        """Keep the theme in a cookie and return to the page, for browsers without scripts."""
        form = await _small_form(request)
        response = RedirectResponse(safe_destination(form.text("next")), 303)
        theme = form.text("theme")
        response.set_cookie(
            THEME_COOKIE,
            theme if theme in THEMES else "",
            path=ROOT,
            max_age=YEAR_SECONDS,
            samesite="lax",
            secure=self._is_secure(request),
        )
        return response

    def remember(self, response: Response, session: Session, request: Request) -> None:
        """Set the cookie of a session."""
        response.set_cookie(
            COOKIE,
            self._sessions.cookie(session),
            path=ROOT,
            httponly=True,
            samesite="lax",
            secure=self._is_secure(request),
        )

    def _form(
        self, request: Request, problem: str | None, target: str, status: int = 200
    ) -> Response:
        token = secrets.token_urlsafe(24)
        theme = request.cookies.get(THEME_COOKIE, "")
        values = {
            "problem": problem,
            "target": "" if target == HOME else target,
            "csrf_token": token,
            "assets": self._parts.assets,
            "theme": theme if theme in THEMES else "",
        }
        response = HTMLResponse(render(self._parts.environment, "login.html", values), status)
        response.set_cookie(
            CSRF_COOKIE,
            token,
            path=f"{ROOT}/login",
            httponly=True,
            samesite="strict",
            secure=self._is_secure(request),
            max_age=900,
        )
        return response

    def _is_secure(self, request: Request) -> bool:
        """Whether browsers must send cookies over TLS only."""
        return self._parts.is_https(request.url.scheme)


async def _small_form(request: Request) -> FormData:
    length = request.headers.get("content-length", "")
    if not (length.isascii() and length.isdigit() and int(length) <= MAX_FORM_BYTES):
        return FormData({})
    try:
        return await read_form(request)
    except FormRejected:
        return FormData({})

"""One request of a signed-in person: what was asked, calls to the product, and the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from commonplace.console.assets.served import Assets
from commonplace.console.caller import Answer, Caller
from commonplace.console.errors import CallFailed, FormRejected, SignedOut
from commonplace.console.flash import Flash, clear_flash, read_flash, write_flash
from commonplace.console.form_data import FormData, read_form
from commonplace.console.rendering import render, url
from commonplace.console.security import address_of, is_same_token
from commonplace.console.session import Session

if TYPE_CHECKING:
    from jinja2 import Environment

CSRF_FIELD = "csrf"
CSRF_HEADER = "x-csrf-token"
THEME_COOKIE = "commonplace_theme"
THEMES = ("light", "dark")

PageHandler = Callable[["Page"], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class PageRoute:
    """An address of the console (below /console) and the function that answers it."""

    path: str
    handler: PageHandler
    methods: Sequence[str] = ("GET",)


@dataclass(frozen=True, slots=True)
class NavigationItem:
    """A page that the navigation offers."""

    title: str
    path: str
    icon: str


NAVIGATION = (
    NavigationItem("Overview", "/", "overview"),
    NavigationItem("Context", "/context", "context"),
    NavigationItem("Instructions", "/instructions", "instructions"),
    NavigationItem("Files", "/files", "files"),
    NavigationItem("Memory", "/memory", "memory"),
    NavigationItem("Capture", "/capture", "inbox"),
    NavigationItem("OpenAPI", "/openapi", "openapi"),
    NavigationItem("Tools", "/tools", "tools"),
    NavigationItem("Audit", "/audit", "audit"),
)


@dataclass(frozen=True, slots=True)
class ConsoleParts:
    """What all pages share."""

    environment: Environment
    assets: Assets
    version: str
    is_https: Callable[[str], bool]
    stopping: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class Page:
    """A request, with everything a handler needs to answer it."""

    request: Request
    session: Session
    parts: ConsoleParts

    @property
    def caller(self) -> Caller:
        return self.session.caller

    @property
    def may_write(self) -> bool:
        return "write" in self.caller.scopes

    @property
    def is_admin(self) -> bool:
        return "admin" in self.caller.scopes

    def query(self, name: str, default: str = "") -> str:
        """Return a parameter of the address."""
        return self.request.query_params.get(name, default).strip()

    def number(self, name: str, default: int, least: int = 1) -> int:
        """Return a number of the address, which anybody may have typed."""
        text = self.query(name)
        is_number = text.isascii() and text.isdigit() and len(text) < 9
        return max(least, int(text)) if is_number else default

    def parameter(self, name: str) -> str:
        """Return a part of the path, decoded."""
        return str(self.request.path_params[name])

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """Call a tool with the permissions of this person. Raises SignedOut."""
        answer = await self.caller.call(tool, arguments)
        if answer.error is not None and answer.error.get("code") == "UNAUTHENTICATED":
            raise SignedOut
        return answer

    async def ask(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool and return its output. Raises CallFailed, which becomes an error page."""
        answer = await self.call(tool, arguments)
        if answer.error is not None:
            raise CallFailed(answer.error)
        return answer.output

    async def form(self) -> FormData:
        """Read the form of a POST request. Raises FormRejected without a valid token."""
        form = await read_form(self.request)
        sent = self.request.headers.get(CSRF_HEADER) or form.text(CSRF_FIELD)
        if not is_same_token(self.session.csrf_token, sent):
            raise FormRejected(
                "This form is no longer valid, so nothing was changed. "
                "Go back, reload the page and send it again; your text was kept.",
                403,
            )
        return form

    def render(self, template: str, /, status: int = 200, **values: object) -> Response:
        """Answer with a page."""
        flash = read_flash(self.request.cookies)
        html = render(
            self.parts.environment,
            template,
            {
                "page": self,
                "navigation": NAVIGATION,
                "here": self.path,
                "assets": self.parts.assets,
                "theme": self.theme,
                "csrf_token": self.session.csrf_token,
                "flash": flash,
                "version": self.parts.version,
                **values,
            },
        )
        response = HTMLResponse(html, status)
        if flash is not None:
            clear_flash(response)
        return response

    def redirect(self, path: str, flash: Flash | None = None, /, **query: object) -> Response:
        """Answer a form: go to a page, which shows the message."""
        response = RedirectResponse(url(path, **query), 303)
        if flash is not None:
            write_flash(response, flash, self.parts.is_https(self.request.url.scheme))
        return response

    @property
    def path(self) -> str:
        """The path below /console."""
        return str(self.request.scope["path"]).removeprefix("/console") or "/"

    @property
    def address(self) -> str:
        """Path and query, to come back here."""
        return address_of(self.request.scope)

    @property
    def theme(self) -> str:
        """The chosen theme; empty follows the system."""
        chosen = self.request.cookies.get(THEME_COOKIE, "")
        return chosen if chosen in THEMES else ""

    @property
    def is_partial(self) -> bool:
        """Whether htmx asks for a part of the page."""
        return self.request.headers.get("hx-request") == "true"

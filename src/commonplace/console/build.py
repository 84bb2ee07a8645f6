"""NiceGUI, prepared and mounted: the only place that starts it.

Importing this module is cheap; calling it is not.
"""

from __future__ import annotations

import os
import secrets
from importlib import import_module

from starlette.applications import Starlette

from commonplace.console.session import Sessions

PAGES = ("overview", "instructions", "files", "memory", "openapi", "tools", "audit")


def prepare(storage: str) -> None:
    """The slow import, for a thread."""
    os.environ.setdefault("NICEGUI_STORAGE_PATH", storage)
    import_module("nicegui.ui")


def build_pages(sessions: Sessions, version: str) -> Starlette:
    from nicegui import Client, ui
    from nicegui import app as nicegui
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, Response

    from commonplace.console.shell import Shell, empty

    app = Starlette()
    shell = Shell(sessions, version)
    for name in PAGES:
        import_module(f"commonplace.console.pages.{name}").register(shell)

    @nicegui.exception_handler(404)
    async def missing(request: Request, exception: Exception) -> Response:
        """A mistyped address is answered by the console, from where everything else can be
        reached.
        """
        if "commonplace.session" not in request.scope or "/_nicegui" in request.url.path:
            return PlainTextResponse("Not Found", 404)
        with Client(ui.page(""), request=request) as client, shell.page("Not found"):
            empty(
                "There is no such page.",
                "Choose one above, or press Ctrl+K and type a part of its name.",
            )
        return client.build_response(request, 404)

    ui.run_with(
        app,  # type: ignore[arg-type]  # typed FastAPI, works with its base
        mount_path="/console",
        title="Commonplace",
        favicon="📖",
        language="en-US",
        show_welcome_message=False,
        binding_refresh_interval=None,
        reconnect_timeout=10,
        storage_secret=secrets.token_urlsafe(32),
        session_middleware_kwargs={"same_site": "strict", "path": "/console"},
    )
    return app

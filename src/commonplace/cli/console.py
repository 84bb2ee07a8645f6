"""`commonplace console`: the web console in its own process, for a server elsewhere."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli.session import session
from commonplace.kernel.errors import NOT_AVAILABLE, UNAUTHENTICATED, CommonplaceError
from commonplace.storage.credentials.server_secret import ServerSecret, read_secret_file

if TYPE_CHECKING:
    from commonplace.console.session import Gate

DEFAULT_SERVER = "http://127.0.0.1:8787"
MAX_REMOTES = 256  # keys whose connections are kept


def console(
    server: Annotated[
        str, typer.Option("--server", help="The server to look at.")
    ] = DEFAULT_SERVER,
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            envvar="COMMONPLACE_KEY",
            help="Key to use; without one people sign in if the server requires keys.",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", help="Port on 127.0.0.1.", min=0, max=65535)
    ] = 8788,
) -> None:
    """Serve the web console for a server elsewhere.

    Example: commonplace console --server https://commonplace.example --key cp_...
    """
    if find_spec("jinja2") is None:
        raise CommonplaceError(
            NOT_AVAILABLE,
            "The console is not installed.",
            hint="pip install 'commonplace[console]'",
        )
    secret = ServerSecret(lambda: read_secret_file(session().config().settings.data))
    _serve(_gate(server, key, secret.derive), server, port)


def _gate(server: str, key: str | None, derive_key: Callable[[str], bytes]) -> Gate:
    """Return how people get in: as the configured key, or by signing in with their own."""
    from commonplace.console.caller import Remote
    from commonplace.console.session import Gate

    @functools.lru_cache(maxsize=MAX_REMOTES)
    def caller_of(own_key: str) -> Remote:
        remote = Remote(server, own_key)
        remote.check()
        return remote

    def sign_in(own_key: str, address: str | None) -> Remote:
        return caller_of(own_key)

    def resume(own_key: str, address: str | None) -> Remote:
        try:
            return caller_of(own_key)
        except CommonplaceError as error:
            if error.code is NOT_AVAILABLE:  # the pages say so until the server answers again
                return Remote(server, own_key)
            raise

    configured = Remote(server, key)
    try:
        configured.check()
    except CommonplaceError as error:
        if key is not None or error.code is not UNAUTHENTICATED:
            raise
        return Gate(sign_in, resume, derive_key)  # the server wants keys: each person signs in
    return Gate(sign_in, resume, derive_key, lambda address: configured)


def _serve(gate: Gate, server: str, port: int) -> None:
    import uvicorn
    from starlette.applications import Starlette

    from commonplace import __version__
    from commonplace.console.mount import Console, console_routes
    from commonplace.edge.http.listen import STOP_SECONDS, StoppingServer, address_of, bind
    from commonplace.edge.http.reach import HttpOptions, make_reach_check

    board = Console(gate, __version__)
    app = Starlette(routes=console_routes(board, make_reach_check(HttpOptions())))
    listener = bind("127.0.0.1", port)
    typer.echo(f"Console for {server} on http://{address_of(listener)}/console/", err=True)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=STOP_SECONDS
    )
    StoppingServer(config, [board.close]).run(sockets=[listener])

"""`commonplace serve`: parse the options, build the application, run a transport.

Imports at the top of this module slow down every stdio server.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.cli.terminal import write_error
from commonplace.kernel.errors import INVALID_ARGUMENT, INVALID_CONFIG, CommonplaceError
from commonplace.kernel.json_types import JsonObject

if TYPE_CHECKING:
    from commonplace.bootstrap.app import App
    from commonplace.dispatch.registry import Selection
    from commonplace.kernel.config.loading import Config

SUMMARY = "Serve MCP: on stdin and stdout, or over HTTP with --http."
EXAMPLES = """\
examples:
  commonplace serve                            one client on stdin and stdout
  commonplace serve --http 127.0.0.1:8787      Streamable HTTP at /mcp, bare JSON-RPC at /rpc
  commonplace serve --attach                   one client of the local server, which many share
  commonplace serve --toolsets files,memory    offer only these toolsets
  commonplace serve --profile core             list few tools: the least tokens
  commonplace serve --profile rekall           list exactly the nine tools of Rekall
  MCP_ENABLE_MUTATION=1 commonplace serve      allow changes to the instruction catalogue
"""


LEAVE_SECONDS = 5.0
# Calls leave few cycles behind; collecting after every 700 objects costs a third of a write.
COLLECT_AFTER = (20_000, 10, 10)


def serve(arguments: Sequence[str]) -> int:
    try:
        options = parser().parse_args(arguments)
    except SystemExit as ended:  # argparse ends the process on --help and on wrong flags
        return int(ended.code or 0)
    try:
        if options.attach:
            from commonplace.cli.local.attaching import attach

            attach(options, arguments)
        code = _serve(options)
        _leave_soon(code)
        return code
    except CommonplaceError as error:
        return report(error)
    except OSError as error:
        from commonplace.storage.disk.access import unusable_path

        return report(unusable_path(error))


def _leave_soon(code: int) -> None:
    """End the process after a few seconds, even if a thread still works on an abandoned call."""
    timer = threading.Timer(LEAVE_SECONDS, os._exit, (code,))
    timer.daemon = True
    timer.start()


def report(error: CommonplaceError) -> int:
    """Print an error to stderr and return its exit code."""
    from commonplace.cli.wording import as_typed
    from commonplace.dispatch.error_table import numbers_of

    write_error(f"error: {as_typed(error.message)}")
    if error.hint:
        write_error(f"hint: {as_typed(error.hint)}")
    return numbers_of(error).exit_code


def load_options(
    options: argparse.Namespace,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Config:
    """Load the settings of a server with these options; `folder` is where it would run."""
    from commonplace.kernel.config.loading import load

    file = options.config
    if file is not None and folder is not None:
        file = folder / file
    return load(file=file, data=options.data, environ=environ, flags=_flags(options), cwd=folder)


def _serve(options: argparse.Namespace) -> int:
    if options.socket:
        from commonplace.cli.local.server import serve_socket

        gc.set_threshold(*COLLECT_AFTER)
        return serve_socket(options)
    from commonplace.bootstrap.app import build

    config = load_options(options)
    local = options.http is None
    gc.set_threshold(*COLLECT_AFTER)
    with (
        build(config.settings, selection=profile_selection(options, config), local=local) as app,
        app.claim_data_folder(),
    ):
        app.start(http=not local or app.settings.dashboard.enabled)
        if options.http is not None:
            return _serve_http(app, options)
        app.product.stdio_auth()  # report a wrong COMMONPLACE_KEY now
        if app.settings.dashboard.enabled:
            from commonplace.cli.dashboard import serve_with_dashboard

            return serve_with_dashboard(app)
        from commonplace.edge.stdio.transport import serve as serve_stdio

        return serve_stdio(app.product)


def _serve_http(app: App, options: argparse.Namespace) -> int:
    from commonplace.bootstrap.web import http_options
    from commonplace.edge.http.listen import serve_http

    host, port = _address(options.http, app.settings.server.host, app.settings.server.port)
    return serve_http(
        app.product, http_options(app, host), host, port, lambda address: _announce(app, address)
    )


def _announce(app: App, address: str) -> None:
    from commonplace.cli.wording import as_typed

    settings = app.settings
    closed = "MCP_ENABLE_MUTATION=1 opens the catalogue"
    writes = "the instruction catalogue can be changed" if app.services.mutation() else closed
    lines = [
        f"Commonplace {app.product.version} listens on http://{address}/mcp",
        f"  connect:  commonplace connect claude-code --http http://{address}/mcp",
        f"  console:  http://{address}/console/"
        if find_spec("jinja2")
        else "  console:  pip install 'commonplace[console]'",
        f"  data:     {settings.data}",
        f"  auth:     {settings.auth.mode}",
        f"  writes:   {writes}",
    ]
    sys.stderr.write(as_typed("\n".join(lines)) + "\n")
    sys.stderr.flush()


def _flags(options: argparse.Namespace) -> JsonObject:
    flags: JsonObject = {}
    if options.read_only:
        flags["server.read_only"] = True
    if options.all_tools:
        flags["server.all_tools"] = True
    if options.auth:
        flags["auth.mode"] = options.auth
    if options.no_worker:
        flags["mcp.files.index.workers"] = 0
    for name in ("toolsets", "tools", "exclude_tools"):
        value = getattr(options, name)
        if value is not None:
            flags[f"server.{name}"] = tuple(
                part.strip() for part in value.split(",") if part.strip()
            )
    return flags


def profile_selection(options: argparse.Namespace, config: Config) -> Selection | None:
    """Return the selection of a profile within that of the settings; None without a profile."""
    if options.profile is None:
        return None
    from dataclasses import replace

    from commonplace.bootstrap.offer import selection_of
    from commonplace.cli.profiles import PROFILES

    profile, narrowed = PROFILES[options.profile], selection_of(config.settings)
    if (
        narrowed.toolsets is not None
        and not narrowed.tools
        and narrowed.toolsets.isdisjoint(profile.toolsets)
    ):
        raise CommonplaceError(
            INVALID_CONFIG,
            f"The profile {options.profile} lists tools of "
            f"{', '.join(sorted(profile.toolsets))}, "
            f"and server.toolsets allows only {', '.join(sorted(narrowed.toolsets))}.",
            hint="Drop --profile, or add its toolset to --toolsets or server.toolsets.",
        )
    within = (
        replace(narrowed, all_tiers=True)
        if narrowed.toolsets is not None or narrowed.tools is not None
        else None
    )
    return replace(
        profile.selection,
        read_only=narrowed.read_only,
        exclude=narrowed.exclude,
        within=within,
    )


def _address(text: str, default_host: str, default_port: int) -> tuple[str, int]:
    """Parse `HOST:PORT`, `PORT`, `HOST` or nothing."""
    host, _, port = (
        text.rpartition(":")
        if ":" in text.rsplit("]", 1)[-1]
        else (("", "", text) if text.isdigit() else (text, "", ""))
    )
    if port and (not port.isdigit() or int(port) > 65535):
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"--http takes HOST:PORT, not {text!r}.",
            hint="For example --http 127.0.0.1:8787.",
        )
    return host.strip("[]") or default_host, int(port) if port else default_port


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="commonplace serve",
        description=SUMMARY,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_ways(parser.add_mutually_exclusive_group())
    parser.add_argument(
        "--config",
        type=Path,
        help="configuration file (default ./commonplace.yaml, then the user's)",
    )
    parser.add_argument(
        "--data",
        type=Path,
        help="folder of all state (default COMMONPLACE_HOME, then the user's data folder)",
    )
    parser.add_argument(
        "--auth",
        choices=("none", "keys", "passthrough"),
        help="how callers authenticate (default from the configuration: none)",
    )
    parser.add_argument("--read-only", action="store_true", help="refuse every tool that writes")
    parser.add_argument(
        "--toolsets", metavar="A,B", help="offer only these toolsets and refuse calls to others"
    )
    parser.add_argument(
        "--tools",
        metavar="A,B",
        help="offer these tools, in addition to --toolsets, and refuse all others",
    )
    parser.add_argument("--exclude-tools", metavar="A,B", help="refuse these tools")
    parser.add_argument("--all-tools", action="store_true", help="list extended tools too")
    parser.add_argument(
        "--no-worker",
        action="store_true",
        help="leave indexing to `commonplace worker` and to other servers",
    )
    parser.add_argument(
        "--profile",
        choices=("core", "rekall", "oastools"),
        help="list only the few tools of core, or exactly those of a contract, under its names",
    )
    return parser


def _add_ways(ways: argparse._MutuallyExclusiveGroup) -> None:
    """Add the options that replace stdin and stdout."""
    ways.add_argument(
        "--http",
        metavar="HOST:PORT",
        nargs="?",
        const="",
        help="serve over HTTP (default 127.0.0.1:8787)",
    )
    ways.add_argument(
        "--attach",
        action="store_true",
        help="share the local server of the data folder, and start it if needed",
    )
    ways.add_argument(
        "--socket",
        action="store_true",
        help="be that local server, in the foreground (`commonplace up` starts it)",
    )

"""Checks of what is configured and installed: keys, exposure, log file, extras."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from importlib.util import find_spec

from commonplace.cli.doctor.check import DoctorCheck
from commonplace.cli.session import session
from commonplace.kernel.clock import utc_now
from commonplace.kernel.settings import Settings


def check_keys(settings: Settings) -> Iterator[DoctorCheck]:
    now = utc_now()
    path = settings.data / "keys.json"
    keys = session().app().services.keys.all()
    active = [key for key in keys if key.state(now) == "active"]
    if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
        yield DoctorCheck("keys", "warn", f"{path} can be read by others", f"chmod 600 {path}")
    if settings.auth.mode == "keys" and not active:
        yield DoctorCheck(
            "keys",
            "fail",
            "auth mode is keys, and there are no keys",
            "commonplace keys add --tenant NAME --label WHO",
        )
    else:
        yield DoctorCheck(
            "keys", "ok", f"auth mode {settings.auth.mode}, {len(active)} active keys"
        )


def check_exposure(settings: Settings) -> Iterator[DoctorCheck]:
    from commonplace.edge.authenticate import check_bind

    check_bind(settings.server.host, settings.auth)
    check_bind(settings.dashboard.host, settings.auth)
    yield DoctorCheck(
        "exposure", "ok", f"HTTP would listen on {settings.server.host}:{settings.server.port}"
    )


def check_files_settings(settings: Settings) -> Iterator[DoctorCheck]:
    files = settings.mcp.files
    if files.allow_root_wipe:
        yield DoctorCheck(
            "files",
            "warn",
            "allow_root_wipe is on and changes nothing: the root is never deleted",
            "Remove the key.",
        )
    if not files.search.enabled:
        yield DoctorCheck(
            "files", "note", "file_search is off", "Set settings.mcp.files.search.enabled: true."
        )


def check_log_file(settings: Settings) -> Iterator[DoctorCheck]:
    from commonplace.telemetry.logs import open_log_file

    target = open_log_file(settings.log)
    if target is not None:
        refused = target.problem()
        target.close()
        if refused is None:
            yield DoctorCheck("log file", "ok", str(target.path))
        else:
            why = refused.strerror or str(refused)
            yield DoctorCheck(
                "log file",
                "fail",
                f"{target.path} cannot be written: {why}",
                "Name another with MCP_LOG_FILE, or unset it.",
            )


def check_extras(settings: Settings) -> Iterator[DoctorCheck]:
    wanted = {
        "console": ("jinja2", "the web console", settings.dashboard.enabled),
        "embeddings": ("onnxruntime", "search by meaning", False),
        "scale": (
            "psycopg",
            "PostgreSQL, Valkey and external models",
            settings.storage.url.startswith("postgres"),
        ),
    }
    for extra, (module, what, needed) in wanted.items():
        if find_spec(module) is not None:
            yield DoctorCheck(f"extra {extra}", "ok", what)
        else:
            install = f"pip install 'commonplace[{extra}]'"
            yield DoctorCheck(
                f"extra {extra}", "fail" if needed else "note", f"not installed: {what}", install
            )

"""`commonplace doctor`: check everything, and say how to mend what is wrong."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.text import Text

from commonplace import __version__
from commonplace.cli.hidden import scan
from commonplace.cli.printing import JsonFlag, out, print_json, table
from commonplace.cli.session import session
from commonplace.cli.wording import as_typed
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.hidden import summarize
from commonplace.kernel.settings import WITHOUT_EFFECT, Settings
from commonplace.storage.disk import unusable

Status = Literal["ok", "note", "warn", "fail"]
STYLE = {"ok": "green", "note": "cyan", "warn": "yellow", "fail": "bold red"}
REMEDIES = {
    "rebuild": "Only derived data: stop the server, then run commonplace rebuild.",
    "restore": "Restore a backup: commonplace restore ARCHIVE --force.",
}
LOW_SPACE_BYTES = 1 << 30
NO_SPACE_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Check:
    """`fix` says what to do; empty where nothing is needed."""

    name: str
    status: Status
    finding: str
    fix: str = ""


def doctor(
    hidden: Annotated[
        bool,
        typer.Option(
            "--hidden",
            help="List every stored text that holds hidden characters, and nothing else.",
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Check configuration, data folder, audit trail, keys, toolsets, extras and stored text.

    Exit code 1 where something fails.

    Examples:
      commonplace doctor
      commonplace doctor --json
      commonplace doctor --hidden
    """
    if hidden:
        _list_hidden(as_json)
        return
    checks = list(examine())
    failed = any(check.status == "fail" for check in checks)
    if as_json:
        print_json({"ok": not failed, "checks": [asdict(check) for check in checks]})
    else:
        rows = [
            (
                Text(c.status, STYLE[c.status]),
                c.name,
                as_typed(f"{c.finding}{f'  ->  {c.fix}' if c.fix else ''}"),
            )
            for c in checks
        ]
        out.print(table(("", "check", "finding"), rows))
    if failed:
        raise typer.Exit(1)


def examine() -> Iterator[Check]:
    """Every check, each safe from the others' failures."""
    yield Check("version", "ok", f"commonplace {__version__}, Python {sys.version.split()[0]}")
    try:
        config = session().config()
    except CommonplaceError as error:
        yield Check(
            "configuration",
            "fail",
            error.message,
            error.hint or "commonplace config show lists all keys.",
        )
        return
    settings = config.settings
    yield Check(
        "configuration",
        "ok",
        f"{config.file or 'no file'}; {sum(s != 'default' for s in config.sources.values())} "
        f"values set",
    )
    for name, why in WITHOUT_EFFECT.items():
        if name in os.environ:
            yield Check(
                "environment", "note", f"{name} is set and has no effect: {why}.", "Unset it."
            )
    for step in (
        _data_folder,
        _privacy,
        _space,
        _integrity,
        _documents,
        _audit,
        _keys,
        _exposure,
        _files_settings,
        _log_file,
        _extras,
    ):
        yield from _safely(
            step.__name__.strip("_").replace("_", " "),
            lambda step=step: step(settings),  # type: ignore[misc]
        )
    yield from _safely("toolsets", _toolsets)
    yield from _safely("hidden characters", _hidden)


def _safely(name: str, step: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    try:
        yield from step()
    except CommonplaceError as error:
        yield Check(name, "fail", error.message, error.hint or "")
    except OSError as error:
        refused = unusable(error)
        yield Check(name, "fail", refused.message, refused.hint or "")
    except Exception as error:  # a check that breaks is a finding, not the end of the examination
        yield Check(
            name, "fail", f"{type(error).__name__}: {error}", "This is a defect; please report it."
        )


def _data_folder(settings: Settings) -> Iterator[Check]:
    data = settings.data
    nearest = next(path for path in (data, *data.parents) if path.exists())
    if not nearest.is_dir():
        yield Check(
            "data folder",
            "fail",
            f"{nearest} is a file, not a folder",
            "Choose another with --data.",
        )
    elif nearest != data and not os.access(nearest, os.W_OK | os.X_OK):
        yield Check(
            "data folder",
            "fail",
            f"{data} cannot be made: {nearest} is not writable",
            "Choose another with --data.",
        )
    elif not data.exists():
        yield Check("data folder", "ok", f"{data} will be made when first needed")
    elif not os.access(data, os.W_OK | os.X_OK):
        yield Check(
            "data folder",
            "fail",
            f"{data} is not writable",
            f"chown it to you, or choose another with --data: chmod u+rwx {data}",
        )
    elif stat.S_IMODE(data.stat().st_mode) & 0o077:
        yield Check("data folder", "warn", f"{data} can be read by others", f"chmod 700 {data}")
    else:
        yield Check("data folder", "ok", str(data))


def _privacy(settings: Settings) -> Iterator[Check]:
    """Files that an older version made readable for others; a server tightens them when it
    starts.
    """
    from commonplace.storage.privacy import open_to_others

    found = [path.name for path in open_to_others(settings.data) if path != settings.data]
    if found:
        shown = ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")
        yield Check(
            "permissions", "warn", f"others may read: {shown}", f"chmod -R go= {settings.data}"
        )


def _integrity(settings: Settings) -> Iterator[Check]:
    """Each SQLite file: its structure, and content against stored digests."""
    from commonplace.storage.integrity import find_damage
    from commonplace.storage.integrity_watch import record_finding
    from commonplace.upkeep import database_checks

    for checks in database_checks(settings):
        if not checks.path.exists():
            continue
        damage = find_damage(checks)
        record_finding(settings.data, checks, damage)
        if not damage:
            yield Check("integrity", "ok", f"{checks.path.name} is whole")
        for one in damage:
            yield Check(
                "integrity",
                "fail",
                f"{one.file} is damaged: {one.part}: {one.problem}",
                REMEDIES[one.remedy],
            )


def _documents(settings: Settings) -> Iterator[Check]:
    """Canonical JSON: feedback, usage counts, and instruction files against their own hashes."""
    for name in ("feedback.json", "usage-snapshot.json"):
        path = settings.data / name
        if path.exists() and not _is_object(path):
            yield Check(
                "integrity",
                "fail",
                f"{name} is damaged: it is not the JSON document it was",
                REMEDIES["restore"],
            )
    folder = settings.instructions_directory
    broken = (
        [path.name for path in sorted(folder.glob("*.json")) if not _is_object(path)]
        if folder.is_dir()
        else []
    )
    if broken:
        shown = ", ".join(broken[:5]) + (f" and {len(broken) - 5} more" if len(broken) > 5 else "")
        yield Check(
            "integrity",
            "fail",
            f"{len(broken)} instruction files cannot be read: {shown}",
            "Mend them, or restore a backup.",
        )


def _is_object(path: Path) -> bool:
    import orjson

    try:
        return isinstance(orjson.loads(path.read_bytes().removeprefix(b"\xef\xbb\xbf")), dict)
    except (OSError, ValueError):
        return False


def _space(settings: Settings) -> Iterator[Check]:
    folder = next(path for path in (settings.data, *settings.data.parents) if path.exists())
    free = shutil.disk_usage(folder).free
    status: Status = "fail" if free < NO_SPACE_BYTES else "warn" if free < LOW_SPACE_BYTES else "ok"
    yield Check(
        "disk space",
        status,
        f"{free / 1e9:.1f} GB free",
        "" if status == "ok" else "Free some, or move the data folder.",
    )


def _audit(settings: Settings) -> Iterator[Check]:
    from commonplace.telemetry.audit import AuditLog
    from commonplace.telemetry.verify import verify

    if not settings.audit.enabled:
        yield Check("audit", "warn", "the audit trail is off", "Set settings.audit.enabled: true.")
        return
    verdict = verify(settings.audit_directory)
    if verdict.ok:
        yield Check("audit", "ok", f"{verdict.chains} chains, {verdict.records} records, whole")
    else:
        first = verdict.problems[0]
        yield Check(
            "audit",
            "fail",
            f"{len(verdict.problems)} problems, first: {first.chain}: {first.problem}",
            "commonplace audit verify",
        )
    if settings.data.exists() and not os.access(settings.data, os.W_OK):
        yield Check(
            "audit",
            "fail",
            "the audit trail cannot be written, so changes are refused",
            f"Make {settings.data} writable.",
        )
    elif settings.audit_directory.exists():
        AuditLog(settings.audit_directory).probe()


def _keys(settings: Settings) -> Iterator[Check]:
    from commonplace.storage.keys import KeyStore

    path = settings.data / "keys.json"
    active = [key for key in KeyStore(path).all() if key.active]
    if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
        yield Check("keys", "warn", f"{path} can be read by others", f"chmod 600 {path}")
    if settings.auth.mode == "keys" and not active:
        yield Check(
            "keys",
            "fail",
            "auth mode is keys and there is none",
            "commonplace keys add --tenant NAME --label WHO",
        )
    else:
        yield Check("keys", "ok", f"auth mode {settings.auth.mode}, {len(active)} active keys")


def _exposure(settings: Settings) -> Iterator[Check]:
    from commonplace.edge.authenticate import check_bind

    check_bind(settings.server.host, settings.auth)
    check_bind(settings.dashboard.host, settings.auth)
    yield Check(
        "exposure", "ok", f"HTTP would listen on {settings.server.host}:{settings.server.port}"
    )


def _files_settings(settings: Settings) -> Iterator[Check]:
    files = settings.mcp.files
    if files.allow_root_wipe:
        yield Check(
            "files",
            "warn",
            "allow_root_wipe is on and changes nothing: the root is never deleted",
            "Remove the key.",
        )
    if not files.search.enabled:
        yield Check(
            "files", "note", "file_search is off", "Set settings.mcp.files.search.enabled: true."
        )


def _log_file(settings: Settings) -> Iterator[Check]:
    from commonplace.telemetry.logs import log_file

    target = log_file(settings.log)
    if target is not None:
        refused = target.problem()
        target.close()
        if refused is None:
            yield Check("log file", "ok", str(target.path))
        else:
            why = refused.strerror or str(refused)
            yield Check(
                "log file",
                "fail",
                f"{target.path} cannot be written: {why}",
                "Name another with MCP_LOG_FILE, or unset it.",
            )


def _extras(settings: Settings) -> Iterator[Check]:
    wanted = {
        "console": ("nicegui", "the web console", settings.dashboard.enabled),
        "embeddings": ("onnxruntime", "search by meaning", False),
        "scale": (
            "psycopg",
            "PostgreSQL, Valkey and external models",
            settings.storage.url.startswith("postgres"),
        ),
    }
    for extra, (module, what, needed) in wanted.items():
        if find_spec(module) is not None:
            yield Check(f"extra {extra}", "ok", what)
        else:
            install = f"pip install 'commonplace[{extra}]'"
            yield Check(
                f"extra {extra}", "fail" if needed else "note", f"not installed: {what}", install
            )


def _toolsets() -> Iterator[Check]:
    """Each toolset loads, and each service's own `doctor()` is heard where it has one."""
    app = session().app()
    for toolset in app.registry.toolsets:
        count = sum(tool.toolset == toolset.name for tool in app.registry.all())
        yield Check(f"toolset {toolset.name}", "ok", f"{count} tools")
    for make in app.services.values():
        checks: Any = getattr(make(), "doctor", None)
        for found in checks() if checks is not None else ():
            yield (
                Check(**found)
                if isinstance(found, dict)
                else Check(found.name, found.status, found.finding, found.fix)
            )


def _hidden() -> Iterator[Check]:
    """Characters that nobody sees in what is stored, as far as the time of an examination goes."""
    found = scan(session().app().services)
    fix = "commonplace doctor --hidden lists every place." if found.found or not found.whole else ""
    yield Check("hidden characters", "warn" if found.found else "ok", found.finding, fix)


def _list_hidden(as_json: bool) -> None:
    found = scan(session().app().services, None)
    if as_json:
        print_json({"texts_read": found.read, "hidden": [text.as_dict() for text in found.found]})
    elif found.found:
        out.print(
            table(
                ("where", "hidden characters"),
                [(text.where, summarize(text.counted)) for text in found.found],
            )
        )
    else:
        out.print(found.finding)


def executable() -> Path:
    """The `commonplace` command that belongs to this Python."""
    beside = Path(sys.executable).with_name("commonplace")
    return beside if beside.exists() else Path(shutil.which("commonplace") or sys.argv[0])

"""Checks of the data folder: permissions, space, integrity, audit trail."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from commonplace.cli.doctor.check import DoctorCheck, Status
from commonplace.kernel.settings import Settings

REMEDIES = {
    "rebuild": "Only derived data is damaged: stop the server, then run commonplace rebuild.",
    "restore": "Restore a backup: commonplace restore ARCHIVE --force.",
}
LOW_SPACE_BYTES = 1 << 30
NO_SPACE_BYTES = 64 << 20


def check_data_folder(settings: Settings) -> Iterator[DoctorCheck]:
    data = settings.data
    nearest = next(path for path in (data, *data.parents) if path.exists())
    if not nearest.is_dir():
        yield DoctorCheck(
            "data folder",
            "fail",
            f"{nearest} is a file, not a folder",
            "Choose another with --data.",
        )
    elif nearest != data and not os.access(nearest, os.W_OK | os.X_OK):
        yield DoctorCheck(
            "data folder",
            "fail",
            f"{data} cannot be created: {nearest} is not writable",
            "Choose another with --data.",
        )
    elif not data.exists():
        yield DoctorCheck("data folder", "ok", f"{data} will be created when first needed")
    elif not os.access(data, os.W_OK | os.X_OK):
        yield DoctorCheck(
            "data folder",
            "fail",
            f"{data} is not writable",
            f"chown it to you, or choose another with --data: chmod u+rwx {data}",
        )
    elif stat.S_IMODE(data.stat().st_mode) & 0o077:
        yield DoctorCheck(
            "data folder", "warn", f"{data} can be read by others", f"chmod 700 {data}"
        )
    else:
        yield DoctorCheck("data folder", "ok", str(data))


def check_privacy(settings: Settings) -> Iterator[DoctorCheck]:
    """Find files that others may read; a server tightens them when it starts."""
    from commonplace.storage.disk.private_files import find_exposed_paths

    found = [path.name for path in find_exposed_paths(settings.data) if path != settings.data]
    if found:
        shown = ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")
        yield DoctorCheck(
            "permissions", "warn", f"others may read: {shown}", f"chmod -R go= {settings.data}"
        )


def check_integrity(settings: Settings) -> Iterator[DoctorCheck]:
    """Check the structure of each SQLite file, and its content against stored digests."""
    from commonplace.bootstrap.upkeep import database_checks
    from commonplace.storage.integrity.checks import find_damage
    from commonplace.storage.integrity.monitor import record_finding

    for checks in database_checks(settings):
        if not checks.path.exists():
            continue
        damage = find_damage(checks)
        record_finding(settings.data, checks, damage)
        if not damage:
            yield DoctorCheck("integrity", "ok", f"{checks.path.name} is intact")
        for finding in damage:
            yield DoctorCheck(
                "integrity",
                "fail",
                f"{finding.file} is damaged: {finding.part}: {finding.problem}",
                REMEDIES[finding.remedy],
            )


def check_documents(settings: Settings) -> Iterator[DoctorCheck]:
    """Check that feedback, usage counts and instruction files are readable JSON objects."""
    for name in ("feedback.json", "usage-snapshot.json"):
        path = settings.data / name
        if path.exists() and not _is_object(path):
            yield DoctorCheck(
                "integrity",
                "fail",
                f"{name} is damaged: it is not a JSON object",
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
        yield DoctorCheck(
            "integrity",
            "fail",
            f"{len(broken)} instruction files cannot be read: {shown}",
            "Repair them, or restore a backup.",
        )


def _is_object(path: Path) -> bool:
    import orjson

    try:
        return isinstance(orjson.loads(path.read_bytes().removeprefix(b"\xef\xbb\xbf")), dict)
    except (OSError, ValueError):
        return False


def check_space(settings: Settings) -> Iterator[DoctorCheck]:
    folder = next(path for path in (settings.data, *settings.data.parents) if path.exists())
    free = shutil.disk_usage(folder).free
    status: Status = "fail" if free < NO_SPACE_BYTES else "warn" if free < LOW_SPACE_BYTES else "ok"
    yield DoctorCheck(
        "disk space",
        status,
        f"{free / 1e9:.1f} GB free",
        "" if status == "ok" else "Free some, or move the data folder.",
    )


def check_audit(settings: Settings) -> Iterator[DoctorCheck]:
    from commonplace.telemetry.audit import AuditLog
    from commonplace.telemetry.verify import verify

    if not settings.audit.enabled:
        yield DoctorCheck(
            "audit", "warn", "the audit trail is off", "Set settings.audit.enabled: true."
        )
        return
    verdict = verify(settings.audit_directory)
    if verdict.ok:
        yield DoctorCheck(
            "audit", "ok", f"{verdict.chains} chains, {verdict.records} records, intact"
        )
    else:
        first = verdict.problems[0]
        yield DoctorCheck(
            "audit",
            "fail",
            f"{len(verdict.problems)} problems, first: {first.chain}: {first.problem}",
            "commonplace audit verify",
        )
    if settings.data.exists() and not os.access(settings.data, os.W_OK):
        yield DoctorCheck(
            "audit",
            "fail",
            "the audit trail cannot be written, so changes are refused",
            f"Make {settings.data} writable.",
        )
    elif settings.audit_directory.exists():
        AuditLog(settings.audit_directory).probe()

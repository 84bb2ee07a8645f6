"""Check databases in the background of a server, slowly and in one process at a time.

The findings are kept in a file of the data folder.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from commonplace.kernel.clock import iso, utc_now
from commonplace.storage.disk.atomic_write import write_atomically
from commonplace.storage.integrity.checks import DatabaseChecks, DatabaseDamage, find_damage
from commonplace.storage.locks.leader import LeaderLock

log = logging.getLogger("commonplace.integrity")

REPORT = "integrity.json"
LOCK = "integrity.lock"
FIRST_SECONDS = 3.0  # after the start of a server
POLL_SECONDS = 60.0  # between two tests of whether a check is due
DAMAGED_SECONDS = 300.0  # a damaged file is checked again this soon, to notice a repair
WORK_SECONDS = 0.004
PAUSE_SECONDS = 0.036  # with the work before it: a tenth of one processor
GENTLE_SECONDS = 60.0  # then a check no longer pauses: its snapshot keeps the log from being reset


class CheckStopped(Exception):
    """The server stops; the check runs again after its next start."""


@dataclass(frozen=True, slots=True)
class IntegrityFinding:
    """The result of the last check of one file."""

    checked_at: str
    identity: tuple[int, int]
    damage: tuple[DatabaseDamage, ...]


def read_findings(data: Path) -> dict[str, IntegrityFinding]:
    """Return the last findings by file name; none if they cannot be read."""
    try:
        stored = json.loads((data / REPORT).read_bytes())
        return {
            str(name): IntegrityFinding(
                each["checked_at"],
                (each["identity"][0], each["identity"][1]),
                tuple(DatabaseDamage(**damage) for damage in each["damage"]),
            )
            for name, each in stored["files"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return {}


def record_finding(data: Path, checks: DatabaseChecks, damage: Sequence[DatabaseDamage]) -> None:
    """Store the result of a check, for the readiness report and the console.

    An unwritable folder is ignored.
    """
    with contextlib.suppress(OSError):
        findings = read_findings(data)
        findings[checks.path.name] = IntegrityFinding(
            iso(utc_now()), _identity(checks.path), tuple(damage)
        )
        files = {name: asdict(finding) for name, finding in findings.items()}
        content = json.dumps({"version": 1, "files": files}, indent=1).encode()
        write_atomically(data / REPORT, content, durable=False)


class IntegrityMonitor:
    """Check each file every `every_seconds`, in a background thread."""

    def __init__(self, data: Path, checks: Sequence[DatabaseChecks], every_seconds: float) -> None:
        self._data = data
        self._checks = tuple(checks)
        self._every_seconds = every_seconds
        self._leader = LeaderLock(data / LOCK)
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, if there is something to check."""
        if self._every_seconds > 0 and self._checks:
            self._thread = threading.Thread(target=self._run, name="integrity", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop a running check and end the thread."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(5)

    def summary(self) -> dict[str, Any]:
        """Return when each file was checked, and the damage found. Cheap to call."""
        findings = {
            name: found
            for name, found in read_findings(self._data).items()
            if self._is_valid(name, found)
        }
        damage = [asdict(part) for found in findings.values() for part in found.damage]
        return {
            "status": "damaged" if damage else "ok" if findings else "not checked yet",
            "checked_at": {name: found.checked_at for name, found in sorted(findings.items())},
            "damage": damage,
        }

    def _is_valid(self, name: str, found: IntegrityFinding) -> bool:
        return any(
            each.path.name == name and _identity(each.path) == found.identity
            for each in self._checks
        )

    def _run(self) -> None:
        wait = FIRST_SECONDS
        while not self._stopping.wait(wait):
            wait = POLL_SECONDS
            try:
                if self._leader.try_acquire():
                    self._check_due()
            except CheckStopped:
                break
            except Exception:  # whatever a check raises, the next one must still run
                log.exception("the check of the databases failed and will be repeated")
        self._leader.release()

    def _check_due(self) -> None:
        findings = read_findings(self._data)
        for checks in self._checks:
            if checks.path.exists() and self._is_due(findings, checks):
                started_at = time.monotonic()
                damage = find_damage(checks, pause=CheckThrottle(self._stopping))
                record_finding(self._data, checks, damage)
                for part in damage:
                    log.error(
                        "%s: %s: %s; remedy: %s", part.file, part.part, part.problem, part.remedy
                    )
                log.info("checked %s in %.1f s", checks.path.name, time.monotonic() - started_at)

    def _is_due(self, findings: Mapping[str, IntegrityFinding], checks: DatabaseChecks) -> bool:
        found = findings.get(checks.path.name)
        if found is None or found.identity != _identity(checks.path):
            return True
        try:
            age = (utc_now() - datetime.fromisoformat(found.checked_at)).total_seconds()
        except ValueError:
            return True
        return not 0 <= age < (DAMAGED_SECONDS if found.damage else self._every_seconds)


class CheckThrottle:
    """Sleep between small steps of a check, so that calls keep the processor and the disk.

    Raises CheckStopped once the server stops.
    """

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping
        self._started_at = self._resumed_at = time.monotonic()

    def __call__(self) -> None:
        if self._stopping.is_set():
            raise CheckStopped
        now = time.monotonic()
        if now - self._resumed_at < WORK_SECONDS or now - self._started_at > GENTLE_SECONDS:
            return
        self._stopping.wait(PAUSE_SECONDS)
        self._resumed_at = time.monotonic()


def _identity(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino

"""The slow check of databases beside a serving process: one process at a time, a small share of
one processor, its findings in a file.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from commonplace.kernel.clock import iso, utc_now
from commonplace.storage.disk.private_files import FILE_MODE
from commonplace.storage.integrity.checks import Damage, DatabaseChecks, find_damage
from commonplace.storage.locks.leader import Leadership

log = logging.getLogger("commonplace.integrity")

REPORT = "integrity.json"
LOCK = "integrity.lock"
FIRST_SECONDS = 3.0  # after the start of a server
LOOK_SECONDS = 60.0  # between two looks at whether a check is due
DAMAGED_SECONDS = 300.0  # a damaged file is checked again this soon, to notice that it was mended
WORK_SECONDS = 0.004
PAUSE_SECONDS = 0.036  # with the work before it: a tenth of one processor
GENTLE_SECONDS = (
    60.0  # longer than this a check does not pause: its snapshot keeps the log from being reset
)


class CheckStopped(Exception):
    """The server stops; the check is left to its next start."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What the last check of one file found."""

    checked_at: str
    identity: tuple[int, int]
    damage: tuple[Damage, ...]


def read_findings(data: Path) -> dict[str, Finding]:
    """The last findings by name of file; those of files that were replaced since are left out."""
    try:
        stored = json.loads((data / REPORT).read_bytes())
        return {
            str(name): Finding(
                each["checked_at"],
                (each["identity"][0], each["identity"][1]),
                tuple(Damage(**one) for one in each["damage"]),
            )
            for name, each in stored["files"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return {}


def record_finding(data: Path, checks: DatabaseChecks, damage: Sequence[Damage]) -> None:
    """Keep what a check found, for the readiness report and the console.

    A folder that cannot be written keeps nothing.
    """
    with contextlib.suppress(OSError):
        findings = read_findings(data)
        findings[checks.path.name] = Finding(iso(utc_now()), _identity(checks.path), tuple(damage))
        draft = data / f"{REPORT}.{os.getpid()}.tmp"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)
        with os.fdopen(descriptor, "w") as file:
            json.dump(
                {"version": 1, "files": {name: asdict(each) for name, each in findings.items()}},
                file,
                indent=1,
            )
        draft.replace(data / REPORT)


class IntegrityWatch:
    """Checks each file every `every_seconds`, in a thread of its own.

    `start` and `stop`; `summary` is cheap.
    """

    def __init__(self, data: Path, checks: Sequence[DatabaseChecks], every_seconds: float) -> None:
        self._data = data
        self._checks = tuple(checks)
        self._every_seconds = every_seconds
        self._leader = Leadership(data / LOCK)
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._every_seconds > 0 and self._checks:
            self._thread = threading.Thread(target=self._run, name="integrity", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(5)

    def summary(self) -> dict[str, Any]:
        """What is known: when each file was checked, and what is damaged."""
        findings = {
            name: found
            for name, found in read_findings(self._data).items()
            if self._valid(name, found)
        }
        damage = [asdict(one) for found in findings.values() for one in found.damage]
        return {
            "status": "damaged" if damage else "ok" if findings else "not checked yet",
            "checked_at": {name: found.checked_at for name, found in sorted(findings.items())},
            "damage": damage,
        }

    def _valid(self, name: str, found: Finding) -> bool:
        return any(
            each.path.name == name and _identity(each.path) == found.identity
            for each in self._checks
        )

    def _run(self) -> None:
        wait = FIRST_SECONDS
        while not self._stopping.wait(wait):
            wait = LOOK_SECONDS
            try:
                if self._leader.try_acquire():
                    self._check_due()
            except CheckStopped:
                break
            except Exception:  # a check that fails must not end the checking
                log.exception("the check of the databases failed; it is tried again")
        self._leader.release()

    def _check_due(self) -> None:
        findings = read_findings(self._data)
        for checks in self._checks:
            if checks.path.exists() and self._due(findings, checks):
                begun = time.monotonic()
                damage = find_damage(checks, pause=Gently(self._stopping))
                record_finding(self._data, checks, damage)
                for one in damage:
                    log.error("%s: %s: %s; remedy: %s", one.file, one.part, one.problem, one.remedy)
                log.info("checked %s in %.1f s", checks.path.name, time.monotonic() - begun)

    def _due(self, findings: Mapping[str, Finding], checks: DatabaseChecks) -> bool:
        found = findings.get(checks.path.name)
        if found is None or found.identity != _identity(checks.path):
            return True
        try:
            age = (utc_now() - datetime.fromisoformat(found.checked_at)).total_seconds()
        except ValueError:
            return True
        return not 0 <= age < (DAMAGED_SECONDS if found.damage else self._every_seconds)


class Gently:
    """Called during a check: sleeps after a little work, so that calls keep the processor and
    the disk.
    """

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping
        self._begun = self._resumed = time.monotonic()

    def __call__(self) -> None:
        if self._stopping.is_set():
            raise CheckStopped
        now = time.monotonic()
        if now - self._resumed < WORK_SECONDS or now - self._begun > GENTLE_SECONDS:
            return
        self._stopping.wait(PAUSE_SECONDS)
        self._resumed = time.monotonic()


def _identity(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino

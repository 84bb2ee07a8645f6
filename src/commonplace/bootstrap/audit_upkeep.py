"""Care for the audit trail while a server runs: retention, and anchors of its heads."""

from __future__ import annotations

import logging
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.bootstrap.team import on_postgres
from commonplace.kernel.clock import iso, utc_now
from commonplace.kernel.settings import Settings
from commonplace.storage.audit.anchor import Anchor, read_anchors
from commonplace.storage.audit.retention import prune_chains
from commonplace.telemetry.chain import Head, Marks

if TYPE_CHECKING:
    from commonplace.bootstrap.services import Services

log = logging.getLogger("commonplace.audit")

PRUNE_SECONDS = 3600.0
CATCH_UP_SECONDS = 2.0
FIRST_SECONDS = 30.0  # a server has other things to do when it starts
ADDRESSES = ("https://", "http://")


def anchored_heads(settings: Settings, copy: Path | None = None) -> Marks:
    """Return the heads of the anchor file, or of a copy that an operator fetched."""
    place = settings.audit.anchor
    if copy is None and (not place or place.startswith(ADDRESSES) or not Path(place).exists()):
        return {}
    return read_anchors(copy if copy is not None else Path(place))


def prune_audit(services: Services, days: int) -> dict[str, int]:
    """Remove records older than some days; return how many records and chains.

    A data folder loses whole chains; in the database of a team each chain loses its beginning.
    """
    before = iso(utc_now() - timedelta(days=days))
    audit = services.audit
    if not on_postgres(services.settings):
        return {"records": 0, "chains": prune_chains(audit, before) if audit is not None else 0}
    from commonplace.storage.audit.records import AuditTable

    table = AuditTable(services.postgres)

    def has_arrived(name: str, head: Head) -> bool:
        return table.arrived([name]).get(name) == head

    services.audit_shipper.catch_up(CATCH_UP_SECONDS)
    chains = prune_chains(audit, before, has_arrived) if audit is not None else 0
    return {"records": table.cut(before), "chains": chains}


class AuditUpkeep:
    """A thread that prunes and anchors. Nothing is started where nothing is configured."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._settings = services.settings.audit
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._anchor: Anchor | None = None

    def start(self) -> None:
        """Start, if a retention or an anchor is configured."""
        if not self._settings.enabled or not (
            self._settings.retention_days or self._settings.anchor
        ):
            return
        if self._settings.anchor:
            from commonplace.storage.audit.origin import read_origin

            settings = self._services.settings
            self._anchor = Anchor(
                settings.audit_directory, settings.audit.anchor, read_origin(settings.data)
            )
        self._thread = threading.Thread(target=self._run, name="audit-upkeep", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write the last heads and stop."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
            self._write_anchor()

    def _run(self) -> None:
        anchor_seconds = self._settings.anchor_minutes * 60
        now = time.monotonic()
        next_anchor = now if self._anchor is not None else float("inf")
        next_prune = now + FIRST_SECONDS if self._settings.retention_days else float("inf")
        while not self._stopping.wait(max(0.0, min(next_anchor, next_prune) - time.monotonic())):
            now = time.monotonic()
            if now >= next_anchor:
                self._write_anchor()
                next_anchor = now + anchor_seconds
            if now >= next_prune:
                self._prune()
                next_prune = now + PRUNE_SECONDS

    def _write_anchor(self) -> None:
        if self._anchor is None:
            return
        try:
            self._anchor.write()
        except OSError as failed:
            self._services.metrics.count("audit anchor failed")
            log.error("the heads of the audit trail could not be anchored: %s", failed)

    def _prune(self) -> None:
        try:
            removed = prune_audit(self._services, self._settings.retention_days)
        except Exception as failed:  # whatever it is: the next hour tries again
            log.error("old audit records could not be removed: %s", failed)
        else:
            if any(removed.values()):
                log.info("audit retention removed %(records)d records, %(chains)d chains", removed)

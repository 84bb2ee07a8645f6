"""Bring the audit records of a data folder to PostgreSQL, within two seconds.

One process per folder does it for all of them, the holder of a lock file. The database knows how
far each chain has arrived, so a process that was killed, or an outage, costs no record and repeats
none. How far the chains are is reported before their records are sent: if this machine is lost in
between, the gap is known.
"""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

from commonplace.storage.audit.records import AuditTable
from commonplace.storage.audit.spool import AuditSpool, SpoolPosition
from commonplace.storage.locks.leader import LeaderLock
from commonplace.telemetry.chain import EMPTY, Head

log = logging.getLogger("commonplace.audit")

PASS_SECONDS = 0.5
REPORT_SECONDS = 5.0  # without new records
SCAN_SHARE = 10  # a folder with very many chains is read less often
LOCK_NAME = "ship.lock"


class AuditShipper:
    """Feeds the trail of a team from one data folder."""

    def __init__(self, directory: Path, table: AuditTable, origin: str) -> None:
        self._table = table
        self._origin = origin
        self._spool = AuditSpool(directory)
        self._leader = LeaderLock(directory / LOCK_NAME)
        self._positions: dict[str, SpoolPosition] = {}
        self._stuck: dict[str, int] = {}  # chains with a problem, and their size then
        self._reported_at = float("-inf")
        self._waiting_since: float | None = None
        self._scan_seconds = 0.0
        self._passes = 0
        self._changed = threading.Condition()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._pass_lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Ship in the background until `close`."""
        self._thread = threading.Thread(target=self._run, name="audit-ship", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ship what is left, tell that nothing is owed, and stop."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        self.ship_once(closing=True)
        self._leader.release()

    @property
    def lag_seconds(self) -> float:
        """Seconds for which records have been seen in the folder that did not arrive yet."""
        since = self._waiting_since
        return time.monotonic() - since if since is not None else 0.0

    def catch_up(self, seconds: float) -> bool:
        """Wait until what is in the folder now has arrived. Return False if it took too long."""
        if self._thread is None:
            return self.ship_once()
        with self._changed:
            target = self._passes + 2  # the pass that runs may have looked already
            self._wake.set()
            return self._changed.wait_for(lambda: self._passes >= target, seconds)

    def ship_once(self, *, closing: bool = False) -> bool:
        """Make one pass; return whether everything arrived. Errors are logged, not raised."""
        with self._pass_lock:
            if not self._leader.try_acquire():
                return True  # another process of this folder ships
            began = time.monotonic()
            try:
                self._ship_all(closing)
            except Exception as failed:  # whatever it is: records stay in the folder until later
                log.info("audit records wait for the database: %s", failed)
                self._waiting_since = self._waiting_since or began
                return False
            self._waiting_since = None
        return True

    def _run(self) -> None:
        while not self._stopping.is_set():
            complete = self.ship_once()
            with self._changed:
                if complete:
                    self._passes += 1
                    self._changed.notify_all()
            self._wake.wait(max(PASS_SECONDS, SCAN_SHARE * self._scan_seconds))
            self._wake.clear()

    def _ship_all(self, closing: bool) -> None:
        began = time.monotonic()
        sizes = self._spool.sizes()
        self._scan_seconds = time.monotonic() - began
        self._find_arrived(sizes)
        waiting = {
            chain: self._positions[chain]
            for chain, size in sizes.items()
            if size > self._positions[chain].offset and self._stuck.get(chain) != size
        }
        now = time.monotonic()
        if waiting:
            self._waiting_since = self._waiting_since or began
        if waiting or closing or now - self._reported_at > REPORT_SECONDS:
            heads = {chain: self._spool.head(chain) or EMPTY for chain in waiting}
            self._table.report(self._origin, heads)
            self._reported_at = now
        for chain in waiting:
            self._ship_chain(chain, sizes[chain])
        if closing:
            self._table.report(self._origin, {}, closed=True)

    def _find_arrived(self, sizes: dict[str, int]) -> None:
        """Find the positions of chains that this process has not seen before."""
        new = [chain for chain in sizes if chain not in self._positions]
        if not new:
            return
        arrived = self._table.arrived(new)
        for chain in new:
            head = arrived.get(chain, EMPTY)
            if head != EMPTY and self._spool.last_hash(chain) == head.hash:
                self._positions[chain] = SpoolPosition(sizes[chain], head)
            else:
                self._positions[chain] = self._place(chain, head, sizes[chain])

    def _place(self, chain: str, head: Head, size: int) -> SpoolPosition:
        try:
            return self._spool.find(chain, head)
        except ValueError as problem:
            self._report_problem(chain, size, str(problem))
            return SpoolPosition(0, EMPTY)

    def _ship_chain(self, chain: str, size: int) -> None:
        while lines := self._spool.read(chain, self._positions[chain]):
            position = self._positions[chain]
            try:
                arrived = self._table.append(chain, position.head, lines)
            except ValueError as problem:
                self._report_problem(chain, size, f"in the folder, {problem}")
                return
            if arrived.count == position.head.count + len(lines):
                sent = sum(len(line) + 1 for line in lines)
                self._positions[chain] = SpoolPosition(position.offset + sent, arrived)
            else:  # another process shipped meanwhile, or the answer to a commit was lost
                self._positions[chain] = self._place(chain, arrived, size)
                if chain in self._stuck:
                    return

    def _report_problem(self, chain: str, size: int, problem: str) -> None:
        log.error("the audit chain %s does not arrive any further: %s", chain, problem)
        self._stuck[chain] = size
        self._table.report(self._origin, {chain: self._spool.head(chain) or EMPTY})
        self._table.note_problem(chain, problem)

"""python -m benchmarks.team_state: how soon keys and audit records of one server reach another.

Two registries of keys and one data folder of audit chains on a PostgreSQL of its own. Marks: a
revoked key is refused within 1 s, an audit record arrives within 2 s, each of them at worst.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from commonplace.kernel.auth import Scope
from commonplace.storage.audit.records import SCHEMA as AUDIT
from commonplace.storage.audit.records import AuditTable
from commonplace.storage.audit.shipper import AuditShipper
from commonplace.storage.credentials.postgres_keys import PostgresKeys
from commonplace.storage.postgres.database import PostgresDatabase, open_database
from commonplace.storage.postgres.migrations import CREDENTIALS, STORAGE, migrate
from commonplace.telemetry.audit import AuditLog
from commonplace.telemetry.query import AuditFilter
from servers import running_postgres

ROUNDS = 40
KEYS = 2_000
BURST = 10_000


def wait_for(condition: Callable[[], bool]) -> float:
    """Return the milliseconds until a condition holds."""
    began = time.perf_counter()
    while not condition():
        time.sleep(0.0005)
    return (time.perf_counter() - began) * 1e3


def measure_keys(first: PostgresDatabase, second: PostgresDatabase) -> list[float]:
    """Return how long a server accepts keys that a command has revoked."""
    command, server = PostgresKeys(first), PostgresKeys(second)
    for number in range(KEYS):
        command.add("team", f"key {number}", Scope.READ)
    server.start()
    took = []
    for number in range(ROUNDS):
        record, token = command.add("team", f"round {number}", Scope.READ)
        wait_for(lambda token=token: server.find(token) is not None)  # type: ignore[misc]
        command.revoke(record.id)
        took.append(wait_for(lambda token=token: server.find(token) is None))  # type: ignore[misc]
    server.close()
    return took


def measure_audit(first: PostgresDatabase, folder: Path) -> tuple[list[float], float]:
    """Return how long records take to arrive, and the records per second of a backlog."""
    table, log = AuditTable(first), AuditLog(folder)
    shipper = AuditShipper(folder, table, "benchmark")
    shipper.start()
    took = []
    for number in range(ROUNDS):
        wanted = AuditFilter(tool=f"round-{number}")
        log.append({"type": "call", "tool": f"round-{number}", "tenant": "t", "outcome": "ok"})
        took.append(wait_for(lambda wanted=wanted: bool(table.query(wanted))))  # type: ignore[misc]
    for _ in range(BURST):
        log.append({"type": "call", "tool": "burst", "tenant": "t", "outcome": "ok"})
    began = time.perf_counter()
    shipper.catch_up(120)
    rate = BURST / (time.perf_counter() - began)
    log.close()
    shipper.close()
    return took, rate


def show(name: str, took: list[float]) -> None:
    print(f"{name}: p50 {statistics.median(took):.0f} ms, worst {max(took):.0f} ms")


def main() -> None:
    with running_postgres() as url, open_database(url, pool_size=3) as first:
        migrate(first, [STORAGE, CREDENTIALS, AUDIT])
        with open_database(url, pool_size=3) as second:
            show("a revoked key is refused", measure_keys(first, second))
        with tempfile.TemporaryDirectory() as folder:
            took, rate = measure_audit(first, Path(folder) / "audit")
        show("an audit record arrives", took)
        print(f"a backlog of {BURST:,} records arrives at {rate:,.0f} records/s")


if __name__ == "__main__":
    main()

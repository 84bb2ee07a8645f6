"""What durability costs: the identity check beside a commit, and the slow check of a database
beside reads.

python -m benchmarks.integrity [MEGABYTES]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from commonplace.files.store.integrity import database_checks
from commonplace.storage.integrity.checks import find_damage
from commonplace.storage.integrity.monitor import CheckThrottle
from commonplace.storage.sqlite.database import Connection, Database

ROW_BYTES = 20_000


def timed(work: Callable[[], object], times: int) -> list[float]:
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return sorted(taken)


def show(name: str, taken: list[float]) -> None:
    print(
        f"{name:34} p50 {statistics.median(taken) * 1e6:9.1f} us   p99 "
        f"{taken[int(len(taken) * 0.99)] * 1e6:9.1f} us"
    )


def main(megabytes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.db"
        database = Database(path)

        def fill(connection: Connection) -> None:
            connection.execute("CREATE TABLE line (id INTEGER PRIMARY KEY, text BLOB)")
            rows = (
                (bytes([number % 251]) * ROW_BYTES,)
                for number in range(megabytes * 1_000_000 // ROW_BYTES)
            )
            connection.executemany("INSERT INTO line (text) VALUES (?)", rows)

        database.write_now(fill)
        show(
            "commit",
            timed(
                lambda: database.write_now(
                    lambda c: c.execute("INSERT INTO line (text) VALUES ('y')") and None
                ),
                500,
            ),
        )
        show("identity check", timed(database.check_identity, 5000))

        def read() -> object:
            return (
                database.reader().execute("SELECT length(text) FROM line WHERE id = 7").fetchone()
            )

        show("read, no check beside", timed(read, 5000))
        checking = threading.Thread(
            target=lambda: find_damage(
                database_checks(path), pause=CheckThrottle(threading.Event())
            )
        )
        processor, begun = time.process_time(), time.perf_counter()
        checking.start()
        beside: list[float] = []
        while checking.is_alive():
            beside += timed(read, 5)
            time.sleep(0.01)
        show("read, slow check beside", sorted(beside))
        seconds = time.perf_counter() - begun
        share = (time.process_time() - processor) / seconds
        print(
            f"slow check of {path.stat().st_size / 1e6:.0f} MB: {seconds:.1f} s, {share:.2f} "
            f"processors"
        )
        begun = time.perf_counter()
        find_damage(database_checks(path))
        print(f"the same without pauses (doctor, backup): {time.perf_counter() - begun:.2f} s")
        database.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)

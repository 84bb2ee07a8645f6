"""Usage counters in a file: batches, several processes, rate limit."""

from __future__ import annotations

import json
from pathlib import Path

from catalogue_helpers import until

from commonplace.instructions.store.usage import UsageStore
from commonplace.instructions.store.usage_file import UsageFile


def test_uses_are_written_in_time_and_add_up_over_processes(tmp_path: Path) -> None:
    path = tmp_path / "usage.json"

    def usage(flush_seconds: float) -> UsageStore:
        return UsageStore(
            UsageFile(path),
            clock=lambda: "2025-01-01T00:00:00.000Z",
            flush_seconds=flush_seconds,
            rate_limited=False,
        )

    def stored() -> int:
        return int(json.loads(path.read_text())["a"]["usageCount"])

    slow, quick = usage(600.0), usage(0.01)
    for _ in range(5):
        slow.track("a")
    assert stored() == 2  # the first two at once, the others later
    for _ in range(3):
        quick.track("a")
    until(lambda: stored() == 5)
    slow.close()
    assert stored() == 8
    assert usage(1.0).of("a").total == 8  # type: ignore[union-attr]
    assert quick.prune(["a", "never"]) == 1
    assert usage(1.0).of("a") is None


def test_the_rate_limit_is_per_id_and_second(tmp_path: Path) -> None:
    usage = UsageStore(UsageFile(tmp_path / "usage.json"), clock=lambda: "t", flush_seconds=600.0)
    counted = [usage.track("a")[1] for _ in range(40)]
    assert sum(counted) <= 20  # at most two seconds were touched
    assert sum(counted) >= 10
    assert usage.track("b")[1]
    usage.close()

"""Scans of the whole catalogue do not block other calls."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from catalogue_helpers import CALLER, open_service, store_of

from commonplace.instructions.engine.groom import GroomMode
from commonplace.instructions.service import InstructionsService

ENTRIES = 3000
SCANS: dict[str, Callable[[InstructionsService], object]] = {
    "groom, dry": lambda service: service.groom(CALLER, GroomMode(dry_run=True)),
    "governanceHash with items": lambda service: service.governance_hash(
        CALLER, include_entries=True
    ),
    "export": lambda service: service.export(CALLER),
    "inspect catalog": lambda service: service.inspect(CALLER, "catalog", None),
    "inspect governance": lambda service: service.inspect(CALLER, "governance", None),
    "health": lambda service: service.health(CALLER),
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InstructionsService:
    home: Path = tmp_path_factory.mktemp("scans")
    folder = home / "in"
    folder.mkdir()
    for number in range(ENTRIES):
        (folder / f"rule-{number}.json").write_text(
            json.dumps({"id": f"rule-{number}", "body": f"Rule {number}.", "priority": 3})
        )
    opened = open_service(home)
    store = store_of(opened)
    store.load()
    for entry in store.catalogue:
        assert entry.document["priority"] == 3
    return opened


def longest_wait(
    service: InstructionsService, scan: Callable[[InstructionsService], object]
) -> float:
    """Return the longest `get` during the scan, as a share of the time of the scan."""
    spent: list[float] = []
    ended = threading.Event()

    def work() -> None:
        begun = time.perf_counter()
        scan(service)
        spent.append(time.perf_counter() - begun)
        ended.set()

    thread = threading.Thread(target=work)
    longest = 0.0
    thread.start()
    while not ended.wait(0.001):  # calls without a pause would starve the scan
        begun = time.perf_counter()
        service.get(CALLER, "rule-7")
        longest = max(longest, time.perf_counter() - begun)
    thread.join()
    return longest / spent[0]


@pytest.mark.parametrize("name", SCANS)
def test_reads_are_answered_during_a_scan(service: InstructionsService, name: str) -> None:
    SCANS[name](service)  # fills the caches
    assert min(longest_wait(service, SCANS[name]) for _ in range(5)) < 0.5


def test_cached_results_need_no_scan(service: InstructionsService) -> None:
    def timed(call: Callable[[], object]) -> float:
        begun = time.perf_counter()
        for _ in range(100):
            call()
        return time.perf_counter() - begun

    service.governance_hash(CALLER)
    current = service.verify(CALLER).catalogue_hash
    for known in (lambda: service.governance_hash(CALLER), lambda: service.diff(CALLER, current)):
        assert (
            min(timed(known) / timed(lambda: service.get(CALLER, "rule-7")) for _ in range(5)) < 6
        )

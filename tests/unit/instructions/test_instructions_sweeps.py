"""Calls that go through the whole catalogue hold nobody up."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.instructions.engine.groom import GroomMode
from commonplace.instructions.model import LOCAL_ACTOR
from commonplace.instructions.service import Service
from commonplace.instructions.usecases.comparison import diff, export
from commonplace.instructions.usecases.inspection import health, inspect
from commonplace.instructions.usecases.maintenance import Maintenance
from commonplace.instructions.usecases.writing import Writing
from commonplace.kernel.settings import InstructionsSettings

ENTRIES = 3000
SWEEPS: dict[str, Callable[[Service], object]] = {
    "groom, dry": lambda service: Maintenance(service, Writing(service)).groom(
        GroomMode(dry_run=True), None, LOCAL_ACTOR
    ),
    "governanceHash with items": lambda service: service.governance_hash(True),
    "export": lambda service: export(service, None, True),
    "inspect catalog": lambda service: inspect(service, "catalog", None),
    "inspect governance": lambda service: inspect(service, "governance", None),
    "health": health,
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Service:
    home: Path = tmp_path_factory.mktemp("sweeps")
    folder = home / "in"
    folder.mkdir()
    for number in range(ENTRIES):
        (folder / f"rule-{number}.json").write_text(
            json.dumps({"id": f"rule-{number}", "body": f"Rule {number}.", "priority": 3})
        )
    served = Service(folder, home, InstructionsSettings(watch=False))
    served.shelf.ensure_loaded()
    for entry in served.shelf.catalogue:
        assert entry.document["priority"] == 3
    return served


def longest_wait(service: Service, sweep: Callable[[Service], object]) -> float:
    """The longest that a `get` took beside the sweep, as a share of the sweep's own time."""
    spent: list[float] = []
    ended = threading.Event()

    def work() -> None:
        begun = time.perf_counter()
        sweep(service)
        spent.append(time.perf_counter() - begun)
        ended.set()

    thread = threading.Thread(target=work)
    longest = 0.0
    thread.start()
    while not ended.wait(0.001):  # asking without a pause would starve the sweep
        begun = time.perf_counter()
        service.get("rule-7")
        longest = max(longest, time.perf_counter() - begun)
    thread.join()
    return longest / spent[0]


@pytest.mark.parametrize("name", SWEEPS)
def test_reads_are_answered_while_the_whole_catalogue_is_gone_through(
    service: Service, name: str
) -> None:
    SWEEPS[name](service)  # what is kept from then on is made
    assert min(longest_wait(service, SWEEPS[name]) for _ in range(5)) < 0.5


def test_what_is_known_costs_no_walk_through_the_catalogue(service: Service) -> None:
    def timed(call: Callable[[], object]) -> float:
        begun = time.perf_counter()
        for _ in range(100):
            call()
        return time.perf_counter() - begun

    service.governance_hash(False)
    current = service.get("rule-7")["hash"]
    for known in (lambda: service.governance_hash(False), lambda: diff(service, current, None)):
        assert min(timed(known) / timed(lambda: service.get("rule-7")) for _ in range(5)) < 6

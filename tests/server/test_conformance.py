"""The official conformance suites against the shipped `commonplace serve --http`, fixtures
plugged in through bootstrap.

One server answers all runs, in this order: first everything that must pass, then the count of
unknown tools, then the frozen requirement sets, whose `tasks-*` (an extension we do not offer) do
ask for unknown tools.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conformance import suite
from conformance.program import FIXTURES, Served, serve_http
from conformance.suite import ALPHA, STABLE, Verdict
from conformance.tools import TOOLS

UNKNOWN_TOOL = "(unknown)"
HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"
# The stable suite opens this stream as a 2025-03-26 client, to which a server must not send what it
# then misses; the alpha asks rightly.
MISASKED = {(STABLE, "server-sse-polling")}
# The suites look at this one in the listing only.
UNCALLED = {"json_schema_2020_12_tool"}


@dataclass(frozen=True, slots=True)
class Campaign:
    verdicts: dict[
        tuple[str, str], dict[str, Verdict]
    ]  # (package, what was asked) -> scenario -> verdict
    called_before_tasks: dict[str, int]
    called_after_tasks: dict[str, int]


def _called(server: Served) -> dict[str, int]:
    return {entry["method"]: entry["count"] for entry in server.rpc("metrics/snapshot")["methods"]}


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaign]:
    folder = tmp_path_factory.mktemp("conformance")
    verdicts: dict[tuple[str, str], dict[str, Verdict]] = {}

    def run(package: str, asked: str, *options: str) -> None:
        output: Path = folder / package / asked.replace(" ", "-")
        verdicts[package, asked] = suite.run(package, server.url, output, *options)

    with serve_http(folder / "data", FIXTURES) as server:
        run(STABLE, "all", "--suite", "all")
        for revision in (HANDSHAKE, STATELESS):
            run(ALPHA, f"all {revision}", "--suite", "all", "--spec-version", revision)
        before = _called(server)
        for revision in (HANDSHAKE, STATELESS):
            run(ALPHA, f"requirements {revision}", "--requirements", revision)
        yield Campaign(verdicts, before, _called(server))


def test_every_scenario_but_tasks_passes_with_at_least_one_real_check(campaign: Campaign) -> None:
    failed = {
        f"{package} {asked}: {scenario}": verdict.complaints or dict(verdict.statuses)
        for (package, asked), verdicts in campaign.verdicts.items()
        for scenario, verdict in verdicts.items()
        if not scenario.startswith("tasks-")
        and (package, scenario) not in MISASKED
        and not verdict.passed
    }
    assert failed == {}


def test_the_misasked_scenario_still_reports_no_failure(campaign: Campaign) -> None:
    for package, scenario in MISASKED:
        assert campaign.verdicts[package, "all"][scenario].statuses["FAILURE"] == 0
    assert campaign.verdicts[ALPHA, f"all {HANDSHAKE}"]["server-sse-polling"].passed


@pytest.mark.parametrize("revision", [HANDSHAKE, STATELESS])
def test_the_frozen_requirement_set_ran_completely(campaign: Campaign, revision: str) -> None:
    assert set(campaign.verdicts[ALPHA, f"requirements {revision}"]) == suite.required(revision)
    scored = {name for name in suite.required(revision) if not name.startswith("tasks-")}
    assert set(campaign.verdicts[ALPHA, f"all {revision}"]) >= scored


def test_the_stable_suite_ran_all_its_scenarios(campaign: Campaign) -> None:
    assert len(campaign.verdicts[STABLE, "all"]) == 32


def test_no_scenario_passed_by_calling_an_unknown_tool(campaign: Campaign) -> None:
    assert UNKNOWN_TOOL not in campaign.called_before_tasks
    assert (
        campaign.called_after_tasks[UNKNOWN_TOOL] > 0
    )  # the counter works: tasks-* ask for tools that are not there


def test_every_fixture_was_called(campaign: Campaign) -> None:
    assert {tool.name for tool in TOOLS} - set(campaign.called_before_tasks) == UNCALLED

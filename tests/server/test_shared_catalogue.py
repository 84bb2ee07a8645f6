"""Servers of a team on their own data folders: one catalogue, one usage, one feedback."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from conformance.program import environment
from instruction_server import Server

from commonplace.bootstrap.team import postgres_components
from commonplace.storage.postgres.database import open_database
from commonplace.storage.postgres.migrations import migrate
from servers import Postgres, make_database

BOUND_SECONDS = 30.0
Start = Callable[[str], Server]


def configure(folder: Path, url: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "team.yaml"
    off = {"files": {"search": {"embedding": {"provider": "off"}}}}
    path.write_text(json.dumps({"settings": {"storage": {"url": url, "pool_size": 3}, "mcp": off}}))
    return path


def command(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "commonplace", "--config", str(data / "team.yaml")]
    return subprocess.run(
        [*line, "--data", str(data), *arguments],
        env=environment(data),
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )


def wait_until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + BOUND_SECONDS
    while not condition():
        assert time.monotonic() < give_up, "the condition was not met in time"
        time.sleep(0.02)


@pytest.fixture
def start(postgres_url: str, tmp_path: Path) -> Iterator[Start]:
    """Start servers by name, each with a data folder of its own."""
    with ExitStack() as stack:

        def run(name: str) -> Server:
            home = tmp_path / name
            server = Server(home, config=configure(home, postgres_url))
            return stack.enter_context(server)

        yield run


def test_what_one_server_acknowledged_the_other_finds_at_once(start: Start) -> None:
    one, two = start("one"), start("two")
    for number in range(20):
        writer, reader = (one, two) if number % 2 else (two, one)
        answer = writer.add(f"rule-{number}", f"Zebra number {number}.")
        assert answer["created"]
        assert answer["verified"]
        found = reader.call("instructions/get", id=f"rule-{number}")
        assert found["item"]["body"] == f"Zebra number {number}."
        assert found["hash"] == answer["hash"]
    for method, params in (
        ("instructions/list", {}),
        ("instructions/search", {"q": "zebra"}),
        ("graph/export", {}),
        ("instructions/governanceHash", {}),
        ("instructions/export", {}),
    ):
        assert one.call(method, **params) == two.call(method, **params)
    assert one.call("instructions/search", q="zebra")["count"] == 20
    two.call("instructions/remove", ids=["rule-3"])
    assert one.call("instructions/get", id="rule-3")["notFound"]
    assert one.call("integrity/verify")["issueCount"] == 0


def test_history_and_restore_work_on_the_other_server(start: Start) -> None:
    one, two = start("one"), start("two")
    one.add("a", "First")
    two.add("a", "Second")
    dispatch = "instructions/dispatch"
    changes = one.call(dispatch, action="history", id="a")["changes"]
    assert [change["action"] for change in changes] == ["overwrite", "add"]
    assert one.call(dispatch, action="restore", id="a")["restored"]
    assert two.call("instructions/get", id="a")["item"]["body"] == "First"


def test_a_conditional_write_is_refused_after_a_change_of_the_other_server(start: Start) -> None:
    one, two = start("one"), start("two")
    known = one.add("a", "First")["hash"]
    two.add("b", "B")
    entry = {"id": "a", "body": "Third"}
    refused = one.error(
        "instructions/add", entry=entry, overwrite=True, lax=True, expectedHash=known
    )
    assert refused["code"] == -32003


def test_usage_and_feedback_add_up(start: Start) -> None:
    one, two = start("one"), start("two")
    one.add("a", "A")
    for server in (one, two):
        for _ in range(4):
            assert server.call("usage/track", id="a")["usageCount"]

    def total(server: Server) -> int:
        items = server.call("usage/hotset")["items"]
        return int(items[0]["usageCount"]) if items else 0

    wait_until(lambda: total(one) == total(two) == 8)
    assert two.call("instructions/get", id="a")["item"]["usageCount"] == 8
    sent = one.call(
        "feedback/submit", type="bug-report", severity="low", title="T", description="D"
    )
    listed = two.call("feedback/list")
    assert [entry["id"] for entry in listed["entries"]] == [sent["feedbackId"]]


def test_nothing_acknowledged_is_lost_with_a_killed_server(start: Start, tmp_path: Path) -> None:
    one, two = start("one"), start("two")
    for number in range(30):
        one.add(f"rule-{number}", "Kept.")
    one.kill()
    assert two.call("instructions/list")["count"] == 30
    again = start("one")
    assert again.call("instructions/list")["count"] == 30
    two.add("later", "Two goes on.")
    assert again.call("instructions/get", id="later")["item"]["body"] == "Two goes on."


def test_gates_and_owners_are_shared_through_a_synchronised_folder(
    start: Start, tmp_path: Path
) -> None:
    one, two = start("one"), start("two")
    one.add("sec-a", "Rotate keys.")
    gates = {
        "id": "few",
        "type": "count",
        "op": "<=",
        "value": 5,
        "severity": "error",
        "description": "Few rules.",
    }
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "gates.json").write_text(json.dumps({"gates": [gates]}))
    done = command(tmp_path / "one", "instructions", "sync", str(rules), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["to_database"] == ["gates.json"]
    assert (rules / "sec-a.json").is_file()
    for server in (one, two):
        assert len(server.call("gates/evaluate")["results"]) == 1


def test_a_folder_is_watched_and_only_one_process_leads(start: Start, tmp_path: Path) -> None:
    one = start("one")
    one.add("a", "A")
    rules = tmp_path / "rules"
    line = [sys.executable, "-m", "commonplace", "--config", str(tmp_path / "one" / "team.yaml")]
    with subprocess.Popen(
        [*line, "--data", str(tmp_path / "one"), "instructions", "sync", str(rules), "--watch"],
        env=environment(tmp_path / "one"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as watching:
        try:
            wait_until(lambda: (rules / "a.json").is_file())
            refused = command(tmp_path / "one", "instructions", "sync", str(rules))
            assert refused.returncode == 7
            assert "Another process" in refused.stderr
            (rules / "b.json").write_text('{"id": "b", "body": "Edited by hand."}')
            wait_until(lambda: "item" in one.call("instructions/get", id="b"))
            one.call("instructions/remove", ids=["a"])
            wait_until(lambda: not (rules / "a.json").exists())
        finally:
            watching.terminate()
            watching.wait(20)


def test_the_starter_set_of_a_team_is_stored_in_its_catalogue(start: Start, tmp_path: Path) -> None:
    one = start("one")
    for said in ("stored ", "all starter files exist already"):
        done = command(tmp_path / "one", "init")
        assert done.returncode == 0, done.stderr
        assert said in done.stderr
    assert one.call("instructions/list")["count"] > 3
    assert one.call("gates/evaluate")["results"]
    assert not (tmp_path / "one" / "instructions").exists()


def test_synchronising_needs_the_database_of_a_team(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "commonplace", "--data", str(tmp_path), "instructions", "sync"]
    done = subprocess.run(
        [*line, str(tmp_path / "rules")],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "settings.storage.url" in done.stderr


def test_a_server_with_rules_of_its_own_starts_after_they_were_moved(
    start: Start, tmp_path: Path, postgres_url: str
) -> None:
    data = tmp_path / "one"
    with Server(data) as alone:  # before the team had a database
        alone.add("a", "A")
        alone.add("b", "B")
        alone.call("usage/track", id="a")
    configure(data, postgres_url)
    refused = command(data, "serve")
    assert refused.returncode == 2
    assert "2 instructions (a, b)" in refused.stderr
    assert "commonplace migrate --from" in refused.stderr
    checked = command(data, "migrate", "--check", "--from", str(data), "--json")
    assert checked.returncode == 1
    assert json.loads(checked.stdout)["lacking"]["instructions"] == ["a", "b"]
    moved = command(data, "migrate", "--from", str(data), "--json")
    assert moved.returncode == 0, moved.stderr
    parts = {part["part"]: part for part in json.loads(moved.stdout)["moved"]}
    assert (parts["instructions"]["added"], parts["usage counters"]["added"]) == (2, 1)
    again = command(data, "migrate", "--from", str(data))
    assert again.returncode == 0, again.stderr
    assert parts["instructions"]["digest"][:16] in again.stdout
    one, two = start("one"), start("two")
    for server in (one, two):
        assert server.call("instructions/list")["count"] == 2
    assert two.call("usage/hotset")["items"][0]["usageCount"] == 1
    audited = command(data, "audit", "query", "--json")
    assert "migrate_from" in audited.stdout


@pytest.fixture(scope="module")
def fragile() -> Iterator[Postgres]:
    server = Postgres(fsync="off", full_page_writes="off")
    yield server
    server.close()


def test_an_outage_of_the_database_leaves_marked_reads_and_refuses_writes(
    fragile: Postgres, tmp_path: Path
) -> None:
    url = make_database(fragile.url)
    with open_database(url, pool_size=1) as database:
        migrate(database, postgres_components())
    with Server(tmp_path, config=configure(tmp_path, url)) as server:
        server.add("a", "A")
        assert "warnings" not in server.call("instructions/get", id="a")
        fragile.stop()
        try:
            read = server.call("instructions/get", id="a")
            assert read["item"]["body"] == "A"
            assert "from memory" in read["warnings"][0]
            listed = server.call("instructions/dispatch", action="categories")
            assert "from memory" in listed["warnings"][0]
            refused = server.error("instructions/add", entry={"id": "b", "body": "B"}, lax=True)
            assert refused["data"]["code"] == "STORAGE_UNAVAILABLE"
            assert refused["data"]["retryable"] is True
        finally:
            fragile.start()
        assert server.add("b", "B")["created"]
        assert "warnings" not in server.call("instructions/get", id="b")

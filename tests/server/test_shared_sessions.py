"""A session that one server opened is served by every server of the team."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from conformance.program import FIXTURES, Served, serve_http
from model_client import configure
from session_client import SECONDS, Client, call
from transport_clients import wait_for

from servers import empty_tables

EXTRA = {**FIXTURES, "COMMONPLACE_EXTRA_TOOLSETS": "conformance.tools:toolset,sample_tools:toolset"}


def is_published(url: str, event_id: str) -> bool:
    """Tell whether other servers can find an event; a server publishes it after it was sent."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT 1 FROM mcp_session_events WHERE event_id = %s", (event_id,)
        )
        return found.fetchone() is not None


@pytest.fixture(scope="module")
def servers(
    tmp_path_factory: pytest.TempPathFactory, migrated_postgres: str
) -> Iterator[tuple[Served, Served]]:
    empty_tables(migrated_postgres)
    folder = tmp_path_factory.mktemp("team")
    for name in ("one", "two"):
        configure(
            folder / name,
            {"search": {"embedding": {"provider": "off"}}},
            storage={"url": migrated_postgres, "pool_size": 4},
            limits={"sessions_per_key": 5},
        )
    with (
        serve_http(folder / "one", EXTRA, "--auth", "passthrough") as first,
        serve_http(folder / "two", EXTRA, "--auth", "passthrough") as second,
    ):
        yield first, second


def test_every_request_of_a_session_may_go_to_another_server(
    servers: tuple[Served, Served],
) -> None:
    first, second = servers
    client = Client().open(first)
    assert client.notify(second) == 202
    assert [client.add(server, 1, 2) for server in (second, first, second)] == [3, 3, 3]
    assert "tools" in client.request(second, "tools/list")[1]["result"]
    assert client.request(first, "prompts/list")[1]["result"]["prompts"]
    assert client.request(second, "prompts/list")[1]["result"]["prompts"]
    status, answer = client.request(second, "tools/call", call("wait", True, seconds=0, steps=1))
    assert (status, answer["result"]["structuredContent"]) == (200, {"waited": 0.0})
    assert client.delete(second) == 200
    wait_for(lambda: client.request(first, "ping")[0] == 404)
    assert client.request(second, "ping")[0] == 404


def test_a_session_does_not_exist_for_another_tenant(servers: tuple[Served, Served]) -> None:
    client, stranger = Client().open(servers[0]), Client("team-b")
    stranger.headers["Mcp-Session-Id"] = client.headers["Mcp-Session-Id"]
    for server in servers:
        assert stranger.request(server, "ping")[0] == 404
        assert stranger.notify(server) == 404
        assert stranger.delete(server) == 404
    assert client.add(servers[1], 2, 2) == 4


@pytest.mark.parametrize("progress", [False, True], ids=["plain", "streamed"])
def test_a_call_is_cancelled_through_another_server(
    servers: tuple[Served, Served], progress: bool, tmp_path: Path
) -> None:
    first, second = servers
    client = Client().open(first)
    client.notify(first)
    mark = tmp_path / "mark"
    params = call("wait", progress, seconds=60, mark=str(mark))
    body = {"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": params}
    caller = threading.Thread(target=lambda: first.post("/mcp", body, client.headers))
    caller.start()
    cancel = {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": "slow"},
    }
    wait_for(lambda: client.notify(second, cancel) == 202 and mark.exists())
    caller.join(SECONDS)
    assert not caller.is_alive()


def test_an_answer_reaches_the_server_that_asked(servers: tuple[Served, Served]) -> None:
    first, second = servers
    client = Client().open(first)
    client.notify(second)
    params = call("test_elicitation", message="Who are you?")
    streams = [
        client.stream(
            server,
            "POST",
            {"jsonrpc": "2.0", "id": f"ask {number}", "method": "tools/call", "params": params},
        )
        for number, server in enumerate(servers)
    ]
    questions = [stream.message() for stream in streams]
    assert [question["method"] for question in questions] == ["elicitation/create"] * 2
    for question, server, name in zip(questions, (second, first), ("ada", "bob"), strict=True):
        content = {"username": name, "email": f"{name}@example.org"}
        answer = {
            "jsonrpc": "2.0",
            "id": question["id"],
            "result": {"action": "accept", "content": content},
        }
        assert server.post("/mcp", answer, client.headers)[0] == 202
    for stream, name in zip(streams, ("ada", "bob"), strict=True):
        assert name in stream.message()["result"]["content"][0]["text"]
        stream.close()


def test_a_stream_is_resumed_on_another_server(servers: tuple[Served, Served]) -> None:
    first, second = servers
    client = Client().open(first)
    client.notify(first)
    params = call("wait", True, seconds=2, steps=2)
    body = {"jsonrpc": "2.0", "id": "long", "method": "tools/call", "params": params}
    stream = client.stream(first, "POST", body)
    event_id, opening = stream.event()
    assert event_id
    assert opening is None
    stream.close()
    resumed = client.stream(second, **{"Last-Event-ID": event_id})
    assert [resumed.message()["params"]["progress"] for _ in range(2)] == [1, 2]
    while (answer := resumed.message()).get("method") == "notifications/progress":
        assert answer["params"]["progress"] > 2
    assert answer["id"] == "long"
    assert answer["result"]["structuredContent"] == {"waited": 2.0}
    resumed.close()


def test_an_event_of_one_session_is_not_replayed_to_another(
    servers: tuple[Served, Served],
) -> None:
    first = servers[0]
    client, other = Client().open(first), Client("team-b").open(first)
    params = call("wait", True, seconds=0)
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    event_id, _ = client.stream(first, "POST", body).event()
    for server in servers:
        stream = other.stream(server, **{"Last-Event-ID": event_id})
        assert b"waited" not in stream.answer.read()


def test_a_notification_reaches_the_get_stream_on_another_server(
    servers: tuple[Served, Served],
) -> None:
    first, second = servers
    client = Client().open(first)
    client.notify(first)
    stream = client.stream(second)
    assert client.request(first, "tools/call", call("announce", a=1, b=1))[0] == 200
    event_id, message = stream.event()
    assert message["method"] == "notifications/tools/list_changed"
    stream.close()
    client.request(second, "tools/call", call("announce", a=1, b=1))
    resumed = client.stream(first, **{"Last-Event-ID": event_id})
    assert resumed.message()["method"] == "notifications/tools/list_changed"
    resumed.close()


def test_the_limit_of_sessions_counts_all_servers(servers: tuple[Served, Served]) -> None:
    first, second = servers
    clients = [Client("team-c").open(servers[number % 2]) for number in range(7)]
    wait_for(lambda: clients[0].request(first, "ping")[0] == 404)
    alive = [client.request(second, "ping")[0] == 200 for client in clients]
    assert alive == [False, False, True, True, True, True, True]


def test_a_session_survives_the_server_that_opened_it(
    servers: tuple[Served, Served], tmp_path: Path, migrated_postgres: str
) -> None:
    configure(
        tmp_path / "three",
        {"search": {"embedding": {"provider": "off"}}},
        storage={"url": migrated_postgres, "pool_size": 2},
    )
    with serve_http(tmp_path / "three", EXTRA, "--auth", "passthrough") as third:
        client = Client().open(third)
        client.notify(third)
        assert client.add(third, 1, 1) == 2
    assert [client.add(server, 1, 1) for server in servers] == [2, 2]


def test_a_resumed_call_fails_if_the_server_that_ran_it_was_killed(
    servers: tuple[Served, Served], tmp_path: Path, migrated_postgres: str
) -> None:
    configure(
        tmp_path / "four",
        {"search": {"embedding": {"provider": "off"}}},
        storage={"url": migrated_postgres, "pool_size": 2},
    )
    with serve_http(tmp_path / "four", EXTRA, "--auth", "passthrough") as fourth:
        client = Client().open(fourth)
        client.notify(fourth)
        params = call("wait", True, seconds=60)
        body = {"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params}
        event_id, _ = client.stream(fourth, "POST", body).event()
        wait_for(lambda: client.request(servers[0], "ping")[0] == 200)
        wait_for(lambda: is_published(migrated_postgres, event_id))
        fourth.process.kill()
        resumed = client.stream(servers[1], **{"Last-Event-ID": event_id})
        answer = resumed.message()
        assert answer["id"] == 77
        assert "has ended" in answer["error"]["message"]
        resumed.close()

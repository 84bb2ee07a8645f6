"""Resources that a session follows, with two servers on two data folders and one PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conformance.program import Served, serve_http
from model_client import configure
from session_client import Client, Stream, call
from transport_clients import wait_for

from servers import empty_tables

UPDATED = "notifications/resources/updated"
NOTE, OTHER = "file:///team/notes/a.md", "file:///team/notes/b.md"


def start(folder: Path, url: str) -> Any:
    off = {"search": {"embedding": {"provider": "off"}}}
    configure(folder, off, storage={"url": url, "pool_size": 4})
    return serve_http(folder, None, "--auth", "passthrough")


@pytest.fixture(scope="module")
def servers(
    tmp_path_factory: pytest.TempPathFactory, migrated_postgres: str
) -> Iterator[tuple[Served, Served]]:
    empty_tables(migrated_postgres)
    folder = tmp_path_factory.mktemp("followers")
    with (
        start(folder / "one", migrated_postgres) as first,
        start(folder / "two", migrated_postgres) as second,
    ):
        yield first, second


def write(client: Client, server: Served, uri: str, content: str) -> None:
    arguments = {"project": "team", "path": uri.removeprefix("file:///team"), "mode": "TRUNCATE"}
    params = call("file_write", **arguments, content=content)
    status, answer = client.request(server, "tools/call", params)
    assert (status, answer["result"]["isError"]) == (200, False), answer


def follow(client: Client, server: Served, uri: str, method: str = "subscribe") -> None:
    status, answer = client.request(server, f"resources/{method}", {"uri": uri})
    assert (status, answer.get("result")) == (200, {}), answer


def next_updated(stream: Stream) -> str:
    message = stream.message()
    assert message["method"] == UPDATED
    return str(message["params"]["uri"])


def test_a_change_is_told_wherever_it_and_the_subscription_were_made(
    servers: tuple[Served, Served],
) -> None:
    first, second = servers
    client = Client().open(first)
    client.notify(first)
    stream = client.stream(second)
    for subscribed, changed in ((first, first), (second, first), (first, second)):
        follow(client, subscribed, NOTE)
        write(client, changed, NOTE, f"{subscribed.address} {changed.address}")
        assert next_updated(stream) == NOTE
    stream.close()


def test_any_server_ends_a_subscription(servers: tuple[Served, Served]) -> None:
    first, second = servers
    client = Client("team-b").open(first)
    client.notify(first)
    stream = client.stream(first)
    follow(client, first, NOTE)
    follow(client, first, OTHER)
    follow(client, second, NOTE, "unsubscribe")
    write(client, first, NOTE, "nobody follows it now")
    write(client, second, OTHER, "somebody follows it")
    assert next_updated(stream) == OTHER
    stream.close()


def test_a_change_between_two_streams_is_told_by_the_next_server(
    servers: tuple[Served, Served],
) -> None:
    first, second = servers
    client = Client("team-c").open(first)
    client.notify(first)
    follow(client, first, NOTE)
    client.stream(first).close()
    write(client, first, NOTE, "written while no stream was open")
    stream = client.stream(second)
    assert next_updated(stream) == NOTE
    stream.close()


def test_a_subscription_survives_the_server_that_took_it(
    servers: tuple[Served, Served], tmp_path: Path, migrated_postgres: str
) -> None:
    first, second = servers
    with start(tmp_path / "three", migrated_postgres) as third:
        client = Client("team-d").open(third)
        client.notify(third)
        follow(client, third, NOTE)
    stream = client.stream(first)
    write(client, second, NOTE, "the third server has ended")
    assert next_updated(stream) == NOTE
    stream.close()


def test_subscriptions_end_with_their_session_and_are_limited(
    servers: tuple[Served, Served], migrated_postgres: str
) -> None:
    first, second = servers
    client = Client("team-e").open(first)
    client.notify(first)
    for number in range(100):
        follow(client, servers[number % 2], f"file:///team/{number}.md")
    follow(client, second, "file:///team/7.md")  # known already
    _, refused = client.request(second, "resources/subscribe", {"uri": NOTE})
    assert refused["error"]["data"]["details"]["limit"] == 100
    _, refused = client.request(first, "resources/subscribe", {"uri": "ftp:///team/a"})
    assert refused["error"]["code"] == -32602
    follow(client, first, "memory:///%00", "unsubscribe")
    client.delete(second)

    def left() -> int:
        with psycopg.connect(migrated_postgres) as connection:
            found = connection.execute(
                "SELECT count(*) FROM mcp_session_subscriptions WHERE session_id = %s",
                (client.headers["Mcp-Session-Id"],),
            ).fetchone()
            return int(found[0]) if found else -1

    wait_for(lambda: left() == 0)

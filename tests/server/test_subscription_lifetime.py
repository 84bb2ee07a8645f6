"""Subscriptions of one server end when the client says so, and with its session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conformance.program import Served, serve_http
from session_client import Client, call

MOST_OF_ONE, MOST_OF_ALL = 100, 1_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_http(tmp_path_factory.mktemp("subscriptions") / "data") as running:
        yield running


def follow(client: Client, server: Served, path: str, method: str = "subscribe") -> None:
    uri = f"file:///demo/{path}"
    _, answer = client.request(server, f"resources/{method}", {"uri": uri})
    assert answer.get("result") == {}, answer


def write(client: Client, server: Served, path: str) -> None:
    params = call("file_write", project="demo", path=f"/{path}", content="changed")
    assert not client.request(server, "tools/call", params)[1]["result"]["isError"]


def test_a_client_that_unsubscribed_is_told_nothing(server: Served) -> None:
    client = Client().open(server)
    client.notify(server)
    stream = client.stream(server)
    for path in ("a.md", "b.md"):
        follow(client, server, path)
    follow(client, server, "a.md", "unsubscribe")
    for path in ("a.md", "b.md"):
        write(client, server, path)
    assert stream.message()["params"]["uri"] == "file:///demo/b.md"
    stream.close()


def test_one_client_follows_a_limited_number_of_resources(server: Served) -> None:
    client = Client().open(server)
    client.notify(server)
    for number in range(MOST_OF_ONE):
        follow(client, server, f"{number}.md")
    follow(client, server, "7.md")  # known already
    _, refused = client.request(server, "resources/subscribe", {"uri": "file:///demo/more.md"})
    assert refused["error"]["data"]["details"] == {"field": "uri", "limit": MOST_OF_ONE}
    client.delete(server)


def test_sessions_that_ended_leave_no_subscriptions(server: Served) -> None:
    for _ in range(MOST_OF_ALL // MOST_OF_ONE + 1):
        client = Client().open(server)
        client.notify(server)
        for number in range(MOST_OF_ONE):
            follow(client, server, f"{number}.md")
        assert client.delete(server) == 200

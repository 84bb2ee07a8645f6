"""The head of a request: which headers win, join or make it ambiguous."""

from __future__ import annotations

import pytest

from commonplace.edge.http.middleware import head_of


def head(*headers: tuple[bytes, bytes]) -> tuple[dict[str, str], bool]:
    read = head_of({"type": "http", "method": "POST", "headers": headers})
    return dict(read.headers), read.ambiguous


def test_the_last_value_of_a_header_wins_without_its_whitespace() -> None:
    headers, ambiguous = head((b"accept", b"text/html"), (b"accept", b" application/json\t"))
    assert headers == {"accept": "application/json"}
    assert not ambiguous


def test_lists_of_tools_are_joined() -> None:
    headers, ambiguous = head((b"x-mcp-tools", b"a"), (b"x-mcp-tools", b"b,c"))
    assert headers == {"x-mcp-tools": "a,b,c"}
    assert not ambiguous


@pytest.mark.parametrize("name", [b"mcp-protocol-version", b"mcp-method", b"mcp-name"])
def test_a_routing_header_that_is_sent_twice_makes_a_request_ambiguous(name: bytes) -> None:
    assert head((name, b"x")) == ({name.decode(): "x"}, False)
    assert head((name, b"x"), (name, b"x"))[1]


def test_a_header_of_the_client_cannot_mark_a_request_as_ambiguous() -> None:
    assert not head((b"duplicated", b"\n"), (b"ambiguous", b"1"))[1]

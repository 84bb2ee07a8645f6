"""Which Host and Origin an HTTP server answers to."""

from __future__ import annotations

import pytest

from commonplace.edge.http.reach import LOOPBACK_HOSTS, HttpOptions, hosts_of, refuse_reach


def status(
    host: str, *allowed: str, scheme: str = "http", public_url: str = "", **headers: str
) -> int:
    answer = refuse_reach(
        {"host": host, **headers},
        HttpOptions(public_url, allowed, ("https://listed.example",)),
        scheme,
    )
    return 200 if answer is None else answer.status_code


@pytest.mark.parametrize(
    "host", ["a.example.org", "a.b.example.org:8787", "A.EXAMPLE.ORG", "api.test", "API.Test:443"]
)
def test_a_host_matches_names_in_any_case_and_below_a_wildcard(host: str) -> None:
    assert status(host, "*.Example.org", "Api.Test") == 200


@pytest.mark.parametrize(
    "host",
    [
        "example.org",
        "evil-example.org",
        ".example.org",
        "a.example.org.evil",
        "example.orga",
        "",
        "[::1]",
    ],
)
def test_a_wildcard_matches_neither_its_domain_nor_a_similar_ending(host: str) -> None:
    assert status(host, "*.example.org") == 421


@pytest.mark.parametrize(
    ("scheme", "host", "origin"),
    [
        ("http", "a.example.org", "http://A.example.org"),
        ("http", "a.example.org:80", "http://a.example.org"),
        ("https", "a.example.org", "https://a.example.org:443"),
        ("ws", "localhost:8787", "http://localhost:8787"),
        ("wss", "a.example.org", "https://a.example.org"),
        ("http", "127.0.0.1:8787", "http://localhost:8787"),
        ("http", "[::1]:8787", "http://127.0.0.1:8787"),
        ("http", "localhost:8787", "https://listed.example"),
    ],
)
def test_a_page_of_this_server_or_a_listed_one_may_call(
    scheme: str, host: str, origin: str
) -> None:
    assert status(host, "*.example.org", *LOOPBACK_HOSTS, scheme=scheme, origin=origin) == 200
    assert status(host, scheme=scheme, origin=origin) == 200  # also where any Host is answered to


@pytest.mark.parametrize(
    ("scheme", "host", "origin"),
    [
        ("http", "localhost:8787", "http://localhost:3000"),
        ("http", "localhost:8787", "http://127.0.0.1:3000"),
        ("http", "localhost:8787", "http://localhost"),
        ("http", "localhost:8787", "https://localhost:8787"),
        ("http", "a.example.org", "https://a.example.org"),
        ("https", "a.example.org", "https://b.example.org"),
        ("https", "a.example.org", "https://evil-example.org"),
        ("http", "localhost:8787", "http://evil@localhost:8787"),
        ("http", "localhost:8787", "http://localhost:x"),
        ("http", "localhost:8787", "chrome-extension://localhost:8787"),
        ("http", "localhost:8787", "null"),
        ("http", "localhost:8787", ""),
    ],
)
def test_a_page_of_another_scheme_host_or_port_may_not_call(
    scheme: str, host: str, origin: str
) -> None:
    assert status(host, "*.example.org", *LOOPBACK_HOSTS, scheme=scheme, origin=origin) == 403


def test_the_public_address_behind_a_proxy_counts_as_own() -> None:
    behind = {"public_url": "https://mcp.example.org/base/mcp", "origin": "https://mcp.example.org"}
    assert status("upstream:8787", **behind) == 200
    assert status("upstream:8787", **{**behind, "origin": "https://mcp.example.org:8443"}) == 403


@pytest.mark.parametrize(
    ("bound", "host"),
    [
        ("10.1.2.3", "10.1.2.3:8787"),
        ("fd00::A", "[FD00::a]:8787"),
        ("box", "BOX"),
        ("127.0.0.2", "127.0.0.2:80"),
    ],
)
def test_a_server_answers_to_the_address_it_binds_beside_the_configured_names(
    bound: str, host: str
) -> None:
    allowed = hosts_of(bound, ("api.test",))
    assert status(host, *allowed) == status("api.test", *allowed) == 200
    assert status("evil.example", *allowed) == 421


def test_without_configured_names_any_host_or_loopback_is_allowed() -> None:
    assert hosts_of("10.1.2.3", ()) == ()  # behind keys, any name of a proxy
    assert hosts_of("0.0.0.0", ("api.test",)) == hosts_of("::", ("api.test",)) == ("api.test",)
    assert hosts_of("127.0.0.1", ()) == LOOPBACK_HOSTS

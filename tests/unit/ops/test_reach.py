"""Which Host and Origin an HTTP server answers to."""

from __future__ import annotations

import pytest

from commonplace.edge.reach import LOOPBACK_HOSTS, HttpOptions, hosts_of, refusal


def status(host: str, *allowed: str, **headers: str) -> int:
    answer = refusal({"host": host, **headers}, HttpOptions(allowed_hosts=allowed))
    return 200 if answer is None else answer.status_code


@pytest.mark.parametrize("host", ["a.example.org", "a.b.example.org:8787", "A.EXAMPLE.ORG", "api.test", "API.Test:443"])
def test_a_host_matches_names_in_any_case_and_below_a_wildcard(host: str) -> None:
    assert status(host, "*.Example.org", "Api.Test") == 200


@pytest.mark.parametrize("host", ["example.org", "evil-example.org", ".example.org", "a.example.org.evil", "example.orga", "", "[::1]"])
def test_a_wildcard_is_no_bare_domain_and_no_name_that_ends_alike(host: str) -> None:
    assert status(host, "*.example.org") == 421


def test_pages_of_an_allowed_host_may_call_and_others_may_not() -> None:
    assert status("a.example.org", "*.example.org", origin="https://B.example.org") == 200
    assert status("a.example.org", "*.example.org", origin="https://evil-example.org") == 403


@pytest.mark.parametrize(
    ("bound", "host"), [("10.1.2.3", "10.1.2.3:8787"), ("fd00::A", "[FD00::a]:8787"), ("box", "BOX"), ("127.0.0.2", "127.0.0.2:80")]
)
def test_a_server_answers_to_the_address_it_binds_beside_the_configured_names(bound: str, host: str) -> None:
    allowed = hosts_of(bound, ("api.test",))
    assert status(host, *allowed) == status("api.test", *allowed) == 200
    assert status("evil.example", *allowed) == 421


def test_what_was_open_or_closed_stays_so() -> None:
    assert hosts_of("10.1.2.3", ()) == ()  # behind keys, any name of a proxy
    assert hosts_of("0.0.0.0", ("api.test",)) == hosts_of("::", ("api.test",)) == ("api.test",)
    assert hosts_of("127.0.0.1", ()) == LOOPBACK_HOSTS

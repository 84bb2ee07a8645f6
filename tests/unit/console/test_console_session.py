"""Sessions in sealed cookies: what opens them, what does not, and when they end."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest
from tests.unit.console.conftest import KEY, FakeCaller, derive_key, make_gate

from commonplace.console.session import COOKIE, IDLE_SECONDS, RENEW_SECONDS, Gate, Sessions
from commonplace.kernel.errors import UNAUTHENTICATED, CommonplaceError


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def make_sessions(clock: Clock, *, is_open: bool = False) -> Sessions:
    return Sessions(make_gate(FakeCaller(), is_open=is_open), clock)


def test_a_cookie_opens_on_every_server_with_the_same_secret(clock: Clock) -> None:
    one, other = make_sessions(clock), make_sessions(clock)
    session = one.open(KEY)
    found = other.find({COOKIE: one.cookie(session)})
    assert found is not None
    assert found.key == KEY
    assert found.csrf_token == session.csrf_token


def test_a_cookie_shows_nothing_of_the_key_and_differs_each_time(clock: Clock) -> None:
    sessions = make_sessions(clock)
    session = sessions.open(KEY)
    first, second = sessions.cookie(session), sessions.cookie(session)
    assert first != second
    assert KEY.encode() not in base64.urlsafe_b64decode(first)


def test_another_secret_does_not_open_a_cookie(clock: Clock) -> None:
    sessions = make_sessions(clock)
    gate = replace(sessions.gate, derive_key=lambda purpose: derive_key(f"other {purpose}"))
    assert Sessions(gate, clock).find({COOKIE: sessions.cookie(sessions.open(KEY))}) is None


def test_a_changed_cookie_is_refused_wherever_it_was_changed(clock: Clock) -> None:
    sessions = make_sessions(clock)
    sealed = base64.urlsafe_b64decode(sessions.cookie(sessions.open(KEY)))
    for place in range(len(sealed)):
        changed = bytearray(sealed)
        changed[place] ^= 1
        assert sessions.find({COOKIE: base64.urlsafe_b64encode(changed).decode()}) is None


@pytest.mark.parametrize("cookie", ["", "x", "guessed", "=", "A" * 5000, "é", "AAAA", "A" * 40])
def test_what_is_not_a_cookie_of_ours_is_refused(cookie: str, clock: Clock) -> None:
    assert make_sessions(clock).find({COOKIE: cookie}) is None


def test_a_session_ends_when_it_was_idle_for_long(clock: Clock) -> None:
    sessions = make_sessions(clock)
    cookie = sessions.cookie(sessions.open(KEY))
    clock.now += IDLE_SECONDS
    assert sessions.find({COOKIE: cookie}) is not None
    clock.now += 1
    assert sessions.find({COOKIE: cookie}) is None


def test_a_cookie_in_use_is_renewed(clock: Clock) -> None:
    sessions = make_sessions(clock)
    session = sessions.open(KEY)
    assert not sessions.is_due(session)
    clock.now += RENEW_SECONDS + 1
    assert sessions.is_due(session)
    renewed = sessions.find({COOKIE: sessions.cookie(session)})
    assert renewed is not None
    assert not sessions.is_due(renewed)


def test_a_revoked_key_ends_its_session(clock: Clock) -> None:
    revoked: set[str] = set()

    def resume(key: str, address: str | None) -> FakeCaller:
        if key in revoked:
            raise CommonplaceError(UNAUTHENTICATED, "This key was revoked.")
        return FakeCaller()

    sessions = Sessions(Gate(resume, resume, derive_key), clock)
    cookie = sessions.cookie(sessions.open(KEY))
    assert sessions.find({COOKIE: cookie}) is not None
    revoked.add(KEY)
    assert sessions.find({COOKIE: cookie}) is None


def test_an_open_console_gives_each_browser_its_own_token(clock: Clock) -> None:
    sessions = make_sessions(clock, is_open=True)
    one, other = sessions.open_without_key(), sessions.open_without_key()
    assert one is not None
    assert other is not None
    assert one.csrf_token != other.csrf_token
    again = sessions.find({COOKIE: sessions.cookie(one)})
    assert again is not None
    assert again.csrf_token == one.csrf_token


def test_a_session_without_a_key_ends_when_keys_are_wanted(clock: Clock) -> None:
    was_open = make_sessions(clock, is_open=True)
    session = was_open.open_without_key()
    assert session is not None
    assert make_sessions(clock).find({COOKIE: was_open.cookie(session)}) is None


def test_pages_stay_valid_when_a_person_signs_in_again(clock: Clock) -> None:
    sessions = make_sessions(clock)
    before = sessions.open(KEY).csrf_token
    clock.now += 100
    assert sessions.open(KEY).csrf_token == before


def test_the_address_of_the_browser_reaches_the_caller(clock: Clock) -> None:
    seen: list[str | None] = []

    def resume(key: str, address: str | None) -> FakeCaller:
        seen.append(address)
        return FakeCaller()

    sessions = Sessions(Gate(resume, resume, derive_key), clock)
    cookie = sessions.cookie(sessions.open(KEY, "10.1.2.3"))
    sessions.find({COOKIE: cookie}, "10.1.2.4")
    assert seen == ["10.1.2.3", "10.1.2.4"]

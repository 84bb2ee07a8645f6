"""Checks that callers share: each begins after the request, and a burst costs two."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from commonplace.instructions.store.postgres.shared_check import SharedCheck


class ManualChecks:
    """Checks that end when the test says so."""

    def __init__(self) -> None:
        self.started: list[Future[None]] = []
        self.shared = SharedCheck(self._start)

    def _start(self) -> Future[None]:
        self.started.append(Future())
        return self.started[-1]


def test_a_request_during_a_check_waits_for_the_next_one() -> None:
    checks = ManualChecks()
    first = checks.shared.request()
    later = [checks.shared.request() for _ in range(50)]
    assert len(checks.started) == 1
    checks.started[0].set_result(None)
    assert first.done()
    assert not any(future.done() for future in later)  # their check began only now
    assert len(checks.started) == 2
    checks.started[1].set_result(None)
    assert all(future.done() for future in later)
    assert len(checks.started) == 2
    assert checks.shared.seconds_in_progress == 0.0


def test_a_failed_check_fails_its_callers_only() -> None:
    checks = ManualChecks()
    first, second = checks.shared.request(), checks.shared.request()
    checks.started[0].set_exception(ConnectionError("lost"))
    with pytest.raises(ConnectionError):
        first.result(0)
    checks.started[1].set_result(None)
    assert second.result(0) is None


def test_a_check_that_cannot_start_is_an_error_of_the_caller() -> None:
    def refuse() -> Future[None]:
        raise RuntimeError("the database is closed")

    shared = SharedCheck(refuse)
    with pytest.raises(RuntimeError, match="closed"):
        shared.request().result(0)
    with pytest.raises(RuntimeError, match="closed"):
        shared.request().result(0)


def test_a_caller_cannot_cancel_the_check_of_the_others() -> None:
    checks = ManualChecks()
    first = checks.shared.request()
    assert not first.cancel()
    checks.started[0].set_result(None)
    assert first.result(0) is None

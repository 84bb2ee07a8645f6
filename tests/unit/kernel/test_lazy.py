"""Properties that are built once, and stand-ins for services."""

from __future__ import annotations

import threading

import pytest

from commonplace.kernel.lazy import deferred, lazy


class Owner:
    def __init__(self, failures: int = 0) -> None:
        self.locks: dict[str, threading.RLock] = {}
        self.failures = failures
        self.builds = 0

    @lazy
    def value(self) -> list[int]:
        self.builds += 1
        if self.builds <= self.failures:
            raise OSError("not yet")
        return [self.builds]

    @lazy
    def dependent(self) -> int:
        return self.value[0] + 1


def test_a_property_is_built_once_by_many_threads() -> None:
    owner = Owner()
    found: list[list[int]] = []
    threads = [threading.Thread(target=lambda: found.append(owner.value)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert owner.builds == 1
    assert all(value is owner.value for value in found)


def test_a_build_that_failed_is_tried_again() -> None:
    owner = Owner(failures=1)
    with pytest.raises(OSError, match="not yet"):
        _ = owner.value
    assert owner.value == [2]


def test_a_property_may_use_another_and_owners_share_nothing() -> None:
    first, second = Owner(), Owner()
    assert first.dependent == 2
    assert second.builds == 0


def test_a_stand_in_answers_known_attributes_without_building() -> None:
    built: list[str] = []

    def make() -> str:
        built.append("text")
        return "text"

    stand_in = deferred(make, size=3)
    assert stand_in.size == 3  # type: ignore[attr-defined]
    assert built == []
    assert stand_in.upper() == "TEXT"

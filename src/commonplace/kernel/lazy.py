"""Values that are made when first asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def once(make: Callable[[], T]) -> Callable[[], T]:
    """Return a function that calls `make` once, from whichever thread asks first.

    A failed call is tried again.
    """
    made: list[T] = []
    guard = threading.RLock()

    def get() -> T:
        if not made:
            with guard:
                if not made:
                    made.append(make())
        return made[0]

    return get

"""Wait for what a promise to users says, also on a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable

LOOK_SECONDS = 0.01
MOST_SECONDS = 0.05  # of a look: more is the machine's time, not the product's


def is_met_within(seconds: float, condition: Callable[[], bool]) -> bool:
    """Wait for a condition with a bound; return whether it was met.

    A look that takes long because the machine is busy or paused counts as a short one.
    """
    waited, last = 0.0, time.monotonic()
    while not condition():
        if waited > seconds:
            return False
        time.sleep(LOOK_SECONDS)
        now = time.monotonic()
        waited, last = waited + min(now - last, MOST_SECONDS), now
    return True

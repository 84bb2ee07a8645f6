"""Callbacks from threads into event loops, with one wake-up per loop.

Waking a loop costs as much as a small write, so callbacks for the same loop travel together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

Callback = tuple["asyncio.Future[Any]", Callable[[], None]]


def call_in_loops(callbacks: Iterable[Callback]) -> None:
    """Call each function in the loop of its future, unless that future is already done."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Callback]] = {}
    for future, callback in callbacks:
        by_loop.setdefault(future.get_loop(), []).append((future, callback))
    for loop, group in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed, so no task waits
            loop.call_soon_threadsafe(_run, group)


def _run(group: Sequence[Callback]) -> None:
    for future, callback in group:
        if not future.done():  # it may have been cancelled
            callback()

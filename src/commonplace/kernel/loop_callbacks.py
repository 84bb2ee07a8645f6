"""From a thread back to event loops: who waits in one loop is woken together, for waking a loop
costs as much as a small write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any


def tell_together(waiting: Iterable[tuple[asyncio.Future[Any], Callable[[], None]]]) -> None:
    """Call each function in the loop of its future, unless nobody waits for that any more."""
    by_loop: dict[
        asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Callable[[], None]]]
    ] = {}
    for waiter, tell in waiting:
        by_loop.setdefault(waiter.get_loop(), []).append((waiter, tell))
    for loop, those in by_loop.items():
        with suppress(RuntimeError):  # it is closed: nobody is left to tell
            loop.call_soon_threadsafe(_tell, those)


def _tell(those: Sequence[tuple[asyncio.Future[Any], Callable[[], None]]]) -> None:
    for waiter, tell in those:
        if not waiter.done():  # it was given up
            tell()

"""Pauses of the garbage collector while large structures are built.

Parsed documents and indexes have no cycles, and traversing a million nodes costs more than
creating them.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LARGE_BYTES = 1_000_000

_lock = threading.Lock()
_pauses = 0
_enable_after = False
_freeze_after = False


@contextmanager
def gc_paused(*, freeze: bool = False) -> Iterator[None]:
    """Pause garbage collection. Nested and concurrent pauses end with the last one.

    `freeze`: the new objects will be cached, so the collector ignores them until `gc_unfreeze`.
    """
    global _pauses, _enable_after, _freeze_after
    with _lock:
        if _pauses == 0:
            _enable_after = gc.isenabled()
            gc.disable()
            if freeze:
                gc.collect(1)  # young garbage would be frozen too
        _pauses += 1
        _freeze_after = _freeze_after or freeze
    try:
        yield
    finally:
        with _lock:
            _pauses -= 1
            if _pauses == 0:
                if _freeze_after:
                    gc.freeze()
                    _freeze_after = False
                if _enable_after:
                    gc.enable()


def gc_unfreeze() -> None:
    """Make the collector examine everything again, after a frozen structure was dropped."""
    gc.unfreeze()
    gc.collect()

"""Large structures and the garbage collector: trees and indexes have no cycles, and walking a
million nodes costs more than making them.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LARGE_BYTES = 1_000_000

_pauses = 0
_pause_lock = threading.Lock()
_resume = False
_keep = False


@contextmanager
def collector_off(*, keep: bool = False) -> Iterator[None]:
    """No garbage collection while something large is built.

    `keep`: what was built will be cached, so the collector never looks at it until `forget_kept`.
    """
    global _pauses, _resume, _keep
    with _pause_lock:
        if _pauses == 0:
            _resume = gc.isenabled()
            gc.disable()
            if keep:
                gc.collect(1)  # young garbage would be kept too
        _pauses += 1
        _keep = _keep or keep
    try:
        yield
    finally:
        with _pause_lock:
            _pauses -= 1
            if _pauses == 0:
                if _keep:
                    gc.freeze()
                    _keep = False
                if _resume:
                    gc.enable()


def forget_kept() -> None:
    """A kept document is gone: the collector looks at everything once."""
    gc.unfreeze()
    gc.collect()

"""One check at a time for all callers: whoever comes during a check waits for the next one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future


class SharedCheck:
    """Run a check that begins after each request, and share it between requests.

    A burst of requests costs two checks, the one in progress and the next one.
    """

    def __init__(self, start: Callable[[], Future[None]]) -> None:
        self._start_check = start
        self._lock = threading.Lock()
        self._began: float | None = None  # monotonic time of the check in progress
        self._next: Future[None] | None = None

    @property
    def seconds_in_progress(self) -> float:
        """Return the age of the check in progress, or 0."""
        began = self._began
        return 0.0 if began is None else time.monotonic() - began

    def request(self) -> Future[None]:
        """Return the outcome of a check that begins from now on. It cannot be cancelled."""
        with self._lock:
            if self._began is not None:
                if self._next is None:
                    self._next = _promise()
                return self._next
            self._began = time.monotonic()
        promise = _promise()
        self._start(promise)
        return promise

    def _start(self, promise: Future[None]) -> None:
        try:
            check = self._start_check()
        except BaseException as error:  # whatever it is, the callers must learn it
            check = Future()
            check.set_exception(error)
        check.add_done_callback(lambda done: self._finish(promise, done))

    def _finish(self, promise: Future[None], done: Future[None]) -> None:
        with self._lock:
            following, self._next = self._next, None
            self._began = None if following is None else time.monotonic()
        error = done.exception()
        if error is not None:
            promise.set_exception(error)
        else:
            promise.set_result(None)
        if following is not None:
            self._start(following)


def _promise() -> Future[None]:
    """Return a future that callers share, so none of them may cancel it."""
    promise: Future[None] = Future()
    promise.set_running_or_notify_cancel()
    return promise

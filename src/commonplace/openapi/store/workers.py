"""Thread pools of the openapi tools: one for computing, one for work that uses the network.

Work starts in the computing pool. If it turns out to need a URL it is stopped and restarted in the
network pool, where each caller may use only a few threads: servers that answer slowly, or never, do
not occupy the threads of other callers.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from commonplace.openapi.store.network import CallNetwork
from commonplace.storage.network_loop import CallerSlots

COMPUTING_THREADS = 4
NETWORK_THREADS = 16
NETWORK_THREADS_PER_CALLER = 4
CALL_FETCHES = 3  # a call that follows references may take this many times as long as one fetch

T = TypeVar("T")
_thread_state = threading.local()


class NetworkNeededError(BaseException):
    """Work in the computing pool needs a URL.

    A BaseException, so that no `except Exception` on the way catches it.
    """


def permitted_network(seconds: float) -> CallNetwork:
    """Return the network of the running call; on the command line a new one.

    Raises NetworkNeededError in the computing pool.
    """
    network: CallNetwork | None = getattr(_thread_state, "network", None)
    if getattr(_thread_state, "offline", False):
        raise NetworkNeededError
    return network or CallNetwork(seconds)


class Workers:
    """Runs work in threads, which start on first use."""

    def __init__(
        self,
        threads: int = COMPUTING_THREADS,
        network_threads: int = NETWORK_THREADS,
        per_caller: int = NETWORK_THREADS_PER_CALLER,
    ) -> None:
        self._computing = ThreadPoolExecutor(threads, "openapi")
        self._network = ThreadPoolExecutor(network_threads, "openapi-fetch")
        self._slots = CallerSlots(network_threads, per_caller)
        self._fetching: set[CallNetwork] = set()
        self._lock = threading.Lock()
        self._closed = False

    async def run(
        self, caller: str, url_seconds: float, work: Callable[[], T], *, fetches: bool = False
    ) -> T:
        """Return the result of `work`.

        `fetches`: the work is known to need the network. Raises SERVER_BUSY if the caller uses
        too many network threads.
        """
        if not fetches:
            try:
                return await asyncio.get_running_loop().run_in_executor(
                    self._computing, _run_offline, work
                )
            except NetworkNeededError:
                pass
        network = CallNetwork(url_seconds * CALL_FETCHES, url_seconds)
        future = self._submit(caller, network, work)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            network.cancel()
            raise

    def _submit(self, caller: str, network: CallNetwork, work: Callable[[], T]) -> Future[T]:
        self._slots.acquire(caller)
        with self._lock:
            self._fetching.add(network)
            if self._closed:
                network.cancel()
        try:
            future = self._network.submit(_run_online, network, work)
        except RuntimeError:  # the pool is shut down
            self._end(caller, network)
            raise
        future.add_done_callback(lambda _: self._end(caller, network))
        return future

    def _end(self, caller: str, network: CallNetwork) -> None:
        with self._lock:
            self._fetching.discard(network)
        self._slots.release(caller)

    def close(self) -> None:
        """End fetches at once and accept no more work."""
        with self._lock:
            self._closed = True
            fetching = tuple(self._fetching)
        for network in fetching:
            network.cancel()
        self._network.shutdown(wait=False, cancel_futures=True)
        self._computing.shutdown(wait=False, cancel_futures=True)


def _run_offline(work: Callable[[], T]) -> T:
    _thread_state.offline = True
    try:
        return work()
    finally:
        _thread_state.offline = False


def _run_online(network: CallNetwork, work: Callable[[], T]) -> T:
    _thread_state.network = network
    try:
        return work()
    finally:
        _thread_state.network = None

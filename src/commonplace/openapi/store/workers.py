"""Where the work of the openapi tools runs: computing in one pool, whatever waits on the network
in another.

Work starts among the computing threads. Once it turns out to need a URL it is stopped and started
anew among the network threads, of which a caller has only a few: peers that answer slowly, or
never, occupy nobody else's threads.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from commonplace.openapi.store.fetch import Network
from commonplace.storage.network_loop import CallerSlots

COMPUTING_THREADS = 4
NETWORK_THREADS = 16
NETWORK_THREADS_PER_CALLER = 4
CALL_FETCHES = (
    3  # a call that follows references from URL to URL may take so many times as long as one fetch
)

T = TypeVar("T")
_here = threading.local()


class NetworkNeededError(BaseException):
    """Work among the computing threads came upon a URL.

    No `except Exception` on the way may swallow it.
    """


def permitted_network(seconds: float) -> Network:
    """What the running work may use to fetch: the network of its call, or one of its own on the
    command line.
    """
    network: Network | None = getattr(_here, "network", None)
    if getattr(_here, "offline", False):
        raise NetworkNeededError
    return network or Network(seconds)


class Workers:
    """Threads start with the first use. `close` ends fetches at once and takes no more work."""

    def __init__(
        self,
        threads: int = COMPUTING_THREADS,
        network_threads: int = NETWORK_THREADS,
        per_caller: int = NETWORK_THREADS_PER_CALLER,
    ) -> None:
        self._computing = ThreadPoolExecutor(threads, "openapi")
        self._network = ThreadPoolExecutor(network_threads, "openapi-fetch")
        self._slots = CallerSlots(network_threads, per_caller)
        self._fetching: set[Network] = set()
        self._guard = threading.Lock()
        self._closed = False

    async def run(
        self, caller: str, url_seconds: float, work: Callable[[], T], *, fetches: bool = False
    ) -> T:
        """The result of `work`.

        `fetches`: it is known to need the network. Raises SERVER_BUSY where a caller fetches too
        much.
        """
        if not fetches:
            try:
                return await asyncio.get_running_loop().run_in_executor(
                    self._computing, _offline, work
                )
            except NetworkNeededError:
                pass
        network = Network(url_seconds * CALL_FETCHES, url_seconds)
        future = self._submit(caller, network, work)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            network.cancel()
            raise

    def _submit(self, caller: str, network: Network, work: Callable[[], T]) -> Future[T]:
        self._slots.acquire(caller)
        with self._guard:
            self._fetching.add(network)
            if self._closed:
                network.cancel()
        try:
            future = self._network.submit(_online, network, work)
        except RuntimeError:  # the pool is shut down
            self._end(caller, network)
            raise
        future.add_done_callback(lambda _: self._end(caller, network))
        return future

    def _end(self, caller: str, network: Network) -> None:
        with self._guard:
            self._fetching.discard(network)
        self._slots.release(caller)

    def close(self) -> None:
        with self._guard:
            self._closed = True
            fetching = tuple(self._fetching)
        for network in fetching:
            network.cancel()
        self._network.shutdown(wait=False, cancel_futures=True)
        self._computing.shutdown(wait=False, cancel_futures=True)


def _offline(work: Callable[[], T]) -> T:
    _here.offline = True
    try:
        return work()
    finally:
        _here.offline = False


def _online(network: Network, work: Callable[[], T]) -> T:
    _here.network = network
    try:
        return work()
    finally:
        _here.network = None

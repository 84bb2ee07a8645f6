"""Threads of bulk embedding are shared, and leave room while queries come in."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from commonplace.search.semantic.bulk import NICENESS, QUERY_SECONDS, BulkThreads, default_threads


class Gauge:
    """Counts how many pieces run at a time; each waits until `together` do, or gives up."""

    def __init__(self, together: int) -> None:
        self._barrier = threading.Barrier(together)
        self._guard = threading.Lock()
        self._running = 0
        self.most = 0

    def work(self, item: int) -> int:
        with self._guard:
            self._running += 1
            self.most = max(self.most, self._running)
        try:
            self._barrier.wait(5)
        except threading.BrokenBarrierError:
            pass
        finally:
            with self._guard:
                self._running -= 1
        return item * 2


def test_results_keep_their_order_and_the_largest_begin_first() -> None:
    begun: list[int] = []

    def work(item: int) -> int:
        begun.append(item)
        return -item

    threads = BulkThreads(1)
    assert threads.map(work, [3, 9, 1], abs) == [-3, -9, -1]
    assert begun == [9, 3, 1]
    threads.close()


def test_two_short_jobs_use_two_threads_together() -> None:
    gauge, threads = Gauge(2), BulkThreads(2)
    with ThreadPoolExecutor(2) as jobs:
        done = [jobs.submit(threads.map, gauge.work, [n, n], abs) for n in (1, 2)]
        assert [job.result(30) for job in done] == [[2, 2], [4, 4]]
    assert gauge.most == 2
    threads.close()


def test_a_single_text_does_not_wait_behind_bulk_work() -> None:
    going_on, threads = threading.Event(), BulkThreads(1)
    with ThreadPoolExecutor(1) as jobs:
        bulk = jobs.submit(threads.map, lambda item: going_on.wait(30), [1, 2], abs)
        names = threads.map(lambda item: threading.current_thread().name, [3], abs)
        assert names == [threading.current_thread().name]
        assert not bulk.done()
        going_on.set()
        assert bulk.result(30) == [True, True]
    threads.close()


def test_after_a_query_half_of_the_threads_stay_free_for_a_while() -> None:
    now = 100.0
    threads = BulkThreads(2, clock=lambda: now)
    threads.note_query()
    gauge = Gauge(1)
    assert threads.map(gauge.work, [1, 2, 3, 4], abs) == [2, 4, 6, 8]
    assert gauge.most == 1
    now += QUERY_SECONDS + 0.1
    gauge = Gauge(2)
    threads.map(gauge.work, [1, 2, 3, 4], abs)
    assert gauge.most == 2
    threads.close()


def test_other_threads_go_first_where_threads_have_priorities() -> None:
    def niceness(_: int) -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    threads = BulkThreads(1)
    wanted = NICENESS if sys.platform == "linux" else 0
    assert threads.map(niceness, [1, 2], abs) == [max(niceness(0), wanted)] * 2
    threads.close()


def test_there_is_at_least_one_thread_and_never_more_than_processors() -> None:
    assert 1 <= default_threads() <= (os.cpu_count() or 1)
    assert BulkThreads(0).map(abs, [-1], abs) == [1]

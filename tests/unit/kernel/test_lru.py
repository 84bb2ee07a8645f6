"""The cache that evicts its least recently used entries."""

from __future__ import annotations

import threading

from commonplace.kernel.lru import LruCache


def test_the_least_recently_used_entry_is_evicted() -> None:
    cache = LruCache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert (cache.get("b"), cache.keys()) == (None, ["a", "c"])


def test_peek_does_not_count_as_use() -> None:
    cache = LruCache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.peek("a") == 1
    cache.put("c", 3)
    assert "a" not in cache


def test_sizes_are_bounded_and_one_entry_always_stays() -> None:
    cache = LruCache[str, bytes](max_size=10, size_of=len)
    cache.put("a", b"12345")
    cache.put("b", b"12345")
    assert (len(cache), cache.size) == (2, 10)
    cache.put("c", b"1")
    assert (cache.keys(), cache.size) == (["b", "c"], 6)
    cache.put("large", bytes(50))
    assert (cache.keys(), cache.size) == (["large"], 50)


def test_replacing_an_entry_corrects_the_size() -> None:
    cache = LruCache[str, bytes](max_size=10, size_of=len)
    cache.put("a", b"12345678")
    cache.put("a", b"12")
    assert cache.size == 2
    assert cache.pop("a") == b"12"
    assert (cache.size, len(cache), cache.pop("a")) == (0, 0, None)


def test_make_room_may_evict_everything() -> None:
    evicted: list[bytes] = []
    cache = LruCache[str, bytes](max_size=10, size_of=len, on_evict=evicted.extend)
    cache.put("a", b"1234")
    cache.put("b", b"1234")
    cache.make_room(5)
    assert (cache.keys(), evicted) == (["b"], [b"1234"])
    cache.make_room(100)
    assert len(cache) == 0


def test_evicted_and_replaced_values_are_reported_once() -> None:
    evicted: list[object] = []
    cache = LruCache[str, object](1, on_evict=evicted.extend)
    first, second = object(), object()
    cache.put("a", first)
    cache.put("a", first)
    assert evicted == []
    cache.put("a", second)
    cache.put("b", first)
    assert evicted == [first, second]


def test_the_callback_may_use_the_cache() -> None:
    cache = LruCache[str, int](1, on_evict=lambda values: cache.clear())
    cache.put("a", 1)
    cache.put("b", 2)
    assert (len(cache), cache.size, cache.values()) == (0, 0, [])


def test_threads_keep_the_bound() -> None:
    cache = LruCache[int, int](10, max_size=1000, size_of=lambda value: 1)

    def fill(start: int) -> None:
        for number in range(start, start + 2000):
            cache.put(number, number)
            cache.get(number - 1)

    threads = [threading.Thread(target=fill, args=(n * 1000,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cache) == cache.size == 10

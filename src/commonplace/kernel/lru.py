"""A cache that evicts its least recently used entries."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LruCache(Generic[Key, Value]):
    """A bounded mapping in the order of use. Thread-safe.

    `max_entries` bounds the number of entries. `max_size` bounds the sum of `size_of(value)`; one
    entry is kept whatever its size. `on_evict` is called, outside the lock, with the values that
    were evicted or replaced.
    """

    def __init__(
        self,
        max_entries: int | None = None,
        *,
        max_size: int | None = None,
        size_of: Callable[[Value], int] | None = None,
        on_evict: Callable[[list[Value]], None] | None = None,
    ) -> None:
        self._max_entries = max_entries
        self._max_size = max_size
        self._size_of = size_of
        self._on_evict = on_evict
        self._entries: OrderedDict[Key, Value] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        """Return the value of a key and mark it as used."""
        with self._lock:
            value = self._entries.get(key)
            if value is not None:
                self._entries.move_to_end(key)
            return value

    def peek(self, key: Key) -> Value | None:
        """Return the value of a key without marking it as used."""
        return self._entries.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Store a value as the most recently used one, and evict others if there are too many."""
        evicted: list[Value] = []
        with self._lock:
            previous = self._entries.pop(key, None)
            if previous is not None:
                self._size -= self._measure(previous)
                if previous is not value:
                    evicted.append(previous)
            del previous  # `on_evict` may want to free it
            self._entries[key] = value
            self._size += self._measure(value)
            self._evict(0, evicted)
        self._report(evicted)

    def pop(self, key: Key) -> Value | None:
        """Remove a key and return its value. `on_evict` is not called."""
        with self._lock:
            value = self._entries.pop(key, None)
            if value is not None:
                self._size -= self._measure(value)
            return value

    def make_room(self, size: int) -> None:
        """Evict entries until a value of `size` would fit beside the rest."""
        evicted: list[Value] = []
        with self._lock:
            self._evict(size, evicted)
        self._report(evicted)

    def clear(self) -> None:
        """Remove all entries. `on_evict` is not called."""
        with self._lock:
            self._entries.clear()
            self._size = 0

    def keys(self) -> list[Key]:
        """Return the keys, least recently used first."""
        with self._lock:
            return list(self._entries)

    def values(self) -> list[Value]:
        """Return the values, least recently used first."""
        with self._lock:
            return list(self._entries.values())

    @property
    def size(self) -> int:
        """The sum of the sizes of all values."""
        return self._size

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def _measure(self, value: Value) -> int:
        return self._size_of(value) if self._size_of is not None else 0

    def _evict(self, incoming: int, evicted: list[Value]) -> None:
        kept = 0 if incoming else 1
        while len(self._entries) > kept and self._is_full(incoming):
            _, value = self._entries.popitem(last=False)
            self._size -= self._measure(value)
            evicted.append(value)

    def _is_full(self, incoming: int) -> bool:
        if self._max_entries is not None and len(self._entries) > self._max_entries:
            return True
        return self._max_size is not None and self._size + incoming > self._max_size

    def _report(self, evicted: list[Value]) -> None:
        if evicted and self._on_evict is not None:
            self._on_evict(evicted)

"""Values that are built when they are first used."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar, cast, overload

T = TypeVar("T")


class HasLocks(Protocol):
    """An owner of lazy properties."""

    locks: dict[str, threading.RLock]


class lazy(Generic[T]):  # noqa: N801  # a decorator, as cached_property is
    """A property that is built once, by the first thread that reads it.

    A build that fails is tried again by the next one who asks. Each property has a lock of its
    own, so that a slow build delays only those who need its value.
    """

    def __init__(self, build: Callable[..., T]) -> None:
        self._build = build
        self._name = build.__name__
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> lazy[T]: ...

    @overload
    def __get__(self, owner: HasLocks, kind: type) -> T: ...

    def __get__(self, owner: HasLocks | None, kind: type) -> T | lazy[T]:
        if owner is None:
            return self
        with owner.locks.setdefault(self._name, threading.RLock()):
            built = vars(owner)
            if self._name not in built:
                built[self._name] = self._build(owner)
            return cast(T, built[self._name])


class _Deferred:
    __slots__ = ("_known", "_make")

    def __init__(self, make: Callable[[], object], known: Mapping[str, object]) -> None:
        self._make = make
        self._known = known

    def __getattr__(self, name: str) -> object:
        return self._known[name] if name in self._known else getattr(self._make(), name)


def deferred(make: Callable[[], T], **known: object) -> T:
    """Return a stand-in for a service that is built when one of its attributes is first used.

    Attributes in `known` are answered without it. A listing of tools then opens no database, and a
    full disk fails calls only.
    """
    return cast(T, _Deferred(make, known))

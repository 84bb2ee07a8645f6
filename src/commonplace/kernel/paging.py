"""Pages of results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Some of the results. `total` counts all of them where it is known."""

    items: Sequence[Item]
    has_more: bool
    total: int | None = None


def slice_page(items: Sequence[Item], limit: int, offset: int = 0) -> Page[Item]:
    """Return a page of results that are all in memory."""
    return Page(items[offset : offset + limit], offset + limit < len(items), len(items))


def trim_page(fetched: Sequence[Item], limit: int) -> Page[Item]:
    """Return a page of results that were fetched with a limit of `limit + 1`.

    The extra result only tells that there are more.
    """
    return Page(fetched[:limit], len(fetched) > limit)

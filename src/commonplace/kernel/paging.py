"""Pages of results, and batches of work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class ResultPage(Generic[Item]):
    """Some of the results.

    `total` counts all of them if it is known; `next_cursor` asks for the next page if there are
    cursors.
    """

    items: Sequence[Item]
    has_more: bool
    total: int | None = None
    next_cursor: str | None = None


def slice_page(items: Sequence[Item], limit: int, offset: int = 0) -> ResultPage[Item]:
    """Return a page of results that are all in memory."""
    return ResultPage(items[offset : offset + limit], offset + limit < len(items), len(items))


def counted_page(items: Sequence[Item], offset: int, total: int) -> ResultPage[Item]:
    """Return a page of results that were fetched from `offset` on and counted separately."""
    return ResultPage(items, offset + len(items) < total, total)


def trim_page(fetched: Sequence[Item], limit: int) -> ResultPage[Item]:
    """Return a page of results that were fetched with a limit of `limit + 1`.

    The extra result only tells that there are more.
    """
    return ResultPage(fetched[:limit], len(fetched) > limit)


def in_batches(
    items: Iterable[Item],
    size_of: Callable[[Item], int],
    most_size: int,
    most_items: int | None = None,
) -> Iterator[list[Item]]:
    """Yield items in order in lists of at most a total size and a number.

    An item that is larger than the size is alone in its batch.
    """
    batch: list[Item] = []
    total = 0
    for item in items:
        size = size_of(item)
        if batch and (total + size > most_size or len(batch) == most_items):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size
    if batch:
        yield batch

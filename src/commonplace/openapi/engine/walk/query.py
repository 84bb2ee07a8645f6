"""Query and result of a walk, with the limits on the size of an answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import orjson

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.paging import slice_page
from commonplace.openapi.engine.walk.rows import WalkGroup
from commonplace.openapi.errors import ANSWER_TOO_LARGE
from commonplace.openapi.model import DEFAULT_LIMIT, MAX_LIMIT

DETAIL_LIMIT = 25
ANSWER_LIMIT_BYTES = 1_000_000

Item = TypeVar("Item")
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class WalkQuery:
    """The arguments that all walks share."""

    detail: bool = False
    resolve_refs: bool = False
    limit: int | None = None
    offset: int = 0
    group_by: str | None = None
    extension: str | None = None

    @property
    def page_size(self) -> int:
        """Return how many rows a page holds at most."""
        return min(self.limit or (DETAIL_LIMIT if self.detail else DEFAULT_LIMIT), MAX_LIMIT)

    def page(self, items: Sequence[Item]) -> Sequence[Item]:
        """Return the items of the requested page."""
        return slice_page(items, self.page_size, self.offset).items


@dataclass(frozen=True, slots=True)
class WalkResult(Generic[Row]):
    """One page of groups or rows, with the totals of the whole walk."""

    total: int
    matched: int
    listing: Literal["groups", "summaries", "details"]
    rows: Sequence[Row] = ()
    groups: Sequence[WalkGroup] = ()
    next_offset: int | None = None  # set when the page was cut because it grew too large
    circular_refs: Sequence[str] = ()
    unresolved_refs: Sequence[str] = ()
    refs_left: Sequence[str] = ()
    webhook_operations: int = 0
    callback_operations: int = 0


def fit_rows(rows: Iterable[Row], limit_bytes: int = ANSWER_LIMIT_BYTES) -> tuple[list[Row], bool]:
    """Return as many rows as an answer holds, and whether some were cut.

    Raises ANSWER_TOO_LARGE if the first row alone is too large: paging would not help.
    """
    used = 0
    kept: list[Row] = []
    for row in rows:
        used += encoded_size(row)
        if used > limit_bytes:
            if not kept:
                raise CommonplaceError(
                    ANSWER_TOO_LARGE,
                    f"The first result alone is {used} bytes; an answer holds {limit_bytes}.",
                    hint="Ask without resolve_refs, or without detail.",
                    details={"bytes": used, "limit_bytes": limit_bytes},
                )
            return kept, True
        kept.append(row)
    return kept, False


def encoded_size(row: object) -> int:
    """Return the length of a row as JSON, in bytes."""
    try:
        return len(orjson.dumps(row))
    except (TypeError, ValueError):
        raise CommonplaceError(
            ANSWER_TOO_LARGE, "The result nests too deeply to be shown.", hint="Ask without detail."
        ) from None

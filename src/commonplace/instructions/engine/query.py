"""Filtering, sorting and paging the catalogue: candidates from facets, then a walk along a kept
order.
"""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from commonplace.instructions.engine.catalogue import Catalogue, SortKey
from commonplace.instructions.engine.normalise import parse_time
from commonplace.kernel.paging import Page

SortField = Literal["id", "createdAt", "updatedAt", "priority", "title"]
ANY_OF = (
    "categories",
    "priorityTiers",
    "status",
    "owners",
    "classification",
    "requirements",
    "workspaceId",
    "userId",
    "teamIds",
)


class BadCursor(ValueError):
    """Not a cursor of this query."""


@dataclass(frozen=True, slots=True)
class Sort:
    field: SortField = "id"
    descending: bool = False


def candidates(
    catalogue: Catalogue, filters: Mapping[str, Any], matching: Callable[[str], set[str]]
) -> Set[str] | None:
    """Ids that pass every filter; None means all of them."""
    sets: list[Set[str]] = []
    for name in ANY_OF:
        wanted = filters.get(name)
        if wanted is not None:
            facet = catalogue.facet(name)
            values = [wanted] if isinstance(wanted, str) else wanted
            fold = name in ("categories", "owners", "workspaceId", "userId", "teamIds")
            sets.append(_union(facet, (value.lower() if fold else value for value in values)))
    facet = (
        catalogue.facet("categories")
        if filters.get("categoriesAll") or filters.get("excludeCategories")
        else {}
    )
    sets.extend(
        facet.get(category.lower(), frozenset()) for category in filters.get("categoriesAll") or ()
    )
    for name, field in (("createdAfter", "createdAt"), ("updatedAfter", "updatedAt")):
        if filters.get(name) is not None:
            order = catalogue.order(field)
            after = bisect_right(order, (parse_time(filters[name]) or 0.0, "\U0010ffff"))
            sets.append({id_ for _, id_ in order[after:]})
    if filters.get("priorityMin") is not None or filters.get("priorityMax") is not None:
        order = catalogue.order("priority")
        low = bisect_right(order, ((filters.get("priorityMin") or 1) - 1, "\U0010ffff"))
        high = bisect_right(order, (filters.get("priorityMax") or 100, "\U0010ffff"))
        sets.append({id_ for _, id_ in order[low:high]})
    if filters.get("text"):
        sets.append(matching(filters["text"]))
    excluded = _union(
        facet, (category.lower() for category in filters.get("excludeCategories") or ())
    )
    if not sets:
        return catalogue.entries.keys() - excluded if excluded else None
    sets.sort(key=len)
    found: Set[str] = sets[0]
    for other in sets[1:]:
        found = found & other
    return found - excluded if excluded else found


def _union(facet: Mapping[str, set[str]], values: Iterable[str]) -> Set[str]:
    parts = [facet[value] for value in values if value in facet]
    return parts[0] if len(parts) == 1 else set().union(*parts)


def page(
    catalogue: Catalogue,
    allowed: Set[str] | None,
    sort: Sort,
    limit: int,
    cursor: str | None,
    offset: int,
) -> Page[str]:
    """One page in the order asked for; equal keys follow their ids, so a page never repeats or
    skips an entry.
    """
    total = len(catalogue) if allowed is None else len(allowed)
    after = _decode(cursor, sort) if cursor else None
    chosen: list[SortKey] = []
    skip = offset
    for item in _walk(catalogue, allowed, sort, after):
        if skip:
            skip -= 1
            continue
        chosen.append(item)
        if len(chosen) > limit:
            break
    more = len(chosen) > limit
    chosen = chosen[:limit]
    cursor = _encode(chosen[-1], sort) if more and chosen else None
    return Page([id_ for _, id_ in chosen], more, total, cursor)


def _walk(
    catalogue: Catalogue, allowed: Set[str] | None, sort: Sort, after: SortKey | None
) -> Iterable[SortKey]:
    """Where the candidates are many, along the kept order; where they are few, by sorting them."""
    if sort.field == "id":
        order: list[SortKey] = []
        if allowed is None or len(allowed) * 8 > len(catalogue):
            return _ids(catalogue.ids, allowed, sort.descending, after)
        order = sorted(("", id_) for id_ in allowed)
    elif allowed is None or len(allowed) * 8 > len(catalogue):
        order = catalogue.order(sort.field)
    else:
        from commonplace.instructions.engine.catalogue import ORDERS

        key = ORDERS[sort.field]
        order = sorted((key(catalogue.entries[id_].document), id_) for id_ in allowed)
    return _keyed(order, allowed, sort.descending, after)


def _ids(
    ids: list[str], allowed: Set[str] | None, descending: bool, after: SortKey | None
) -> Iterable[SortKey]:
    start = 0
    if after is not None:
        start = bisect_right(ids, after[1]) if not descending else len(ids) - _left(ids, after[1])
    positions = range(start, len(ids)) if not descending else range(len(ids) - 1 - start, -1, -1)
    for at in positions:
        if allowed is None or ids[at] in allowed:
            yield "", ids[at]


def _left(ids: list[str], id_: str) -> int:
    at = bisect_right(ids, id_)
    return at - 1 if at and ids[at - 1] == id_ else at


def _keyed(
    order: list[SortKey], allowed: Set[str] | None, descending: bool, after: SortKey | None
) -> Iterable[SortKey]:
    if not descending:
        start = bisect_right(order, after) if after is not None else 0
        for at in range(start, len(order)):
            if allowed is None or order[at][1] in allowed:
                yield order[at]
        return
    # Keys descend, but equal keys keep ascending ids: go group by group from the end.
    end = len(order)
    if after is not None:
        end = bisect_right(order, (after[0], "\U0010ffff"))
    while end > 0:
        key = order[end - 1][0]
        begin = bisect_right(order, (key, ""))
        for at in range(begin, end):
            if (after is None or order[at][0] != after[0] or order[at][1] > after[1]) and (
                allowed is None or order[at][1] in allowed
            ):
                yield order[at]
        end = begin


def _encode(item: SortKey, sort: Sort) -> str:
    raw = orjson.dumps([sort.field, sort.descending, item[0], item[1]])
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _decode(cursor: str, sort: Sort) -> SortKey:
    try:
        field, descending, key, id_ = orjson.loads(
            base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        )
    except (ValueError, TypeError, binascii.Error):
        raise BadCursor("the cursor is not one that query returned") from None
    expected = str if sort.field in ("id", "title") else int | float
    if (
        field != sort.field
        or descending is not sort.descending
        or not isinstance(key, expected)
        or not isinstance(id_, str)
    ):
        raise BadCursor("the cursor belongs to another sort order")
    return key, id_

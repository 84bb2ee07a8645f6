"""Filter, sort and page the catalogue: candidates from facets, then a walk along a sort order."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

import orjson

from commonplace.instructions.engine.catalogue import ORDERS, Catalogue, SortKey
from commonplace.instructions.engine.scope.languages import normal_languages
from commonplace.instructions.engine.scope.repository_path import normalise_path
from commonplace.instructions.engine.times import parse_time
from commonplace.kernel.paging import ResultPage

SortField = Literal["id", "createdAt", "updatedAt", "priority", "title"]
ANY_OF = (  # filters that are also facets
    "categories",
    "priority_tiers",
    "status",
    "owners",
    "classification",
    "requirements",
    "workspace_id",
    "user_id",
    "team_ids",
    "activation",
)
CASE_FOLDED = frozenset({"categories", "owners", "workspace_id", "user_id", "team_ids"})
LAST_ID = "\U0010ffff"  # sorts after every id


class InvalidCursor(ValueError):
    """The cursor was not returned by this query."""


@dataclass(frozen=True, slots=True)
class CatalogueFilters:
    """Conditions that must all hold; None matches everything."""

    categories: Sequence[str] | None = None
    priority_tiers: Sequence[str] | None = None
    status: Sequence[str] | None = None
    owners: Sequence[str] | None = None
    classification: Sequence[str] | None = None
    requirements: Sequence[str] | None = None
    workspace_id: str | None = None
    user_id: str | None = None
    team_ids: Sequence[str] | None = None
    activation: Sequence[str] | None = None
    languages: Sequence[str] | None = None
    path: str | None = None
    created_after: str | None = None
    updated_after: str | None = None
    text: str | None = None
    categories_all: Sequence[str] | None = None
    exclude_categories: Sequence[str] | None = None
    priority_min: int | None = None
    priority_max: int | None = None


@dataclass(frozen=True, slots=True)
class CatalogueOrder:
    """Field to sort by, and direction."""

    field: SortField = "id"
    descending: bool = False


def candidates(
    catalogue: Catalogue, filters: CatalogueFilters, matching: Callable[[str], set[str]]
) -> Set[str] | None:
    """Return the ids that pass every filter; None means all ids."""
    sets = [*_facet_sets(catalogue, filters), *_range_sets(catalogue, filters)]
    if filters.text:
        sets.append(matching(filters.text))
    excluded: Set[str] = frozenset()
    if filters.exclude_categories:
        excluded = _union(
            catalogue.facet("categories"),
            (category.lower() for category in filters.exclude_categories),
        )
    if not sets:
        return catalogue.entries.keys() - excluded if excluded else None
    sets.sort(key=len)
    found: Set[str] = sets[0]
    for other in sets[1:]:
        found = found & other
    return found - excluded if excluded else found


def _facet_sets(catalogue: Catalogue, filters: CatalogueFilters) -> Iterator[Set[str]]:
    for name in ANY_OF:
        wanted: str | Sequence[str] | None = getattr(filters, name)
        if wanted is not None:
            values = [wanted] if isinstance(wanted, str) else wanted
            yield _union(
                catalogue.facet(name),
                (value.lower() if name in CASE_FOLDED else value for value in values),
            )
    if filters.languages:
        yield _union(catalogue.facet("languages"), normal_languages(filters.languages))
    if filters.path:
        yield catalogue.paths().admitting(normalise_path(filters.path))
    if filters.categories_all:
        facet = catalogue.facet("categories")
        for category in filters.categories_all:
            yield facet.get(category.lower(), frozenset())


def _range_sets(catalogue: Catalogue, filters: CatalogueFilters) -> Iterator[Set[str]]:
    for moment, field in (
        (filters.created_after, "createdAt"),
        (filters.updated_after, "updatedAt"),
    ):
        if moment is not None:
            order = catalogue.order(field)
            after = bisect_right(order, (parse_time(moment) or 0.0, LAST_ID))
            yield {id_ for _, id_ in order[after:]}
    if filters.priority_min is not None or filters.priority_max is not None:
        order = catalogue.order("priority")
        low = bisect_right(order, ((filters.priority_min or 1) - 1, LAST_ID))
        high = bisect_right(order, (filters.priority_max or 100, LAST_ID))
        yield {id_ for _, id_ in order[low:high]}


def _union(facet: Mapping[str, set[str]], values: Iterable[str]) -> Set[str]:
    parts = [facet[value] for value in values if value in facet]
    return parts[0] if len(parts) == 1 else set().union(*parts)


def page(
    catalogue: Catalogue,
    allowed: Set[str] | None,
    sort: CatalogueOrder,
    limit: int,
    cursor: str | None,
    offset: int,
) -> ResultPage[str]:
    """Return one page. Equal keys are sorted by id, so pages never repeat or skip an entry."""
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
    next_cursor = _encode(chosen[-1], sort) if more and chosen else None
    return ResultPage([id_ for _, id_ in chosen], more, total, next_cursor)


def _walk(
    catalogue: Catalogue, allowed: Set[str] | None, sort: CatalogueOrder, after: SortKey | None
) -> Iterable[SortKey]:
    """Yield keys in order: along a kept order for many candidates, by sorting a few."""
    if sort.field == "id":
        order: list[SortKey] = []
        if allowed is None or len(allowed) * 8 > len(catalogue):
            return _ids(catalogue.ids, allowed, sort.descending, after)
        order = sorted(("", id_) for id_ in allowed)
    elif allowed is None or len(allowed) * 8 > len(catalogue):
        order = catalogue.order(sort.field)
    else:
        key = ORDERS[sort.field]
        order = sorted((key(catalogue.entries[id_].document), id_) for id_ in allowed)
    return _iterate_keys(order, allowed, sort.descending, after)


def _ids(
    ids: list[str], allowed: Set[str] | None, descending: bool, after: SortKey | None
) -> Iterable[SortKey]:
    start = 0
    if after is not None:
        start = (
            bisect_right(ids, after[1]) if not descending else len(ids) - _find_start(ids, after[1])
        )
    positions = range(start, len(ids)) if not descending else range(len(ids) - 1 - start, -1, -1)
    for at in positions:
        if allowed is None or ids[at] in allowed:
            yield "", ids[at]


def _find_start(ids: list[str], id_: str) -> int:
    at = bisect_right(ids, id_)
    return at - 1 if at and ids[at - 1] == id_ else at


def _iterate_keys(
    order: list[SortKey], allowed: Set[str] | None, descending: bool, after: SortKey | None
) -> Iterable[SortKey]:
    if not descending:
        start = bisect_right(order, after) if after is not None else 0
        for at in range(start, len(order)):
            if allowed is None or order[at][1] in allowed:
                yield order[at]
        return
    # Keys descend, but equal keys keep ascending ids: walk group by group from the end.
    end = len(order)
    if after is not None:
        end = bisect_right(order, (after[0], LAST_ID))
    while end > 0:
        key = order[end - 1][0]
        begin = bisect_right(order, (key, ""))
        for at in range(begin, end):
            if (after is None or order[at][0] != after[0] or order[at][1] > after[1]) and (
                allowed is None or order[at][1] in allowed
            ):
                yield order[at]
        end = begin


def _encode(item: SortKey, sort: CatalogueOrder) -> str:
    raw = orjson.dumps([sort.field, sort.descending, item[0], item[1]])
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _decode(cursor: str, sort: CatalogueOrder) -> SortKey:
    try:
        field, descending, key, id_ = orjson.loads(
            base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        )
    except (ValueError, TypeError, binascii.Error):
        raise InvalidCursor("the cursor is not one that query returned") from None
    expected = str if sort.field in ("id", "title") else int | float
    if (
        field != sort.field
        or descending is not sort.descending
        or not isinstance(key, expected)
        or not isinstance(id_, str)
    ):
        raise InvalidCursor("the cursor belongs to another sort order")
    return key, id_

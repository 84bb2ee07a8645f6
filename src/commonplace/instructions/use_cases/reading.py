"""Reading the catalogue: get, list, search, query and export."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from commonplace.instructions.engine.catalogue import Catalogue
from commonplace.instructions.engine.summary import summarise_entry
from commonplace.instructions.errors import CATALOGUE_LIMIT, INVALID_CURSOR
from commonplace.instructions.fields import MAX_RESULTS, is_valid_id
from commonplace.instructions.model import Instruction
from commonplace.instructions.results.reading import (
    CatalogueListing,
    CatalogueMatches,
    Categories,
    CategoryCount,
    FoundInstruction,
    QueryResult,
    RepairedLookup,
    VisibilityRepair,
)
from commonplace.instructions.store.protocol import CatalogueStore
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.instructions.use_cases.search.index import CatalogueSearch
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json.document import Document
from commonplace.kernel.json_types import JsonObject

if TYPE_CHECKING:
    from commonplace.instructions.engine.query import CatalogueFilters, CatalogueOrder
    from commonplace.instructions.use_cases.search.finding import CatalogueFinder, CatalogueQuestion
    from commonplace.search.model import SearchHit
    from commonplace.search.whole_texts.meaning import TextMeaning


class CatalogueReader:
    """Reads of the catalogue. They hold the store's lock for microseconds."""

    def __init__(self, parts: CatalogueParts, search: CatalogueSearch) -> None:
        self._store = parts.store
        self._usage = parts.usage
        self._trace = parts.trace
        self._search = search
        self.counters: dict[str, int] = {}  # repairs, for inspection

    def get_repairing(self, id_: str) -> RepairedLookup:
        """Return an instruction; if it is missing, look for its file again."""
        with self._store.lock:
            catalogue = self._store.current()
            repair = (
                None if id_ in catalogue.entries else make_visible(self._store, self._count, id_)
            )
            entry = catalogue.entries.get(id_)
            self._trace(
                "get", {"id": id_[:200], "found": entry is not None, **_trace_fields(repair)}
            )
            found = FoundInstruction(catalogue.hash, self.show(entry)) if entry else None
            return RepairedLookup(found, repair)

    def _count(self, name: str) -> None:
        self.counters[name] = self.counters.get(name, 0) + 1

    def list_entries(
        self,
        *,
        category: str | None = None,
        limit: int | None = None,
        offset: int = 0,
        expect_id: str | None = None,
        compact: bool = False,
    ) -> CatalogueListing:
        """List instructions by id; an expected id comes first, and is repaired if hidden."""
        _check_limit(limit)
        with self._store.lock:
            catalogue = self._store.current()
            repair = None
            if expect_id is not None:
                repair = (
                    make_visible(self._store, self._count, expect_id)
                    if catalogue.get(expect_id) is None
                    else VisibilityRepair(expected_on_disk=True, expected_in_catalogue=True)
                )
            ids = catalogue.ids if category is None else catalogue.members(category.strip().lower())
            total = len(ids)
            if (
                expect_id is not None
                and catalogue.get(expect_id) is not None
                and (category is None or expect_id in ids)
            ):
                ids = [expect_id, *(id_ for id_ in ids if id_ != expect_id)]
            chosen = ids[offset : offset + (MAX_RESULTS if limit is None else limit)]
            if repair is not None:
                record = {"expectId": expect_id, "total": len(catalogue), "filtered": total}
                self._trace("list", {**record, **_trace_fields(repair)})
            items = self._show_ids(catalogue, chosen, compact)
            return CatalogueListing(catalogue.hash, total, items, repair)

    def list_scoped(
        self,
        *,
        user: str | None = None,
        workspace: str | None = None,
        teams: Sequence[str] = (),
        limit: int | None = None,
        offset: int = 0,
        compact: bool = False,
    ) -> CatalogueListing:
        """List the narrowest scope that has instructions: user, workspace, team, else all."""
        _check_limit(limit)
        with self._store.lock:
            catalogue = self._store.current()
            scope, found = "all", catalogue.facet("audience").get("all", set())
            for name, facet, values in (
                ("user", "user_id", [user]),
                ("workspace", "workspace_id", [workspace]),
                ("team", "team_ids", teams),
            ):
                by_value = catalogue.facet(facet)
                members = set().union(
                    *(by_value.get(value.lower(), set()) for value in values if value)
                )
                if members:
                    scope, found = name, members
                    break
            ids = sorted(found)
            items = self._show_ids(
                catalogue, ids[offset : offset + (limit or MAX_RESULTS)], compact
            )
            return CatalogueListing(catalogue.hash, len(ids), items, scope=scope)

    def search(self, question: CatalogueQuestion) -> CatalogueMatches:
        """Find instructions by words or part of the text. Needs `prepare_search` first."""
        _check_limit(question.limit)
        return self._finder.find(question)

    async def search_by_meaning(
        self, question: CatalogueQuestion, meaning: TextMeaning | None, *, whole: bool
    ) -> CatalogueMatches:
        """Find instructions by words and, with a model, by meaning. Needs `prepare_search`."""
        _check_limit(question.limit)
        if meaning is None:
            return self._finder.find(question)
        return await self._finder.find_by_meaning(question, meaning, whole=whole)

    async def weigh(
        self, text: str, meaning: TextMeaning | None, *, whole: bool
    ) -> tuple[SearchHit, ...]:
        """Return instructions that may concern a text, best first. Needs `prepare_search`."""
        return await self._finder.weigh(text, meaning, whole=whole)

    @cached_property
    def _finder(self) -> CatalogueFinder:
        from commonplace.instructions.use_cases.search.finding import CatalogueFinder

        return CatalogueFinder(self._store, self._search, self._show_ids)

    def query(
        self,
        filters: CatalogueFilters,
        *,
        order: CatalogueOrder | None = None,
        limit: int,
        cursor: str | None = None,
        offset: int = 0,
        compact: bool = False,
    ) -> QueryResult:
        """Filter, sort and page. Needs `prepare_search` first if `filters.text` is given."""
        from commonplace.instructions.engine.query import (
            CatalogueOrder,
            InvalidCursor,
            candidates,
            page,
        )

        started = time.perf_counter()
        _check_limit(limit)
        with self._store.lock:
            catalogue = self._store.current()
            allowed = candidates(catalogue, filters, self._search.find_matching)
            try:
                found = page(catalogue, allowed, order or CatalogueOrder(), limit, cursor, offset)
            except InvalidCursor as error:
                raise CommonplaceError(
                    INVALID_CURSOR,
                    f"{error}.",
                    hint="Start again without a cursor.",
                    details={"field": "cursor"},
                ) from None
            items = self._show_ids(catalogue, found.items, compact)
            catalogue_hash = catalogue.hash
        elapsed = round((time.perf_counter() - started) * 1000, 3)
        return QueryResult(catalogue_hash, found.total or 0, items, found.next_cursor, elapsed)

    def categories(self) -> Categories:
        """Count the instructions of each category."""
        entries, catalogue_hash = self._store.snapshot()
        counts: dict[str, int] = {}
        updated: dict[str, str] = {}
        for entry in entries:
            moment = str(entry.document["updatedAt"])
            for name in entry.document["categories"]:
                counts[name] = counts.get(name, 0) + 1
                updated[name] = max(updated.get(name, ""), moment)
        return Categories(
            catalogue_hash,
            [CategoryCount(name, counts[name], updated[name]) for name in sorted(counts)],
        )

    def export(self, ids: Sequence[str] | None = None) -> CatalogueListing:
        """Return all instructions, or some by id."""
        entries, catalogue_hash = self._store.snapshot()
        wanted = set(ids) if ids else None
        items = [self.show(entry) for entry in entries if wanted is None or entry.id in wanted]
        return CatalogueListing(catalogue_hash, len(items), items)

    def show(self, entry: Instruction) -> Document:
        """Return the document that callers see, with its usage if there is any."""
        count = self._usage.of(entry.id)
        if count is None or not count.total:
            return entry.document
        return entry.document.extended(
            {
                "usageCount": count.total,
                "firstSeenTs": count.first_seen,
                "lastUsedAt": count.last_used,
            }
        )

    def _show_ids(
        self, catalogue: Catalogue, ids: Sequence[str], compact: bool = False
    ) -> list[Document]:
        entries = catalogue.entries
        if compact:
            return [summarise_entry(entries[id_]) for id_ in ids]
        used = self._usage.known()
        return [self.show(entries[id_]) if id_ in used else entries[id_].document for id_ in ids]


def make_visible(store: CatalogueStore, count: Callable[[str], None], id_: str) -> VisibilityRepair:
    """Compare the storage, then read that one entry (docs/reference/contracts/instructions.md)."""
    if not is_valid_id(id_) or id_ in store.catalogue.archived or not store.has_entry(id_):
        return VisibilityRepair()
    store.synchronise()
    repair = VisibilityRepair(expected_on_disk=True, attempted_reload=True)
    if store.catalogue.get(id_) is None:
        stored = store.apply_stored(id_)
        reason = None
        if stored.instruction is None:
            rejection = stored.rejection
            word = rejection.reason if rejection else "gone"
            reason = f"{word}: {rejection.detail}" if rejection else word
            suffix = {"parse": "ParseError", "empty": "EmptyFile"}.get(word, "Rejected")
            count(f"getLateMaterialize{suffix}")
        else:
            count("getLateMaterialize")
        repair = replace(
            repair,
            attempted_single_read=True,
            read_singly=reason is None,
            rejected=reason is not None,
            reason=reason,
        )
    visible = store.catalogue.get(id_) is not None
    return replace(repair, expected_in_catalogue=visible, repaired=visible)


def _trace_fields(repair: VisibilityRepair | None) -> JsonObject:
    return {} if repair is None else repair.trace_fields()


def _check_limit(limit: int | None) -> None:
    if limit is not None and limit > MAX_RESULTS:
        raise CommonplaceError(
            CATALOGUE_LIMIT,
            f"limit {limit} is above the maximum of {MAX_RESULTS} results per call.",
            hint=f"Ask for at most {MAX_RESULTS} and page through the rest.",
            details={
                "field": "limit",
                "limit": "maxQueryResults",
                "maximum": MAX_RESULTS,
                "actual": limit,
            },
        )

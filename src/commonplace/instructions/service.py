"""The catalogue's use cases, reading side, and the assembly of everything a server needs.

Writing is in `writing.py`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace import __version__
from commonplace.instructions.engine import gates as gating
from commonplace.instructions.engine import graph as graphing
from commonplace.instructions.engine import review as reviewing
from commonplace.instructions.engine.catalogue import Catalogue
from commonplace.instructions.engine.hashing import (
    fits_claim,
    governance_line,
    governance_record,
    hash_body,
    hash_governance_lines,
)
from commonplace.instructions.engine.normalise import Rules
from commonplace.instructions.engine.query import BadCursor, Sort, candidates, page
from commonplace.instructions.errors import CATALOGUE_LIMIT, INVALID_CURSOR
from commonplace.instructions.model import (
    MAX_BATCH,
    MAX_FILE_BYTES,
    MAX_RESULTS,
    Instruction,
    is_valid_id,
)
from commonplace.instructions.store.configuration import Configuration
from commonplace.instructions.store.directory import Directory, Retries
from commonplace.instructions.store.feedback import Feedback
from commonplace.instructions.store.folder import Shelf, Trace
from commonplace.instructions.store.journal import state_directory
from commonplace.instructions.store.usage import Usage
from commonplace.instructions.usecases.briefs import Briefs
from commonplace.kernel.clock import Clock, iso, utc_now
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json.document import Document
from commonplace.kernel.settings import InstructionsSettings

if TYPE_CHECKING:
    from commonplace.instructions.store.search_index import InstructionIndex

DEFAULT_SEARCH = 50
DEFAULT_QUERY = 100
THREADS = 24
MATCHES_KEPT = 32
REPAIR_FIELDS = (  # of contract 000's recovery guide, in every trace
    "expectOnDisk",
    "expectInCatalog",
    "attemptedReload",
    "attemptedLate",
    "repairedVisibility",
    "lateMaterialized",
    "lateMaterializeRejected",
)
GRAPH_EDGES = 250_000  # the most one answer holds; `maxEdges` asks for fewer


Show = Callable[[Catalogue, Sequence[str]], list[Document]]


def _quiet(category: str, data: Mapping[str, Any]) -> None:
    return None


class Service:
    """One instruction folder as one process serves it."""

    def __init__(
        self,
        directory: Path,
        data: Path,
        settings: InstructionsSettings | None = None,
        *,
        mutation_enabled: Callable[[], bool] | None = None,
        clock: Clock = utc_now,
        trace: Trace = _quiet,
        request_stats: Callable[[], Mapping[str, float]] | None = None,
        trace_files: bool = False,
    ) -> None:
        settings = self.settings = settings or InstructionsSettings()
        self.mutation_enabled = mutation_enabled or (lambda: settings.mutation_enabled)
        self.clock = clock
        self.trace = trace
        self.started = time.monotonic()
        self.request_stats = request_stats or (dict)
        self.configuration = Configuration(directory, data)
        retries = Retries(
            settings.read_retries,
            settings.read_backoff_ms / 1000,
            settings.write_retries,
            settings.write_backoff_ms / 1000,
        )
        self.rules = Rules(
            canonical=not settings.canonical_disable, owners=self.configuration.owners
        )
        files = Directory(directory, rules=self.rules, retries=retries)
        if trace_files:
            files.trace_file = lambda name, outcome: trace(
                "catalog:file", {"file": name, "outcome": outcome}
            )
        self.shelf = Shelf(
            files,
            state_directory(directory, data),
            clock=self.now,
            trace=trace,
            may_write=self.mutation_enabled,
            agent=settings.agent_id,
        )
        self.usage = Usage(
            data / "usage-snapshot.json",
            clock=self.now,
            flush_seconds=settings.usage_flush_ms / 1000,
            rate_limited=not settings.usage_rate_limit_disabled,
            clamped=not settings.usage_clamp_disabled,
        )
        self.feedback = Feedback(data / "feedback.json", clock=self.now)
        self.briefs = Briefs()
        self._index: InstructionIndex | None = None
        self._indexing = threading.Lock()
        self._graph: tuple[int, dict[str, Any]] | None = None
        self._governed: tuple[int, str] | None = None
        self._watcher: Any = None
        self._executor: ThreadPoolExecutor | None = None
        self._closers: list[Callable[[], None]] = []
        self._closing = threading.Event()
        self._loading = threading.Lock()
        self._matched: dict[str, tuple[int, set[str]]] = {}
        self.counters: dict[str, int] = {}

    def now(self) -> str:
        return iso(self.clock())

    # Life

    @property
    def loaded(self) -> bool:
        return self.shelf.loaded

    @property
    def searchable(self) -> bool:
        return self._index is not None

    def load(self) -> None:
        """Read the folder, once, and start watching it."""
        if self.shelf.loaded:
            return
        with self._loading:
            if self.shelf.loaded:
                return
            if self.mutation_enabled():
                self.shelf.directory.sweep()
            self.shelf.ensure_loaded()
            threading.Thread(
                target=self.shelf.settle,
                args=(self._closing,),
                name="instructions-settle",
                daemon=True,
            ).start()
            self.watch()

    def watch(self) -> None:
        """Notice edits by editors and git from now on, until `close`."""
        if self._watcher is None and self.settings.watch:
            from commonplace.instructions.store.watcher import Watcher

            self._watcher = Watcher(self.shelf)
            self._watcher.start()

    def on_close(self, close: Callable[[], None]) -> None:
        """What `close` has to end before the files are let go."""
        self._closers.append(close)

    def close(self) -> None:
        self._closing.set()
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None
        self.usage.close()
        for close in self._closers:
            close()
        if self._executor is not None:
            self._executor.shutdown(wait=True)
            self._executor = None
        self.shelf.close()

    @property
    def executor(self) -> ThreadPoolExecutor:
        """Threads for calls that wait for the disk or go through the whole catalogue."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(THREADS, "instructions")
        return self._executor

    def prepare_search(self) -> None:
        """Build the index; calls that search before it is there wait for it."""
        with self._indexing:
            if self._index is not None:
                return
            from commonplace.instructions.store.search_index import (
                InstructionIndex,  # only searches need it
            )

            self.load()
            with self.shelf.lock:
                known = dict(self.shelf.fresh().entries)
            index = InstructionIndex(known, self.shelf.lock)
            with self.shelf.lock:
                present = self.shelf.catalogue.entries
                for id_ in known.keys() | present.keys():
                    before, after = known.get(id_), present.get(id_)
                    if before is not after:
                        index.change(before, after)
                self._index = index
                self.shelf.catalogue.follow(index.change)
                self.on_close(index.close)

    # Showing

    def show(self, entry: Instruction) -> Document:
        """The document a caller sees, with its usage where there is any."""
        count = self.usage.of(entry.id)
        if count is None or not count.total:
            return entry.document
        return entry.document.extended(
            {
                "usageCount": count.total,
                "firstSeenTs": count.first_seen,
                "lastUsedAt": count.last_used,
            }
        )

    def show_ids(self, catalogue: Catalogue, ids: Sequence[str]) -> list[Document]:
        entries, used = catalogue.entries, self.usage.known()
        return [self.show(entries[id_]) if id_ in used else entries[id_].document for id_ in ids]

    # Reads

    def get(self, id_: str) -> dict[str, Any]:
        with self.shelf.lock:
            catalogue = self.shelf.fresh()
            entry = catalogue.entries.get(id_)
            if entry is None:
                return {
                    "notFound": True,
                    "id": id_[:200],
                    "hint": "instructions_search finds ids by words; getEnhanced repairs a hidden "
                    "file.",
                }
            return {"hash": catalogue.hash, "item": self.show(entry)}

    def get_enhanced(self, id_: str) -> dict[str, Any]:
        """`get`, and where that finds nothing: compare the folder, then read that one file."""
        with self.shelf.lock:
            catalogue = self.shelf.fresh()
            entry = catalogue.entries.get(id_)
            repair = None if entry is not None else self._surface(id_)
            entry = catalogue.entries.get(id_)
            self.trace("get", {"id": id_[:200], "found": entry is not None, **(repair or {})})
            if entry is None:
                return {"notFound": True, "id": id_[:200], "trace": repair}
            shown = {"hash": catalogue.hash, "item": self.show(entry)}
            return shown if repair is None else {**shown, "trace": repair}

    def _surface(self, id_: str) -> dict[str, Any]:
        """Make one file visible if it can be: the repair paths of contract 000's recovery guide,
        with its trace fields.
        """
        repair: dict[str, Any] = dict.fromkeys(REPAIR_FIELDS, False)
        if not is_valid_id(id_) or self.shelf.directory.stamp_of(f"{id_}.json") is None:
            return repair
        repair["expectOnDisk"] = repair["attemptedReload"] = True
        self.shelf.compare()
        if self.shelf.catalogue.get(id_) is None:
            repair["attemptedLate"] = True
            reading = self.shelf.read_one(id_)
            if reading.instruction is not None:
                repair["lateMaterialized"] = True
                self._count("getLateMaterialize")
            else:
                repair["lateMaterializeRejected"] = True
                reason = reading.rejection.reason if reading.rejection else "gone"
                repair["reason"] = (
                    f"{reason}: {reading.rejection.detail}" if reading.rejection else reason
                )
                suffix = {"parse": "ParseError", "empty": "EmptyFile"}.get(reason, "Rejected")
                self._count(f"getLateMaterialize{suffix}")
        repair["expectInCatalog"] = repair["repairedVisibility"] = (
            self.shelf.catalogue.get(id_) is not None
        )
        return repair

    def _count(self, name: str) -> None:
        self.counters[name] = self.counters.get(name, 0) + 1

    def list_entries(
        self,
        category: str | None,
        limit: int | None,
        offset: int,
        expect_id: str | None,
        show: Show | None = None,
    ) -> dict[str, Any]:
        check_results(limit)
        with self.shelf.lock:
            catalogue = self.shelf.fresh()
            repair: dict[str, Any] | None = None
            if expect_id is not None:
                if catalogue.get(expect_id) is None:
                    repair = self._surface(expect_id)
                else:
                    repair = {
                        **dict.fromkeys(REPAIR_FIELDS, False),
                        "expectOnDisk": True,
                        "expectInCatalog": True,
                    }
            ids = catalogue.ids if category is None else catalogue.members(category.strip().lower())
            count = len(ids)
            if (
                expect_id is not None
                and catalogue.get(expect_id) is not None
                and (category is None or expect_id in ids)
            ):
                ids = [expect_id, *(id_ for id_ in ids if id_ != expect_id)]
            chosen = ids[offset : offset + (MAX_RESULTS if limit is None else limit)]
            answer: dict[str, Any] = {
                "hash": catalogue.hash,
                "count": count,
                "items": (show or self.show_ids)(catalogue, chosen),
            }
            if repair is not None:
                answer["trace"] = repair
                self.trace(
                    "list",
                    {"expectId": expect_id, "total": len(catalogue), "filtered": count, **repair},
                )
            return answer

    def list_scoped(
        self,
        user: str | None,
        workspace: str | None,
        teams: Sequence[str],
        limit: int | None,
        offset: int,
        show: Show | None = None,
    ) -> dict[str, Any]:
        """The narrowest scope that has anything: user, workspace, team, else what addresses all."""
        check_results(limit)
        with self.shelf.lock:
            catalogue = self.shelf.fresh()
            found: set[str] = set()
            scope = "all"
            for name, facet, values in (
                ("user", "userId", [user]),
                ("workspace", "workspaceId", [workspace]),
                ("team", "teamIds", teams),
            ):
                found = set().union(
                    *(catalogue.facet(facet).get(value.lower(), set()) for value in values if value)
                )
                if found:
                    scope = name
                    break
            else:
                found = catalogue.facet("audience").get("all", set())
            ids = sorted(found)
            return {
                "hash": catalogue.hash,
                "count": len(ids),
                "scope": scope,
                "items": (show or self.show_ids)(
                    catalogue, ids[offset : offset + (limit or MAX_RESULTS)]
                ),
            }

    def search(
        self, query: str, limit: int, highlight: bool, brief: bool = False
    ) -> dict[str, Any]:
        """Needs `prepare_search` first."""
        check_results(limit)
        with self.shelf.lock:
            catalogue = self.shelf.fresh()
            assert self._index is not None
            found = self._index.search(query, limit)
            answer: dict[str, Any] = {
                "hash": catalogue.hash,
                "count": found.count,
                "items": self.briefs.found(catalogue, found.names, query)
                if brief
                else self.show_ids(catalogue, found.names),
                "query": query,
            }
            if found.relaxed:
                answer["relaxed"] = True
            if highlight:
                from commonplace.instructions.engine.highlight import highlights

                answer["highlights"] = [
                    highlights(catalogue.entries[id_], query) for id_ in found.names
                ]
            return answer

    def query(
        self,
        filters: Mapping[str, Any],
        sort: Sort,
        limit: int,
        cursor: str | None,
        offset: int,
        show: Show | None = None,
    ) -> dict[str, Any]:
        """Needs `prepare_search` first where `filters.text` is given."""
        begun = time.perf_counter()
        check_results(limit)
        with self.shelf.lock:
            catalogue = self.shelf.fresh()
            allowed = candidates(catalogue, filters, self._matching)
            try:
                found = page(catalogue, allowed, sort, limit, cursor, offset)
            except BadCursor as error:
                raise CommonplaceError(
                    INVALID_CURSOR,
                    f"{error}.",
                    hint="Start again without a cursor.",
                    details={"field": "cursor"},
                ) from None
            answer: dict[str, Any] = {
                "hash": catalogue.hash,
                "items": (show or self.show_ids)(catalogue, found.items),
                "total": found.total,
                "returned": len(found.items),
            }
        if found.next_cursor:
            answer["nextCursor"] = found.next_cursor
        answer["appliedFilters"] = dict(filters)
        answer["performanceMs"] = round((time.perf_counter() - begun) * 1000, 3)
        return answer

    def _matching(self, text: str) -> set[str]:
        """Ids that contain a text; kept until the catalogue changes, because pages ask again."""
        assert self._index is not None
        generation = self.shelf.catalogue.generation
        known = self._matched.get(text)
        if known is None or known[0] != generation:
            if len(self._matched) >= MATCHES_KEPT:
                self._matched.clear()
            known = self._matched[text] = (generation, self._index.matching(text))
        return known[1]

    def categories(self) -> dict[str, Any]:
        entries, current = self.shelf.snapshot()
        counts: dict[str, int] = {}
        updated: dict[str, str] = {}
        for entry in entries:
            moment = str(entry.document["updatedAt"])
            for name in entry.document["categories"]:
                counts[name] = counts.get(name, 0) + 1
                updated[name] = max(updated.get(name, ""), moment)
        listed = [
            {"name": name, "count": counts[name], "lastUpdated": updated[name]}
            for name in sorted(counts)
        ]
        return {
            "categories": listed,
            "totalDistinct": len(listed),
            "catalogHash": current,
            "count": len(listed),
        }

    def governance_hash(self, include_items: bool) -> dict[str, Any]:
        if not include_items:
            count, digest = self._governance()
            return {"count": count, "governanceHash": digest, "algorithm": "sha256"}
        entries, _ = self.shelf.snapshot()
        items = [
            {
                "id": entry.id,
                "governance": governance_record(entry.document),
                "hash": entry.governance_hash,
            }
            for entry in entries
        ]
        return {
            "count": len(entries),
            "governanceHash": self.governance_of(entries),
            "algorithm": "sha256",
            "items": items,
        }

    def _governance(self) -> tuple[int, str]:
        """How many instructions there are and the governance hash of all, which is kept until
        the catalogue changes.
        """
        with self.shelf.lock:
            catalogue = self.shelf.fresh()
            count, generation = len(catalogue), catalogue.generation
            if self._governed is not None and self._governed[0] == generation:
                return count, self._governed[1]
            entries = list(catalogue)
        digest = self.governance_of(entries)
        self._governed = (generation, digest)
        return count, digest

    def governance_of(self, entries: Sequence[Instruction]) -> str:
        """The governance hash of these, which come sorted by id."""
        lines = (governance_line(entry.document) for entry in entries)
        return hash_governance_lines(lines, trailing_newline=self.settings.hash_trailing_newline)

    def verify(self) -> dict[str, Any]:
        """Every body hashed again and compared with what its file claims; the folder is compared
        first.
        """
        self.shelf.ensure_loaded()
        self.shelf.compare()
        entries, current = self.shelf.snapshot()
        issues = []
        for entry in entries:
            body = entry.document["body"]
            expected = entry.stored_hash or entry.source_hash
            if not fits_claim(body, expected):
                issues.append({"id": entry.id, "expected": expected, "actual": hash_body(body)})
        return {"hash": current, "count": len(entries), "issues": issues, "issueCount": len(issues)}

    def graph(
        self, options: graphing.GraphOptions, format_: str, budget: int | None = None
    ) -> dict[str, Any]:
        """Schema 1 or 2, cut to about `budget` bytes where one is given.

        The plain call is kept until the catalogue changes.
        """
        plain = (
            budget is None
            and options == graphing.GraphOptions(max_edges=GRAPH_EDGES, **self._graph_environment())
            and format_ == "json"
        )
        with self.shelf.lock:
            catalogue = self.shelf.fresh()
            generation = catalogue.generation
            if plain and self._graph is not None and self._graph[0] == generation:
                return self._graph[1]
            entries, modified = list(catalogue), catalogue.last_modified()
        if budget is not None:
            return graphing.build_within(
                entries,
                options,
                partial(graphing.draw, format_=format_, generated_at=modified),
                budget,
            )
        graph = graphing.draw(graphing.build(entries, options), format_, modified)
        if plain:
            self._graph = (generation, graph)
        return graph

    def _graph_environment(self) -> dict[str, Any]:
        return {
            "primary_edges": self.settings.graph_include_primary_edges,
            "category_cap": self.settings.graph_large_category_cap,
        }

    def graph_options(self, **asked: Any) -> graphing.GraphOptions:
        """Options of a call with the environment's knobs and our own bound applied."""
        edges = asked.pop("max_edges", None)
        bound = GRAPH_EDGES if edges is None else min(edges, GRAPH_EDGES)
        return graphing.GraphOptions(max_edges=bound, **asked, **self._graph_environment())

    def usage_count(self, id_: str) -> int:
        count = self.usage.of(id_)
        return count.total if count else 0

    def evaluate_gates(self) -> dict[str, Any]:
        gates = self.configuration.gates.read()
        if gates is None:
            return {
                "notConfigured": True,
                "generatedAt": self.now(),
                "results": [],
                "summary": {"errors": 0, "warnings": 0, "total": 0},
            }
        entries, _ = self.shelf.snapshot()
        return {"generatedAt": self.now(), **gating.evaluate(gates, entries)}

    def review_prompt(self, prompt: str) -> dict[str, Any]:
        refused = reviewing.too_long(prompt)
        if refused is not None:
            return dict(refused)
        return reviewing.review(prompt, self.configuration.criteria())

    def limits(self) -> dict[str, int]:
        return {
            "maxBatchSize": MAX_BATCH,
            "maxQueryResults": MAX_RESULTS,
            "maxFileSize": MAX_FILE_BYTES,
        }

    def doctor(self) -> list[dict[str, str]]:
        """What an operator should know of the catalogue."""
        from commonplace.instructions.usecases.inspection import doctor

        return doctor(self)

    @property
    def version(self) -> str:
        return __version__


def check_results(limit: int | None) -> None:
    if limit is not None and limit > MAX_RESULTS:
        raise CommonplaceError(
            CATALOGUE_LIMIT,
            f"limit {limit} is above the most results of one call, {MAX_RESULTS}.",
            hint=f"Ask for at most {MAX_RESULTS} and page on.",
            details={
                "field": "limit",
                "limit": "maxQueryResults",
                "maximum": MAX_RESULTS,
                "actual": limit,
            },
        )

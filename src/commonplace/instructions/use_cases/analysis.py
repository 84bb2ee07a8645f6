"""Analysis of the whole catalogue: governance hash, integrity and graph."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from commonplace.instructions.engine import graph as graphs
from commonplace.instructions.engine.graph import Graph, GraphOptions
from commonplace.instructions.engine.hashing import (
    fits_claim,
    governance_line,
    hash_body,
    hash_governance_lines,
)
from commonplace.instructions.results.analysis import GovernanceDigest, HashIssue, IntegrityReport
from commonplace.instructions.use_cases.parts import CatalogueParts

GRAPH_EDGES = 250_000  # limit of one answer; `maxEdges` requests fewer


class CatalogueAnalysis:
    """Scans of the whole catalogue; results are kept until it changes."""

    def __init__(self, parts: CatalogueParts) -> None:
        self._parts = parts
        self._store = parts.store
        self._graph: tuple[int, Graph] | None = None  # with the catalogue's generation
        self._governance: tuple[int, str] | None = None  # with the catalogue's generation

    def governance_hash(self, *, include_entries: bool = False) -> GovernanceDigest:
        """Return one hash over the governance fields of all instructions."""
        with self._store.lock:
            catalogue = self._store.current()
            count, generation = len(catalogue), catalogue.generation
            cached = self._governance
            if not include_entries and cached is not None and cached[0] == generation:
                return GovernanceDigest(count, cached[1])
            entries = list(catalogue)
        digest = hash_governance_lines(
            (governance_line(entry.document) for entry in entries),
            trailing_newline=self._parts.settings.hash_trailing_newline,
        )
        self._governance = (generation, digest)
        return GovernanceDigest(count, digest, entries if include_entries else None)

    def verify(self) -> IntegrityReport:
        """Hash every body again, and compare with the hash that its file claims."""
        self._store.open()
        self._store.synchronise()
        entries, catalogue_hash = self._store.snapshot()
        issues = []
        for entry in entries:
            body = entry.document["body"]
            expected = entry.stored_hash or entry.source_hash
            if not fits_claim(body, expected):
                issues.append(HashIssue(entry.id, expected, hash_body(body)))
        return IntegrityReport(catalogue_hash, len(entries), issues)

    def graph(
        self,
        options: GraphOptions,
        format_: str = "json",
        *,
        with_usage: bool = False,
        budget: int | None = None,
    ) -> Graph:
        """Return the graph of instructions, cut to about `budget` tokens if one is given."""
        settings = self._parts.settings
        edges = GRAPH_EDGES if options.max_edges is None else min(options.max_edges, GRAPH_EDGES)
        options = replace(
            options,
            max_edges=edges,
            primary_edges=settings.graph_include_primary_edges,
            category_cap=settings.graph_large_category_cap,
            usage=self._use_count if with_usage else None,
        )
        plain = GraphOptions(
            max_edges=GRAPH_EDGES,
            primary_edges=options.primary_edges,
            category_cap=options.category_cap,
        )
        cacheable = budget is None and format_ == "json" and options == plain
        with self._store.lock:
            catalogue = self._store.current()
            generation = catalogue.generation
            if cacheable and self._graph is not None and self._graph[0] == generation:
                return self._graph[1]
            entries, modified = list(catalogue), catalogue.last_modified()
        draw = partial(graphs.draw, format_=format_, generated_at=modified)
        if budget is not None:
            return graphs.build_within(entries, options, draw, budget)
        graph = draw(graphs.build(entries, options))
        if cacheable:
            self._graph = (generation, graph)
        return graph

    def _use_count(self, id_: str) -> int:
        count = self._parts.usage.of(id_)
        return count.total if count else 0

"""What all walks share: filters, groups, summaries and details."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import Json
from commonplace.openapi.engine.document.index import DocumentIndex
from commonplace.openapi.engine.document.nodes import ObjectNode
from commonplace.openapi.engine.document.patterns import extension_filter, match_path
from commonplace.openapi.engine.document.references.inliner import Inliner
from commonplace.openapi.engine.walk.order import sort_nodes
from commonplace.openapi.engine.walk.query import (
    ANSWER_LIMIT_BYTES,
    Row,
    WalkQuery,
    WalkResult,
    fit_rows,
)
from commonplace.openapi.engine.walk.rows import WalkGroup
from commonplace.openapi.model import ApiDocument

MOST_NOTED_REFS = 100

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class RowFormat(Generic[Item, Row]):
    """How the nodes of one kind become rows: in summaries, in details and in groups."""

    summary: Callable[[Item], Row]
    detail: Callable[[Item], Row]
    group_keys: Mapping[str, Callable[[Item], Iterable[str]]]


@dataclass(slots=True)
class Walker:
    """Answers one query about one document."""

    document: ApiDocument
    index: DocumentIndex
    inliner: Inliner
    query: WalkQuery
    limit_bytes: int = ANSWER_LIMIT_BYTES

    def resolve(self, value: Json) -> Json:
        """Return a value with its references replaced, if the query asks for that."""
        return self.inliner.write(value).value if self.query.resolve_refs else value

    def follow(self, value: Json) -> Json:
        """Return the target of a reference object, if the query asks for that.

        A reference that leads to a value of another type is returned as it is.
        """
        target = self.inliner.resolver.try_follow(value) if self.query.resolve_refs else value
        return target if type(target) is type(value) else value

    def select(
        self,
        nodes: Sequence[Item],
        value: Callable[[Item], Json],
        *filters: Callable[[Item], bool] | None,
    ) -> Sequence[Item]:
        """Return the nodes that pass all filters and have the extension of the query."""
        extension = extension_filter(self.query.extension)
        for passes in filters:
            if passes is not None:
                nodes = list(filter(passes, nodes))
        if extension is not None:
            nodes = [node for node in nodes if extension(self.follow(value(node)))]
        return nodes

    def answer(
        self, total: int, matched: Sequence[Item], rows: RowFormat[Item, Row]
    ) -> WalkResult[Row]:
        """Return a page of groups, summaries or details, as the query asks."""
        query = self.query
        group_key = self._group_key(rows)
        if group_key is not None:
            counts = Counter(key for node in matched for key in group_key(node))
            groups = [WalkGroup(key, count) for key, count in query.page(rank(counts))]
            return WalkResult(total, len(matched), "groups", groups=groups)
        page = query.page(sort_nodes(self.index, matched))
        if not query.detail:
            summaries = [rows.summary(node) for node in page]
            return WalkResult(total, len(matched), "summaries", summaries)
        details, cut = fit_rows((rows.detail(node) for node in page), self.limit_bytes)
        noted = self.inliner if query.resolve_refs else None
        return WalkResult(
            total,
            len(matched),
            "details",
            details,
            next_offset=query.offset + len(details) if cut else None,
            circular_refs=sorted(noted.circular)[:MOST_NOTED_REFS] if noted else (),
            unresolved_refs=sorted(noted.unresolved)[:MOST_NOTED_REFS] if noted else (),
            refs_left=sorted(noted.left)[:MOST_NOTED_REFS] if noted else (),
        )

    def _group_key(self, rows: RowFormat[Item, Row]) -> Callable[[Item], Iterable[str]] | None:
        if not self.query.group_by:
            return None
        key = rows.group_keys.get(self.query.group_by)
        if key is None:
            known = ", ".join(rows.group_keys) or "nothing"
            raise CommonplaceError(
                INVALID_ARGUMENT,
                f"group_by: {self.query.group_by[:40]!r} is not known here; valid: {known}.",
                details={"field": "group_by"},
            )
        if self.query.detail:
            raise CommonplaceError(
                INVALID_ARGUMENT,
                "group_by returns counts and detail returns objects; pass one of them.",
                details={"field": "group_by"},
            )
        return key


def rank(counts: Counter[str]) -> list[tuple[str, int]]:
    """Return the counts, largest first and then by name."""
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))


def node_value(node: ObjectNode) -> Json:
    """Return the object of a node."""
    return node.value


def method_filter(wanted: str | None) -> Callable[[ObjectNode], bool] | None:
    """Return a filter for the method of the operation that a node belongs to."""
    if not wanted:
        return None
    lowered = wanted.lower()
    return lambda node: node.scope.method.lower() == lowered


def path_filter(pattern: str | None) -> Callable[[ObjectNode], bool] | None:
    """Return a filter for the path that a node belongs to."""
    if not pattern:
        return None
    return lambda node: bool(node.scope.path) and match_path(pattern, node.scope.path)


def read_text(value: Json) -> str:
    """Return a string; everything else counts as an empty one."""
    return value if isinstance(value, str) else ""


def read_strings(value: Json) -> tuple[str, ...]:
    """Return the strings of a list."""
    return tuple(item for item in value if isinstance(item, str)) if type(value) is list else ()

"""JSONPath by RFC 9535 as overlays use it, with bounded work.

The library's grammar is used, with `$` meaning the document everywhere. Queries that start at the
root run once per evaluation, not once per node. Patterns run on RE2, which cannot backtrack.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from iregexp_check import check
from jsonpath_rfc9535 import (
    JSONPathEnvironment,
    JSONPathError,
    JSONPathNode,
    JSONPathNodeList,
    JSONPathQuery,
)
from jsonpath_rfc9535.filter_expressions import (
    Expression,
    FilterContext,
    RelativeFilterQuery,
    RootFilterQuery,
)
from jsonpath_rfc9535.function_extensions import ExpressionType, FilterFunction
from jsonpath_rfc9535.parse import Parser
from jsonpath_rfc9535.tokens import TokenStream

from commonplace.openapi.model import DocumentLimits

__all__ = ["PATHS", "JSONPathError", "JSONPathQuery"]


class _FromRoot(RootFilterQuery):
    """A query whose result depends on the document alone.

    A compiled query is used for one evaluation, so the document does not change meanwhile.
    """

    __slots__ = ("_found",)

    def evaluate(self, context: FilterContext) -> object:
        found: tuple[Any, JSONPathNodeList] | None = getattr(self, "_found", None)
        if found is None or found[0] is not context.root:
            found = self._found = (context.root, JSONPathNodeList(self.query.find(context.root)))
        return found[1]


class _FromHere(RelativeFilterQuery):
    """A query at the current value; the library lets `$` inside it mean that value."""

    __slots__ = ()

    def evaluate(self, context: FilterContext) -> object:
        if not isinstance(context.current, (list, dict)):
            return super().evaluate(context)
        nodes: Any = [
            JSONPathNode(value=context.current, location=(), parent=None, root=context.root)
        ]
        for segment in self.query.segments:
            nodes = segment.resolve(nodes)
        return JSONPathNodeList(nodes)


class _Parser(Parser):
    def parse_root_query(self, stream: TokenStream) -> Expression:
        plain = super().parse_root_query(stream)
        assert isinstance(plain, RootFilterQuery)
        return _FromRoot(plain.token, plain.query)

    def parse_relative_query(self, stream: TokenStream) -> Expression:
        plain = super().parse_relative_query(stream)
        assert isinstance(plain, RelativeFilterQuery)
        return _FromHere(plain.token, plain.query)


class _Pattern(FilterFunction):
    """The functions `match` and `search`."""

    # The library declares a plain list.
    arg_types = [ExpressionType.VALUE, ExpressionType.VALUE]  # noqa: RUF012
    return_type = ExpressionType.LOGICAL

    def __init__(self, *, whole: bool) -> None:
        self.whole = whole

    def __call__(self, string: object, pattern: object) -> bool:
        if not isinstance(string, str) or not isinstance(pattern, str):
            return False
        compiled = _compile_pattern(pattern)
        if compiled is None:
            return False
        text = string.encode(
            "utf-8", "replace"
        ).decode()  # RE2 reads UTF-8, which has no lone surrogates
        return (compiled.fullmatch(text) if self.whole else compiled.search(text)) is not None


@lru_cache(maxsize=256)
def _compile_pattern(pattern: str) -> Any:
    """Compile an I-Regexp for RE2; None for an invalid one, which matches nothing (RFC 9535)."""
    import re2

    if not check(pattern):
        return None
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(_without_line_ends(pattern), options)
    except re2.error:
        raise JSONPathError(
            f"the pattern {pattern[:100]!r} is too large to run", token=None
        ) from None


def _without_line_ends(pattern: str) -> str:
    """Translate `.`, which by RFC 9485, section 5 does not match line ends."""
    parts = []
    escaped = in_class = False
    for character in pattern:
        if not escaped and character in "[]":
            in_class = character == "["
        parts.append(r"[^\n\r]" if character == "." and not escaped and not in_class else character)
        escaped = character == "\\" and not escaped
    return "".join(parts)


class _Environment(JSONPathEnvironment):
    parser_class = _Parser
    max_recursion_depth = DocumentLimits().depth + 1

    def setup_function_extensions(self) -> None:
        super().setup_function_extensions()
        self.function_extensions["match"] = _Pattern(whole=True)
        self.function_extensions["search"] = _Pattern(whole=False)


PATHS = _Environment()

"""What the rules of validation know about the document they check."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.document.index import DocumentIndex
from commonplace.openapi.engine.document.nodes import ObjectNode
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from commonplace.openapi.engine.validate.rules import Severity
from commonplace.openapi.model import ApiDocument, Family

EXPRESSION = re.compile(r"\{([^{}]*)\}")


class RuleContext:
    """A document with its index and resolver, and facts that several rules need."""

    def __init__(
        self, document: ApiDocument, index: DocumentIndex, resolver: ReferenceResolver
    ) -> None:
        self.document = document
        self.index = index
        self.resolver = resolver
        self.references = {node.ref for node in index.refs}
        self.path_items = {id(node.home or node.place): node for node in index.paths}
        # From 3.1 on a description may be spread over documents. One that requires security
        # schemes and defines none is such a part.
        self.partial = (
            document.family.json_schema and not index.security_schemes and self._requires_security()
        )

    @property
    def error_since_3_2(self) -> Severity | None:
        """The severity of what 3.2 forbids; None (the severity of the rule) in other versions."""
        return Severity.ERROR if self.document.family is Family.V32 else None

    def list_parameters(self, values: Json) -> Iterator[tuple[tuple[str, str], int]]:
        """Yield (name, in) and position of each parameter in a list, following references."""
        for position, value in enumerate(values if isinstance(values, list) else ()):
            target = self.resolver.try_follow(value)
            if (
                isinstance(target, dict)
                and isinstance(target.get("name"), str)
                and isinstance(target.get("in"), str)
            ):
                yield (target["name"], target["in"]), position

    def has_unresolved_parameter(self, holder: JsonObject) -> bool:
        """Tell whether a parameter of a path item or operation is a broken reference."""
        values = holder.get("parameters")
        return isinstance(values, list) and any(
            isinstance(value, dict) and "$ref" in value and self.resolver.try_follow(value) is value
            for value in values
        )

    def _requires_security(self) -> bool:
        holders = [self.document.data, *(node.value for node in self.index.operations)]
        return any(
            isinstance(holder.get("security"), list) and any(holder["security"])
            for holder in holders
        )


def as_object(value: Json) -> JsonObject:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def label_operation(node: ObjectNode) -> str:
    """Name an operation in a message: `GET /pets`."""
    return f"{node.scope.method.upper()} {node.scope.path or node.place.json_path}"


def list_repeated(names: list[str]) -> list[str]:
    """Return the names that occur more than once."""
    return [name for name, count in Counter(names).items() if count > 1]

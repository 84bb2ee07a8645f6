"""What schemas and references say besides their type: names, texts, deprecation."""

from __future__ import annotations

from urllib.parse import unquote

from commonplace.kernel.json_types import Json

_TYPE_KEYWORDS = frozenset(
    ("type", "$ref", "allOf", "anyOf", "oneOf", "enum", "const", "properties")
)
_NAMELESS_TOKENS = frozenset(
    (
        "components",
        "schemas",
        "properties",
        "paths",
        "content",
        "schema",
        "responses",
        "parameters",
        "definitions",
        "$defs",
    )
)


def declares_type(schema: Json) -> bool:
    """Tell whether a schema says anything about the type of its values."""
    return isinstance(schema, dict) and not _TYPE_KEYWORDS.isdisjoint(schema)


def doc_text(schema: Json) -> str:
    """Return the description of a schema, or its title."""
    if not isinstance(schema, dict):
        return ""
    for key in ("description", "title"):
        text = schema.get(key)
        if isinstance(text, str) and text.strip():
            return text
    return ""


def is_deprecated(schema: Json) -> bool:
    """Tell whether a schema is marked as deprecated."""
    return isinstance(schema, dict) and schema.get("deprecated") is True


def last_token(reference: str) -> str:
    """Return the last token of a reference, unescaped."""
    return unquote(reference.rsplit("/", 1)[-1]).replace("~1", "/").replace("~0", "~")


def pointer_hint(reference: str) -> list[str]:
    """Return words for the name of a type at a pointer into the middle of a document."""
    tokens = [
        token.replace("~1", "/").replace("~0", "~")
        for token in reference.lstrip("#").split("/")[1:]
    ]
    return [token for token in tokens if token not in _NAMELESS_TOKENS][-4:] or ["Schema"]

"""Operations and schemas as tables: parameters, bodies, responses, properties."""

from __future__ import annotations

from dataclasses import dataclass, field

from commonplace.kernel.json_types import Json, JsonObject

MAX_ROWS = 500
MAX_TEXT = 2000
Columns = tuple[dict[str, str], ...]


@dataclass(frozen=True, slots=True)
class DetailTable:
    """A table about one aspect of a part."""

    title: str
    columns: Columns
    rows: list[dict[str, str]] = field(default_factory=list)


def describe_part(kind: str, part: Json) -> tuple[str, list[DetailTable]]:
    """Return the texts and tables of an operation or a schema; nothing for other parts."""
    if not isinstance(part, dict):
        return "", []
    texts = [part[name] for name in ("summary", "description") if isinstance(part.get(name), str)]
    tables: list[DetailTable] = []
    if kind == "operation":
        tables = [_parameters(part), _body(part), _responses(part)]
    if kind == "schema":
        tables = [_properties(part)]
    return "\n\n".join(texts)[:MAX_TEXT], [table for table in tables if table.rows]


def _parameters(operation: JsonObject) -> DetailTable:
    rows = [
        {
            "name": str(entry.get("name") or name_schema(entry)),
            "in": str(entry.get("in", "")),
            "type": name_schema(entry.get("schema", entry)) if "$ref" not in entry else "",
            "required": "yes" if entry.get("required") else "",
            "description": _description(entry),
        }
        for entry in _objects(operation.get("parameters"))
    ]
    return DetailTable(
        "Parameters", _columns("name", "in", "type", "required", "description"), rows
    )


def _body(operation: JsonObject) -> DetailTable:
    body = operation.get("requestBody")
    contents = _contents(body) if isinstance(body, dict) else []
    rows = [{"media type": media, "schema": kind} for media, kind in contents]
    return DetailTable("Body", _columns("media type", "schema"), rows)


def _responses(operation: JsonObject) -> DetailTable:
    responses = operation.get("responses")
    entries = responses.items() if isinstance(responses, dict) else ()
    rows = [
        {
            "status": str(status),
            "description": _description(entry) or name_schema(entry),
            "content": "; ".join(f"{media}: {kind}" for media, kind in _contents(entry)),
        }
        for status, entry in entries
        if isinstance(entry, dict)
    ]
    return DetailTable("Responses", _columns("status", "description", "content"), rows[:MAX_ROWS])


def _properties(schema: JsonObject) -> DetailTable:
    properties = schema.get("properties")
    entries = list(properties.items()) if isinstance(properties, dict) else []
    required = schema.get("required")
    needed = set(map(str, required)) if isinstance(required, list) else set()
    rows = [
        {
            "name": str(name),
            "type": name_schema(value),
            "required": "yes" if str(name) in needed else "",
            "description": _description(value),
        }
        for name, value in entries[:MAX_ROWS]
    ]
    columns = _columns("name", "type", "required", "description")
    return DetailTable(f"Properties: {len(entries):,}", columns, rows)


def name_schema(schema: Json) -> str:
    """Describe a schema in a word or two."""
    if not isinstance(schema, dict):
        return str(schema)
    if isinstance(schema.get("$ref"), str):
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    kind = schema.get("type")
    named = " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind or "")
    if "items" in schema:
        return f"list of {name_schema(schema['items'])}"
    for group in ("oneOf", "anyOf", "allOf"):
        if isinstance(schema.get(group), list):
            return f"{group}: " + ", ".join(name_schema(entry) for entry in schema[group][:5])
    shown = f"{named} ({schema['format']})" if schema.get("format") else named
    if isinstance(schema.get("enum"), list):
        shown += ": " + ", ".join(map(str, schema["enum"][:8]))
    return shown or "anything"


def _contents(value: JsonObject) -> list[tuple[str, str]]:
    content = value.get("content")
    if not isinstance(content, dict):
        return [("see", name_schema(value))] if "$ref" in value else []
    return [
        (str(media), name_schema(entry.get("schema", {})))
        for media, entry in content.items()
        if isinstance(entry, dict)
    ]


def _objects(value: Json) -> list[JsonObject]:
    entries = value if isinstance(value, list) else []
    return [entry for entry in entries if isinstance(entry, dict)][:MAX_ROWS]


def _description(value: Json) -> str:
    text = value.get("description") if isinstance(value, dict) else None
    return text[:300] if isinstance(text, str) else ""


def _columns(*names: str) -> Columns:
    return tuple(
        {"key": name, "title": name.capitalize(), "kind": "text" if name == "description" else ""}
        for name in names
    )

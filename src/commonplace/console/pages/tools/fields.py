"""A form made from a JSON Schema: one field per argument; empty fields are left out of the call.

Objects, lists and everything else that is not a plain value are written as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from commonplace.kernel.json_types import Json

PREFIX = "arg."
OTHERS = "other-arguments"
LONG_TEXT = frozenset({"content", "body", "prompt", "context", "text", "description"})
TEXTS = ("string", "text")  # an empty text is a value if the argument is required
PLAIN = ("string", "boolean", "integer", "number")

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FormField:
    """One argument: how it is shown, and the text that the person typed."""

    name: str
    kind: str  # string, text, boolean, integer, number, choice or json
    text: str
    is_required: bool = False
    help: str = ""
    default: str = ""
    options: Sequence[str] = ()
    problem: str = ""

    @property
    def label(self) -> str:
        """The name, marked if the argument is required."""
        return f"{self.name} *" if self.is_required else self.name

    @property
    def key(self) -> str:
        """The name of the form field."""
        return f"{PREFIX}{self.name}"


@dataclass(frozen=True, slots=True)
class ToolForm:
    """A form as it was sent: its fields, and the arguments unless a field is wrong."""

    fields: Sequence[FormField]
    arguments: Mapping[str, Json]

    @property
    def is_valid(self) -> bool:
        """Whether every field could be read."""
        return not any(field.problem for field in self.fields)


def make_form(schema: Schema, texts: Mapping[str, str]) -> ToolForm:
    """Read the texts of a form, by the name of the argument."""
    fields: list[FormField] = []
    arguments: dict[str, Json] = {}
    for name, kind, described in _described_fields(schema):
        text = texts.get(name, "")
        problem = ""
        is_required = name in schema.get("required", ())
        try:
            value = "" if text == "" and is_required and kind in TEXTS else read_value(kind, text)
            if value is not None and name == OTHERS:
                arguments |= _as_object(value)
            elif value is not None:
                arguments[name] = value
        except ValueError as wrong:
            problem = f"{name} {wrong}"
        fields.append(_make_field(name, kind, described, schema, text, problem))
    return ToolForm(fields, arguments)


def _described_fields(schema: Schema) -> list[tuple[str, str, Schema]]:
    found: list[tuple[str, str, Schema]] = []
    for name, raw in schema.get("properties", {}).items():
        described = without_null(raw)
        found.append((name, kind_of(name, described), {**raw, **described}))
    if schema.get("additionalProperties") is True:
        note = "Further arguments as one JSON object."
        found.append((OTHERS, "json", {"description": note}))
    return found


def _make_field(
    name: str, kind: str, described: Schema, schema: Schema, text: str, problem: str
) -> FormField:
    default = described.get("default")
    return FormField(
        name,
        kind,
        text,
        name in schema.get("required", ()),
        str(described.get("description", "")),
        "" if default in (None, "") else show_value(default),
        [str(value) for value in described.get("enum", ())],
        problem,
    )


def without_null(schema: Schema) -> Schema:
    """Return the schema of the value of an argument that may also be null."""
    variants = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    if len(variants) == 1:
        return dict(variants[0])
    kinds = schema.get("type")
    if isinstance(kinds, list):
        others = [kind for kind in kinds if kind != "null"]
        return {**schema, "type": others[0] if len(others) == 1 else None}
    return schema


def kind_of(name: str, schema: Schema) -> str:
    """Return how an argument is shown."""
    if "enum" in schema and all(isinstance(value, str) for value in schema["enum"]):
        return "choice"
    kind = schema.get("type")
    if kind == "string":
        return "text" if name in LONG_TEXT else "string"
    return str(kind) if kind in PLAIN else "json"


def read_value(kind: str, text: str) -> Json:
    """Return the value of a text; None leaves the argument out. Raises ValueError."""
    if text == "" or (kind not in TEXTS and not text.strip()):
        return None
    if kind in (*TEXTS, "choice"):
        return text
    if kind == "boolean":
        if text not in ("true", "false"):
            raise ValueError("must be true or false.")
        return text == "true"
    if kind in ("integer", "number"):
        return _read_number(kind, text.strip())
    try:
        value: Json = orjson.loads(text)
    except orjson.JSONDecodeError as wrong:
        raise ValueError(f"is not JSON: {wrong}.") from None
    return value


def _read_number(kind: str, text: str) -> int | float:
    try:
        number: int | float = int(text) if kind == "integer" else float(text)
        orjson.dumps(number)
    except (ValueError, TypeError):
        name = "a whole number" if kind == "integer" else "a number"
        raise ValueError(f"must be {name}.") from None
    if number != number or number in (float("inf"), float("-inf")):
        raise ValueError("must be a number.")
    return number


def _as_object(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise ValueError("must be a JSON object.")
    return value


def show_value(value: Json) -> str:
    """Return the text of a field for a value."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def texts_of(schema: Schema, arguments: Mapping[str, Json]) -> dict[str, str]:
    """Return the texts of a form for known arguments."""
    known = set(schema.get("properties", {}))
    others = {name: value for name, value in arguments.items() if name not in known}
    texts = {
        name: show_value(value)
        for name, value in arguments.items()
        if name in known and value is not None
    }
    return {**texts, OTHERS: show_value(others)} if others else texts

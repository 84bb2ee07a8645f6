"""A form made from a JSON Schema: one field per argument, unset fields left out, anything else
as JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson
from nicegui import ui

LONG_TEXT = frozenset({"content", "body", "prompt", "context", "entry", "text"})
UNSET = "(default)"
CHOOSE = "(choose)"


class Form:
    """Built inside the current NiceGUI container.

    `values` raises ValueError with the field's name when JSON is wrong.
    """

    def __init__(self, schema: Mapping[str, Any], initial: Mapping[str, Any] | None = None) -> None:
        required = set(schema.get("required", ()))
        known = initial or {}
        self._read: dict[str, Callable[[], Any]] = {}
        for name, field in schema.get("properties", {}).items():
            label = f"{name} *" if name in required else name
            with ui.column().classes("w-full gap-0"):
                self._read[name] = _field(name, label, field, known.get(name))
                if field.get("description"):
                    ui.label(str(field["description"])).classes("text-xs cp-muted")

    def values(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, read in self._read.items():
            value = read()
            if value is not None:
                found[name] = value
        return found


def _field(name: str, label: str, schema: Mapping[str, Any], initial: Any) -> Callable[[], Any]:
    kind = schema.get("type")
    if "enum" in schema:
        return _choice(
            label,
            [str(value) for value in schema["enum"]],
            initial,
            CHOOSE if label.endswith("*") else UNSET,
        )
    if kind == "boolean":
        return _switch(label, initial)
    if kind in ("integer", "number"):
        return _number(label, schema, initial, kind == "integer")
    if kind == "string":
        return _text(name, label, schema, initial)
    return _json(name, label, initial)


def _choice(label: str, options: list[str], initial: Any, unset: str) -> Callable[[], Any]:
    select = (
        ui.select([unset, *options], value=initial if initial in options else unset, label=label)
        .props("outlined dense")
        .classes("w-full")
    )
    return lambda: None if select.value == unset else select.value


def _switch(label: str, initial: Any) -> Callable[[], Any]:
    options = [UNSET, "true", "false"]
    value = UNSET if initial is None else ("true" if initial else "false")
    select = ui.select(options, value=value, label=label).props("outlined dense").classes("w-full")
    return lambda: None if select.value == UNSET else select.value == "true"


def _number(label: str, schema: Mapping[str, Any], initial: Any, whole: bool) -> Callable[[], Any]:
    default = schema.get("default")
    number = (
        ui.number(label, value=initial, placeholder="" if default is None else str(default))
        .props("outlined dense clearable")
        .classes("w-full")
    )

    def read() -> Any:
        if number.value is None:
            return None
        return int(number.value) if whole and float(number.value).is_integer() else number.value

    return read


def _text(name: str, label: str, schema: Mapping[str, Any], initial: Any) -> Callable[[], Any]:
    default = schema.get("default")
    shown = "" if default in (None, "") else str(default)
    if name in LONG_TEXT:
        area = (
            ui.textarea(label, value=initial or "")
            .props("outlined dense autogrow")
            .classes("w-full cp-mono")
        )
        return lambda: area.value or None
    field = (
        ui.input(label, value=initial or "", placeholder=shown)
        .props("outlined dense clearable")
        .classes("w-full")
    )
    return lambda: field.value or None


def _json(name: str, label: str, initial: Any) -> Callable[[], Any]:
    text = "" if initial is None else orjson.dumps(initial, option=orjson.OPT_INDENT_2).decode()
    area = (
        ui.textarea(f"{label} (JSON)", value=text)
        .props("outlined dense autogrow")
        .classes("w-full cp-mono")
    )

    def read() -> Any:
        if not (area.value or "").strip():
            return None
        try:
            return orjson.loads(area.value)
        except orjson.JSONDecodeError as wrong:
            raise ValueError(f"{name} is not JSON: {wrong}") from None

    return read

"""Writing of values as JSON or YAML; keys keep their order."""

from __future__ import annotations

import json
import re

import orjson

from commonplace.kernel.json_types import Json, JsonArray, JsonObject
from commonplace.openapi.model import Format
from commonplace.openapi.number_literals import NumberLiterals

# Scalars that YAML 1.1 or 1.2 would not read as text.
_AMBIGUOUS = re.compile(
    r"(?:~|null|true|false|yes|no|on|off|y|n|<<|=|[-+]?\.(?:inf|nan)"
    r"|[-+]?(?:[0-9][0-9_]*)?\.?[0-9_]*(?:e[-+]?[0-9]+)?"
    r"|[-+]?0[xob][0-9a-f_]+|[-+]?[0-9][0-9_]*(?::[0-9]+)+(?:\.[0-9_]*)?|\d{4}-\d\d?-\d\d?.*)\Z",
    re.IGNORECASE,
)
_PLAIN = re.compile(
    r"[A-Za-z0-9_/$.(<\u00a1-\ufefe\U00010000-\U0010ffff]"  # the first character
    r"(?:[^\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff:#]|:(?=[^\s])|(?<=[^\s])#)*\Z"
)
_BLOCK = re.compile(r"[^\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]*\Z")
_SPECIAL = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_NO_NUMBERS = NumberLiterals()


def to_text(data: Json, form: Format, numbers: NumberLiterals = _NO_NUMBERS) -> str:
    """Write a value in a format; `numbers` are the literals that it was read with."""
    return to_json(data, numbers) if form == "json" else to_yaml(data, numbers=numbers)


def to_json(data: Json, numbers: NumberLiterals = _NO_NUMBERS) -> str:
    """Write a value as JSON, indented by two; integers may have any size."""
    data = numbers.mark(data)
    try:
        text = orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
    except TypeError:
        text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    return numbers.restore(text, json=True)


def to_yaml(data: Json, indent: int = 0, numbers: NumberLiterals = _NO_NUMBERS) -> str:
    """Write a value as YAML in block style; parsing the text gives the same value."""
    lines: list[str] = []
    data = numbers.mark(data)
    if isinstance(data, dict) and data:
        _write_mapping(data, " " * indent, lines)
    elif isinstance(data, list) and data:
        _write_sequence(data, " " * indent, lines)
    else:
        lines.append(" " * indent + _write_scalar(data, " " * indent))
    return numbers.restore("\n".join(lines) + "\n", json=False)


def _write_mapping(node: JsonObject, pad: str, lines: list[str]) -> None:
    for key, value in node.items():
        head = f"{pad}{yaml_key(key)}:"
        if isinstance(value, dict) and value:
            lines.append(head)
            _write_mapping(value, pad + "  ", lines)
        elif isinstance(value, list) and value:
            lines.append(head)
            _write_sequence(value, pad + "  ", lines)
        else:
            lines.append(f"{head} {_write_scalar(value, pad + '  ')}")


def _write_sequence(node: JsonArray, pad: str, lines: list[str]) -> None:
    for value in node:
        if isinstance(value, (dict, list)) and value:
            start = len(lines)
            if isinstance(value, dict):
                _write_mapping(value, pad + "  ", lines)
            else:
                _write_sequence(value, pad + "  ", lines)
            lines[start] = f"{pad}- {lines[start][len(pad) + 2 :]}"
        else:
            lines.append(f"{pad}- {_write_scalar(value, pad + '  ')}")


def yaml_key(key: str) -> str:
    """Write a mapping key, in quotes if necessary."""
    if len(key) > 500 or "\n" in key:
        return _quote_as_json(key)
    return key if _is_plain(key) else _quote(key)


def _write_scalar(value: Json, pad: str) -> str:
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return _write_text(value, pad)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            return ".nan" if value != value else ".inf" if value > 0 else "-.inf"
        text = repr(value)
        return text if "." in text or "e" not in text else text.replace("e", ".0e", 1)
    if isinstance(value, int):
        return str(value)
    return "{}" if isinstance(value, dict) else "[]"


def _write_text(value: str, pad: str) -> str:
    if "\n" in value:
        body = value.rstrip("\n")
        lines = body.split("\n")
        starts_plainly = bool(lines[0]) and not lines[0].startswith(" ")
        if (
            starts_plainly
            and _BLOCK.match(value)
            and not any(line != line.rstrip() or line.startswith("\t") for line in lines)
        ):
            trailing = len(value) - len(body)
            sign = "-" if trailing == 0 else "" if trailing == 1 else "+"
            rows = [pad + line if line else "" for line in lines] + [""] * (trailing - 1)
            return "\n".join([f"|{sign}", *rows])
        return _quote_as_json(value)
    return value if _is_plain(value) else _quote(value)


def _is_plain(value: str) -> bool:
    return (
        bool(_PLAIN.match(value))
        and not _AMBIGUOUS.match(value)
        and value == value.strip()
        and not value.endswith(":")
        and not value.startswith(("---", "..."))
    )


def _quote(value: str) -> str:
    if _BLOCK.match(value):
        return "'" + value.replace("'", "''") + "'"
    return _quote_as_json(value)


def _quote_as_json(value: str) -> str:
    try:
        text = orjson.dumps(value).decode()
    except TypeError:  # lone surrogates
        text = json.dumps(value)
    return _SPECIAL.sub(lambda match: f"\\u{ord(match.group()):04x}", text)

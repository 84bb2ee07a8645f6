"""Merge a server entry into a client's configuration file, and take it out again."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from commonplace.cli.connect.files import Stripped, unsafe
from commonplace.cli.connect.json_text import parse, rewrite
from commonplace.cli.connect.toml_text import BYTE_ORDER_MARK, cut_table
from commonplace.kernel.json_types import Json, JsonObject

NAME = "commonplace"
PROMPT = {
    "id": "commonplace-key",
    "type": "promptString",
    "description": "Key of the Commonplace server",
    "password": True,
}
_TABLE = ("mcp_servers", NAME)


def read_document(path: Path, text: str) -> JsonObject:
    """Return the object of a JSON file, with or without comments."""
    try:
        document = parse(text).value if text.strip() else {}
    except ValueError as broken:
        raise unsafe(path, str(broken)) from None
    if not isinstance(document, dict):
        raise unsafe(path, "it is not an object")
    return document


def merge_json(path: Path, text: str, key: str, entry: Mapping[str, Any], prompt: bool) -> str:
    """Return a file's text with our entry, and every other byte as it is."""
    document = read_document(path, text)
    if not isinstance(document.setdefault(key, {}), dict):
        raise unsafe(path, f"`{key}` is not an object there")
    document[key] = {**document[key], NAME: dict(entry)}
    if prompt:
        inputs = document.setdefault("inputs", [])
        if not isinstance(inputs, list):
            raise unsafe(path, "`inputs` is not a list there")
        document["inputs"] = [*_without_prompt(inputs), PROMPT]
    return rewrite(text, document)


def strip_json(path: Path, text: str, key: str) -> Stripped:
    """Return a file's text without our entry."""
    document = read_document(path, text)
    servers = document.get(key)
    had_ours = isinstance(servers, dict) and NAME in servers
    if isinstance(servers, dict):
        document[key] = {name: entry for name, entry in servers.items() if name != NAME}
    if isinstance(document.get("inputs"), list):
        document["inputs"] = _without_prompt(document["inputs"])
    left = {name: value for name, value in document.items() if value or name not in (key, "inputs")}
    return Stripped(rewrite(text, left), had_ours, not left)


def _without_prompt(inputs: list[Any]) -> list[Any]:
    return [
        known
        for known in inputs
        if not (isinstance(known, dict) and known.get("id") == PROMPT["id"])
    ]


def merge_toml(path: Path, text: str, entry: Mapping[str, Any]) -> str:
    """Return a file's text with our own tables, and every other byte as it is."""
    before = _read_toml(path, text)
    kept = cut_table(text, _TABLE).rstrip("\n")
    merged = f"{kept}\n\n{to_toml(entry)}".lstrip("\n")
    if not _has_same_others(merged, before):
        raise unsafe(path, "`mcp_servers` is written inline there, or has another form")
    return merged


def strip_toml(path: Path, text: str) -> Stripped:
    """Return a file's text without our tables."""
    before = _read_toml(path, text)
    if NAME not in _servers(before):
        return Stripped(text, had_ours=False, is_empty=not text.strip())
    rest = cut_table(text, _TABLE).rstrip("\n")
    rest += "\n" if rest else ""
    if not _has_same_others(rest, before) or NAME in _servers(_load_toml(rest)):
        raise unsafe(path, "removing the entry would change other settings")
    return Stripped(rest, had_ours=True, is_empty=not rest)


def _read_toml(path: Path, text: str) -> JsonObject:
    try:
        return _load_toml(text)
    except tomllib.TOMLDecodeError as broken:
        raise unsafe(path, f"it is not TOML ({broken})") from None
    except RecursionError:
        raise unsafe(path, "it is nested too deeply") from None


def _load_toml(text: str) -> JsonObject:
    return tomllib.loads(text.removeprefix(BYTE_ORDER_MARK))


def _servers(document: JsonObject) -> JsonObject:
    servers = document.get("mcp_servers")
    return servers if isinstance(servers, dict) else {}


def _has_same_others(text: str, before: JsonObject) -> bool:
    """Tell whether a text is TOML and has every setting of a document that is not ours."""
    try:
        after = _load_toml(text)
    except tomllib.TOMLDecodeError:
        return False
    return _other_entries(after) == _other_entries(before)


def _other_entries(document: JsonObject) -> JsonObject:
    servers = document.get("mcp_servers", {})
    if isinstance(servers, dict):
        servers = {name: value for name, value in servers.items() if name != NAME}
    return document | {"mcp_servers": servers}


def to_toml(entry: Mapping[str, Any]) -> str:
    lines, tables = [f"[mcp_servers.{NAME}]"], []
    for name, value in entry.items():
        if isinstance(value, Mapping):
            tables += [
                "",
                f"[mcp_servers.{NAME}.{name}]",
                *(f"{key} = {_toml_value(item)}" for key, item in value.items()),
            ]
        else:
            lines.append(f"{name} = {_toml_value(value)}")
    return "\n".join([*lines, *tables]) + "\n"


def _toml_value(value: Json) -> str:
    """Return a string or a list of strings; TOML has no escapes of surrogates."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

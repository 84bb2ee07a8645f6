"""Merge a server entry into a client's configuration file, with a backup."""

from __future__ import annotations

import json
import os
import re
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from commonplace.kernel.clock import iso, utc_now
from commonplace.kernel.errors import Code, CommonplaceError, Kind
from commonplace.kernel.json_types import JsonObject

NAME = "commonplace"
PROMPT = {
    "id": "commonplace-key",
    "type": "promptString",
    "description": "Key of the Commonplace server",
    "password": True,
}
CLIENT_CONFIG = Code(
    "CLIENT_CONFIG_UNREADABLE",
    Kind.INVALID_DATA,
    "A client's configuration file cannot be merged safely.",
)


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8") if path.exists() else ""
    except UnicodeDecodeError:
        raise _unsafe(path, "it is not UTF-8 text") from None


def merge_json(path: Path, key: str, entry: Mapping[str, Any], prompt: bool) -> Path | None:
    text = _read(path)
    try:
        document = json.loads(text) if text.strip() else {}
    except json.JSONDecodeError as broken:
        raise _unsafe(
            path,
            f"it is not plain JSON (line {broken.lineno}: {broken.msg}); comments cannot be kept",
        ) from None
    if not isinstance(document, dict) or not isinstance(document.setdefault(key, {}), dict):
        raise _unsafe(path, f"`{key}` is not an object there")
    document[key][NAME] = dict(entry)
    if prompt:
        inputs = document.setdefault("inputs", [])
        if not isinstance(inputs, list):
            raise _unsafe(path, "`inputs` is not a list there")
        document["inputs"] = [
            known
            for known in inputs
            if not (isinstance(known, dict) and known.get("id") == PROMPT["id"])
        ] + [PROMPT]
    return _replace(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def merge_toml(path: Path, entry: Mapping[str, Any]) -> Path | None:
    """Replace or append our own tables and keep every other byte of the file."""
    text = _read(path)
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError as broken:
        raise _unsafe(path, f"it is not TOML ({broken})") from None
    ours = re.compile(
        rf"^\[mcp_servers\.(?:{NAME}|\"{NAME}\")(?:\.[^\]]+)?\][^\n]*\n(?:(?!^\[)[^\n]*\n?)*",
        re.MULTILINE,
    )
    kept = ours.sub("", text).rstrip("\n")
    merged = f"{kept}\n\n{to_toml(entry)}".lstrip("\n")
    after = tomllib.loads(merged)
    if _other_entries(after) != _other_entries(before):
        raise _unsafe(path, "merging would change other settings")
    return _replace(path, merged)


def _other_entries(document: JsonObject) -> JsonObject:
    servers = {
        name: value for name, value in document.get("mcp_servers", {}).items() if name != NAME
    }
    return {
        **{key: value for key, value in document.items() if key != "mcp_servers"},
        "mcp_servers": servers,
    }


def to_toml(entry: Mapping[str, Any]) -> str:
    lines, tables = [f"[mcp_servers.{NAME}]"], []
    for name, value in entry.items():
        if isinstance(value, Mapping):
            tables += [
                "",
                f"[mcp_servers.{NAME}.{name}]",
                *(f"{k} = {json.dumps(v)}" for k, v in value.items()),
            ]
        else:
            lines.append(f"{name} = {json.dumps(value)}")
    return "\n".join([*lines, *tables]) + "\n"


def _replace(path: Path, text: str) -> Path | None:
    """Replace a file atomically and return the path of the backup."""
    path.parent.mkdir(parents=True, exist_ok=True)
    backup = None
    mode = 0o600
    target = path.resolve()  # keep a dotfile that is a symbolic link
    if target.exists():
        stamp = re.sub(r"[^0-9]", "", iso(utc_now()))
        backup = path.with_name(f"{path.name}.{stamp}.bak")
        shutil.copy2(target, backup)
        mode = target.stat().st_mode & 0o777
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    temporary.write_text(text, "utf-8")
    temporary.chmod(mode)
    temporary.replace(target)
    return backup


def _unsafe(path: Path, why: str) -> CommonplaceError:
    return CommonplaceError(
        CLIENT_CONFIG,
        f"{path} was not changed: {why}.",
        hint="Run without --write and paste the entry yourself.",
    )

"""Redact the arguments of calls: no file content, no secrets, no long texts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache

from commonplace.kernel.json_types import Json, JsonObject

MAX_ITEMS = 20
MAX_DEPTH = 4
MASK = "***"
HASHED_CHARACTERS = 256 * 1024  # longer texts get no hash: it would block the event loop

_SECRET_NAME = re.compile(
    r"(?i)(pass(word|wd|phrase)|secret|api[_-]?key|token$|authorization|credential|"
    r"private[_-]?key|^kek)"
)
_SECRET_TEXT = re.compile(
    r"cp_[0-9a-z]{8}_[0-9A-Za-z_-]{20,}"  # our own keys
    r"|(?i:bearer\s+)[A-Za-z0-9._~+/=-]{12,}"
    r"|\bsk-[A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bAKIA[0-9A-Z]{16}\b"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*"
)


_SECRET_SIGNS = (
    "cp_",
    "sk-",
    "AKIA",
    "xox",
    "eyJ",
    "-----BEGIN",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
)
"""Every match of the pattern has one of these, or `bearer`; searching them is ten times faster."""


def redact(arguments: Mapping[str, Json], hidden: frozenset[str], preview_bytes: int) -> JsonObject:
    """Return a copy that is safe to store. Fields in `hidden` keep only length and hash."""
    kept: JsonObject = {}
    for name, value in arguments.items():
        if len(kept) >= MAX_ITEMS:
            kept["..."] = f"{len(arguments) - MAX_ITEMS} more"
            break
        kept[_name(name)] = _field(str(name), value, hidden, preview_bytes, 0)
    return kept


def scrub(text: str) -> str:
    """Mask everything in a text that looks like a credential."""
    for sign in _SECRET_SIGNS:
        if sign in text:
            break
    else:
        if "bearer" not in text.lower():
            return text
    return _SECRET_TEXT.sub(MASK, text)


def scrub_thoroughly(redacted: Json) -> Json:
    """Mask every recognisable credential in the result of `redact`.

    For permanent records: it takes some microseconds per text.
    """
    from commonplace.kernel.secrets.detection import find_secrets, mask_secrets

    if isinstance(redacted, str):
        found = find_secrets(redacted)
        return mask_secrets(redacted, found, MASK) if found else redacted
    if isinstance(redacted, dict):
        return {name: scrub_thoroughly(value) for name, value in redacted.items()}
    return [scrub_thoroughly(item) for item in redacted] if isinstance(redacted, list) else redacted


@lru_cache(maxsize=1024)
def _is_secret(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def shorten(text: str, limit_bytes: int) -> Json:
    """Return a text, or its beginning with `truncated: true`.

    Never cuts a character, and never processes the whole of a large text.
    """
    if len(text) <= limit_bytes:
        if text.isascii():
            return scrub(text)
        # A lone surrogate (from the command line) cannot be stored.
        raw = text.encode("utf-8", "replace")
        if len(raw) <= limit_bytes:
            return scrub(raw.decode())
    beginning = (
        text[:limit_bytes].encode("utf-8", "replace")[:limit_bytes].decode("utf-8", "ignore")
    )
    return {"preview": scrub(beginning), "truncated": True, "length": _length(text)}


def _length(text: str) -> int:
    """Return the length in bytes; in characters for a large text that is not ASCII."""
    return (
        len(text)
        if text.isascii() or len(text) > HASHED_CHARACTERS
        else len(text.encode("utf-8", "surrogatepass"))
    )


def _name(key: Json) -> str:
    short = str(key)[:64]
    return short if short.isascii() else short.encode("utf-8", "replace").decode()


def _field(name: str, value: Json, hidden: frozenset[str], preview_bytes: int, depth: int) -> Json:
    if name in hidden and value is not None:
        return _fingerprint(value)
    if isinstance(value, str):
        return MASK if value and _is_secret(name) else shorten(value, preview_bytes)
    if isinstance(value, bytes):  # a long text of a tool that takes it as UTF-8
        return {
            "preview": scrub(value[:preview_bytes].decode("utf-8", "ignore")),
            "truncated": True,
            "length": len(value),
        }
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return str(value)[:80]  # JSON in the chain holds 64-bit integers
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if depth >= MAX_DEPTH:
        return "..."
    if isinstance(value, Mapping):
        if _is_secret(name):
            return MASK
        pairs = list(value.items())[:MAX_ITEMS]
        inner = {
            _name(key): _field(str(key), item, hidden, preview_bytes, depth + 1)
            for key, item in pairs
        }
        if len(value) > MAX_ITEMS:
            inner["..."] = f"{len(value) - MAX_ITEMS} more"
        return inner
    if isinstance(value, (list, tuple)):
        items = [_field(name, item, hidden, preview_bytes, depth + 1) for item in value[:MAX_ITEMS]]
        return [*items, f"... {len(value) - MAX_ITEMS} more"] if len(value) > MAX_ITEMS else items
    return f"<{type(value).__name__}>"


def _fingerprint(value: Json) -> JsonObject:
    if isinstance(value, str):
        kept: JsonObject = {"redacted": True, "length": _length(value)}
        if len(value) <= HASHED_CHARACTERS:
            kept["sha256"] = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
        return kept
    if isinstance(value, (list, tuple, Mapping)):
        return {"redacted": True, "items": len(value)}
    return {"redacted": True}

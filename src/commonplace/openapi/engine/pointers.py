"""JSON pointers (RFC 6901) and the values they name."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from commonplace.kernel.json_types import Json


def escape_token(key: str) -> str:
    """A key as a token of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


MISSING: Any = object()


def unescape_token(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~")


def decode_pointer(ref: str) -> str:
    """A reference or pointer without percent-encoding, so that two spellings of one place
    compare equal.
    """
    if "%" not in ref:
        return ref
    return "/".join(escape_token(unescape_token(unquote(token))) for token in ref.split("/"))


def lookup_pointer(data: Json, pointer: str) -> Json:
    """The value at a JSON pointer (percent-encoded as in a URI fragment), or MISSING."""
    if not pointer:
        return data
    if not pointer.startswith("/"):
        return MISSING
    node = data
    for raw in pointer[1:].split("/"):
        if type(node) is dict:
            token = unescape_token(raw)
            if token in node:
                node = node[token]
                continue
            token = unescape_token(unquote(raw))
            if token not in node:
                return MISSING
            node = node[token]
        elif type(node) is list:
            if (
                not raw.isdigit()
                or (len(raw) > 1 and raw[0] == "0")
                or len(raw) > 9
                or int(raw) >= len(node)
            ):
                return MISSING
            node = node[int(raw)]
        else:
            return MISSING
    return node


def resolve_pointer(document: Json, reference: str) -> Json:
    """The value a local reference (`#/a/b`) names. LookupError when there is none."""
    if not reference.startswith("#"):
        raise LookupError(reference)
    node = document
    for token in reference[1:].split("/")[1:]:
        node = _step(node, token, reference)
    return node


def _step(node: Json, token: str, reference: str) -> Json:
    """One token of a pointer: `~1`, `~0` and percent escapes are undone where the plain token
    does not match.
    """
    plain = token.replace("~1", "/").replace("~0", "~")
    if isinstance(node, dict):
        if plain in node:
            return node[plain]
        if "%" in plain:
            from urllib.parse import unquote

            decode_pointer = unquote(token).replace("~1", "/").replace("~0", "~")
            if decode_pointer in node:
                return node[decode_pointer]
    elif isinstance(node, list) and plain.isdigit() and int(plain) < len(node):
        return node[int(plain)]
    raise LookupError(reference)

"""JSON pointers (RFC 6901) and the values that they name."""

from __future__ import annotations

from urllib.parse import unquote

from commonplace.kernel.json_types import Json

MISSING: Json = object()
"""What `lookup_pointer` returns if there is no value."""


def escape_token(key: str) -> str:
    """Write a key as a token of a pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def unescape_token(token: str) -> str:
    """Return the key that a token of a pointer spells."""
    return token.replace("~1", "/").replace("~0", "~")


def decode_pointer(ref: str) -> str:
    """Remove percent-encoding, so that two spellings of the same pointer are equal."""
    if "%" not in ref:
        return ref
    return "/".join(escape_token(unescape_token(unquote(token))) for token in ref.split("/"))


def lookup_pointer(data: Json, pointer: str) -> Json:
    """Return the value at a pointer (percent-encoded as in a URI fragment), or MISSING."""
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
    """Return the value that a local reference (`#/a/b`) names, or raise LookupError.

    An anchor (`#a`) is not a pointer: `replace_anchors` replaces those that are defined.
    """
    if reference != "#" and not reference.startswith("#/"):
        raise LookupError(reference)
    node = document
    for token in reference[1:].split("/")[1:]:
        node = _step(node, token, reference)
    return node


def _step(node: Json, token: str, reference: str) -> Json:
    """Follow one token of a pointer; percent escapes count only if the plain token is absent."""
    key = unescape_token(token)
    if isinstance(node, dict):
        if key in node:
            return node[key]
        if "%" in key:
            key = unescape_token(unquote(token))
            if key in node:
                return node[key]
    elif isinstance(node, list) and key.isdigit() and int(key) < len(node):
        return node[int(key)]
    raise LookupError(reference)

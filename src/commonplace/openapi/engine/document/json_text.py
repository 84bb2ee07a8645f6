"""Parsing of JSON text: limits, exact numbers and repeated keys."""

from __future__ import annotations

import json
import re
from itertools import chain

import orjson

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json.slices import SliceError, loads_in_slices
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.errors import (
    SPEC_SYNTAX,
    SPEC_TOO_DEEP,
    SPEC_TOO_LARGE,
    SPEC_UNREADABLE,
)
from commonplace.openapi.model import (
    DocumentLimits,
    DuplicateKey,
    SourceTree,
)
from commonplace.openapi.number_literals import NumberLiterals

DEFAULT_LIMITS = DocumentLimits()
SLICED_BYTES = 2_000_000  # decoding a larger text at once would block other threads too long
_JSON_START = re.compile(r'\s*(?:\{\s*["}]|\[\s*["{\[\]])')
# Number literals whose float may be keys_in_text differently: 20 digits or more, a final zero, many
# decimals, an exponent.
_INEXACT = r"[0-9](?:[0-9]{19}|\.[0-9]+0[\s,\]}]|\.[0-9]{15}|(?:\.[0-9]+)?[eE][-+]?[0-9]+[\s,\]}])"
_INEXACT_TEXT, _INEXACT_BYTES = re.compile(_INEXACT), re.compile(_INEXACT.encode())


def parse_sliced_json(raw: bytes, limits: DocumentLimits, numbers: NumberLiterals) -> Json:
    """Parse a large JSON text in slices, without blocking other threads.

    It is refused as soon as it has too many values. Only slices with number literals that floats
    cannot represent are parsed number by number.
    """

    def exact(piece: bytes) -> Json:
        return json.loads(
            piece,
            parse_int=numbers.parse,
            parse_float=numbers.parse,
            parse_constant=_refuse_constant,
        )

    def loads(piece: bytes) -> Json:
        try:
            value = orjson.loads(piece)
        except orjson.JSONDecodeError as error:
            if "infinity" not in error.msg:
                raise
            return exact(piece)
        return exact(piece) if _INEXACT_BYTES.search(piece) else value

    def check(values: int) -> None:
        if values > limits.nodes:
            raise _make_size_error(limits)

    return loads_in_slices(raw, check=check, loads=loads)


def parse_json(raw: bytes | str, limits: DocumentLimits) -> SourceTree | None:
    """Parse a JSON text; None if it is not JSON but may be YAML in flow style."""
    if len(raw) > SLICED_BYTES:
        return _parse_large_json(
            raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogatepass"), limits
        )
    try:
        data = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        if "depth" in error.msg or "recursion" in error.msg.lower():
            raise _make_depth_error(limits) from None
        if "infinity" in error.msg:
            tree = _parse_numbers(raw, limits)
            if tree is not None:
                return tree
        text = raw if isinstance(raw, str) else decode_text(raw)
        if not _JSON_START.match(text):
            return None  # brackets without quoted keys: YAML in flow style
        raise CommonplaceError(
            SPEC_SYNTAX,
            f"The text is not JSON: line {error.lineno}, column {error.colno}: "
            f"{error.msg.split(': line')[0]}.",
            hint="Correct the text at that place and call again.",
            details={"line": error.lineno, "column": error.colno, "problem": error.msg},
        ) from None
    has_floats = check_size(data, limits)
    if has_floats and (
        _INEXACT_TEXT.search(raw) if isinstance(raw, str) else _INEXACT_BYTES.search(raw)
    ):
        return _parse_numbers(raw, limits) or SourceTree(data, "json", raw)
    return SourceTree(data, "json", raw)


def _parse_numbers(raw: bytes | str, limits: DocumentLimits) -> SourceTree | None:
    """Parse a JSON text with number literals that floats cannot represent; None on errors."""
    numbers = NumberLiterals()
    try:
        data = json.loads(
            raw, parse_int=numbers.parse, parse_float=numbers.parse, parse_constant=_refuse_constant
        )
    except ValueError:
        return None
    except RecursionError:
        raise _make_depth_error(limits) from None
    check_size(data, limits)
    return SourceTree(data, "json", raw, numbers=numbers)


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _parse_large_json(raw: bytes, limits: DocumentLimits) -> SourceTree | None:
    numbers = NumberLiterals()
    try:
        data = parse_sliced_json(raw, limits, numbers)
    except RecursionError:
        raise _make_depth_error(limits) from None
    except SliceError as error:
        if "depth" in error.problem or "recursion" in error.problem.lower():
            raise _make_depth_error(limits) from None
        if not _JSON_START.match(raw[:1000].decode("utf-8", "replace")):
            return None  # brackets without quoted keys: YAML in flow style
        problem = error.problem.split(": line")[0]
        raise CommonplaceError(
            SPEC_SYNTAX,
            f"The text is not JSON: line {error.line}, column {error.column}: {problem}.",
            hint="Correct the text at that place and call again.",
            details={"line": error.line, "column": error.column, "problem": problem},
        ) from None
    check_size(data, limits)
    return SourceTree(data, "json", raw, numbers=numbers)


def find_json_duplicates(raw: bytes | str, keys: int) -> tuple[DuplicateKey, ...]:
    """Return repeated keys; counting colons rules them out in milliseconds."""
    if isinstance(raw, bytes):
        keys_in_text = (
            raw.count(b'":') + raw.count(b'" :') - raw.count(b'\\":') - raw.count(b'\\" :')
        )
    else:
        keys_in_text = raw.count('":') + raw.count('" :') - raw.count('\\":') - raw.count('\\" :')
    if keys_in_text <= keys:
        return ()
    duplicates: list[DuplicateKey] = []

    def collect(pairs: list[tuple[str, Json]]) -> JsonObject:
        value = dict(pairs)
        if len(value) != len(pairs):
            known: set[str] = set()
            for key, _ in pairs:
                if key in known and len(duplicates) < 100:
                    duplicates.append(DuplicateKey(key))
                known.add(key)
        return value

    try:
        json.loads(raw, object_pairs_hook=collect)
    except (ValueError, RecursionError):
        return ()
    return tuple(duplicates)


def check_size(data: Json, limits: DocumentLimits) -> bool:
    """Refuse trees above the limits of depth and size; tell whether there are floats.

    Every load pays for this, so it goes level by level and leaves the loops to C.
    """
    objects: list[JsonObject] = [data] if type(data) is dict else []
    lists: list[list[Json]] = [data] if type(data) is list else []
    nodes, depth, has_floats = 1, 0, False
    while objects or lists:
        depth += 1
        children = list(chain.from_iterable(map(dict.values, objects)))
        children += chain.from_iterable(lists)
        nodes += len(children)
        if depth > limits.depth:
            raise _make_depth_error(limits)
        if nodes > limits.nodes:
            raise _make_size_error(limits)
        has_floats = has_floats or float in map(type, children)
        objects = [child for child in children if type(child) is dict]
        lists = [child for child in children if type(child) is list]
    return has_floats


def _make_size_error(limits: DocumentLimits) -> CommonplaceError:
    return CommonplaceError(
        SPEC_TOO_LARGE,
        f"The document has more than {limits.nodes} nodes.",
        details={"limit_nodes": limits.nodes},
    )


def _make_depth_error(limits: DocumentLimits) -> CommonplaceError:
    return CommonplaceError(
        SPEC_TOO_DEEP,
        f"The document is nested deeper than {limits.depth} levels.",
        details={"limit": limits.depth},
    )


def decode_text(source: bytes) -> str:
    """Decode a text in any encoding of Unicode; raise SPEC_UNREADABLE for other bytes."""
    encoding = json.detect_encoding(source).removesuffix("-sig")
    try:
        return source.decode(encoding)
    except UnicodeDecodeError as error:
        raise CommonplaceError(
            SPEC_UNREADABLE,
            f"The document is not {encoding.upper()} text: byte {error.start} is invalid.",
            hint="Save it as UTF-8.",
            details={"offset": error.start},
        ) from None

"""Text into a Document: JSON or YAML by content, limits enforced, version recognised."""

from __future__ import annotations

import json
import re
from itertools import chain

import orjson

from commonplace.kernel.collector import LARGE_BYTES, collector_off
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_slices import SliceError, loads_in_slices
from commonplace.openapi.engine.yaml.parse import escape, levels, parse_yaml
from commonplace.openapi.engine.yaml.process import yaml_to_json
from commonplace.openapi.errors import (
    NOT_A_SPEC,
    SPEC_SYNTAX,
    SPEC_TOO_DEEP,
    SPEC_TOO_LARGE,
    SPEC_UNREADABLE,
    UNSUPPORTED_VERSION,
)
from commonplace.openapi.model import (
    SUPPORTED,
    Document,
    Duplicate,
    Family,
    Json,
    JsonObject,
    Limits,
    Tree,
)
from commonplace.openapi.numbers import Numbers

DEFAULT_LIMITS = Limits()
SLICED_BYTES = (
    2_000_000  # above it, decoding would hold up other threads for longer than they should wait
)
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_JSON_START = re.compile(r'\s*(?:\{\s*["}]|\[\s*["{\[\]])')
_MARK = re.compile(r"^---(?:\s|$)", re.MULTILINE)
_CONTENT = re.compile(r"^[^\s#%]", re.MULTILINE)
# Number literals whose float may be written differently: 20 digits or more, a final zero, many
# decimals, an exponent.
_INEXACT = r"[0-9](?:[0-9]{19}|\.[0-9]+0[\s,\]}]|\.[0-9]{15}|(?:\.[0-9]+)?[eE][-+]?[0-9]+[\s,\]}])"
_INEXACT_TEXT, _INEXACT_BYTES = re.compile(_INEXACT), re.compile(_INEXACT.encode())
_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:[-+].*)?")


def load(
    source: bytes | str,
    *,
    name: str = "content",
    base: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    keep: bool = False,
) -> Document:
    """A supported OpenAPI description from its text, or a CommonplaceError that says what is
    wrong and where.

    `keep`: it will be cached, see `collector_off`.
    """
    keep = keep and len(source) > LARGE_BYTES
    document = as_document(parse_text(source, limits=limits, keep=keep), name=name, base=base)
    document.kept = keep
    return document


def as_document(tree: Tree, *, name: str = "content", base: str | None = None) -> Document:
    """A parsed tree as an OpenAPI description of a supported version."""
    data = tree.data
    if not isinstance(data, dict):
        if isinstance(data, list) and tree.format == "yaml" and _several(tree.text):
            hint = "Pass one of them, without the lines `---` between them."
            raise CommonplaceError(
                NOT_A_SPEC, "The text holds several YAML documents, not one.", hint=hint
            )
        what = (
            "a list"
            if isinstance(data, list)
            else "empty"
            if data is None
            else "plain text"
            if isinstance(data, str)
            else "a scalar"
        )
        hint = "Pass an OpenAPI document; its root is an object with `openapi` or `swagger`."
        if tree.text.count("\n") < 2 and len(tree.text) < 500:
            hint += " To read a file or an address, pass it as `file` or `url`."
        raise CommonplaceError(NOT_A_SPEC, f"The document is {what}, not an object.", hint=hint)
    version, family = detect_version(data)
    return Document(
        data,
        version,
        family,
        tree.format,
        tree.raw,
        name,
        base,
        tree.duplicates,
        numbers=tree.numbers,
    )


def _several(text: str) -> bool:
    """Whether a YAML text goes on after its first document."""
    return any(_CONTENT.search(text, 0, mark.start()) for mark in _MARK.finditer(text))


def detect_version(data: JsonObject) -> tuple[str, Family]:
    """The declared version and its family.

    Unquoted YAML (`swagger: 2.0`) is understood; validation reports it.
    """
    declared = data.get("openapi", data.get("swagger"))
    if declared is None:
        if isinstance(data.get("overlay"), str):
            raise CommonplaceError(
                NOT_A_SPEC,
                "This is an Overlay document.",
                hint="Use oas_overlay_validate, or pass it as `overlay` to oas_overlay_apply.",
            )
        raise CommonplaceError(
            NOT_A_SPEC,
            "The document has neither `openapi` nor `swagger`.",
            hint='Add `openapi: 3.1.0` (or `swagger: "2.0"`) at the root.',
        )
    version = (
        str(declared)
        if isinstance(declared, (str, int, float)) and not isinstance(declared, bool)
        else ""
    )
    match = _VERSION.fullmatch(version.strip())
    family = f"{match[1]}.{match[2]}" if match else ""
    if family not in SUPPORTED or (family == Family.V20) != (
        "swagger" in data and "openapi" not in data
    ):
        shown = version or type(declared).__name__
        raise CommonplaceError(
            UNSUPPORTED_VERSION,
            f"OpenAPI version {shown[:40]!r} is not supported.",
            hint="Supported: swagger 2.0 and openapi 3.0.x, 3.1.x, 3.2.x.",
            details={"version": shown[:40], "supported": list(SUPPORTED)},
        )
    return version.strip(), Family(family)


def parse_text(source: bytes | str, *, limits: Limits = DEFAULT_LIMITS, keep: bool = False) -> Tree:
    """Any JSON or YAML text as plain values."""
    if len(source) > limits.size_bytes:
        raise CommonplaceError(
            SPEC_TOO_LARGE,
            f"The document has {len(source)} bytes; the limit is {limits.size_bytes}.",
            details={"limit_bytes": limits.size_bytes},
        )
    if isinstance(source, bytes) and (source[:2] in _UTF16 or b"\0" in source[:4]):
        source = _decode(source)
    with collector_off(keep=keep):
        raw = (
            source.removeprefix("\ufeff")
            if isinstance(source, str)
            else source.removeprefix(b"\xef\xbb\xbf")
        )
        tree = (
            _parse_json(raw, limits) if raw[:200].lstrip()[:1] in ("{", "[", b"{", b"[") else None
        )
        if tree is None:
            text = raw if isinstance(raw, str) else _decode(raw)
            tree = _parse_large_yaml(text, limits) if len(text) > SLICED_BYTES else None
        if tree is None:
            numbers = Numbers()
            data, duplicates = parse_yaml(text, limits, numbers)
            check_size(data, limits)
            tree = Tree(data, "yaml", text, duplicates, numbers)
    return tree


def _parse_large_yaml(text: str, limits: Limits) -> Tree | None:
    """The tree of a large YAML text, parsed in another process; None where there can be none."""
    parsed = yaml_to_json(text, limits)
    if parsed is None:
        return None
    raw, duplicates = parsed
    numbers = Numbers()
    data = _sliced(raw, limits, numbers) if raw[:1] in (b"{", b"[") else orjson.loads(raw)
    check_size(data, limits)
    return Tree(data, "yaml", text.encode("utf-8", "surrogatepass"), duplicates, numbers)


def _sliced(raw: bytes, limits: Limits, numbers: Numbers) -> Json:
    """The value of a large JSON text, without holding up other threads.

    Refused as soon as it has too many values.

    Only slices with literals that floats do not hold are read number by number.
    """

    def exact(piece: bytes) -> Json:
        return json.loads(
            piece, parse_int=numbers.read, parse_float=numbers.read, parse_constant=_refuse_constant
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
            raise _too_many(limits)

    return loads_in_slices(raw, check=check, loads=loads)


def _parse_json(raw: bytes | str, limits: Limits) -> Tree | None:
    """The tree of a JSON text; None where it is not JSON but may be YAML in flow style."""
    if len(raw) > SLICED_BYTES:
        return _parse_large_json(
            raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogatepass"), limits
        )
    try:
        data = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        if "depth" in error.msg or "recursion" in error.msg.lower():
            raise _too_deep(limits) from None
        if "infinity" in error.msg:
            tree = _parse_numbers(raw, limits)
            if tree is not None:
                return tree
        text = raw if isinstance(raw, str) else _decode(raw)
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
        return _parse_numbers(raw, limits) or Tree(data, "json", raw)
    return Tree(data, "json", raw)


def _parse_numbers(raw: bytes | str, limits: Limits) -> Tree | None:
    """The tree of a JSON text with number literals that floats do not hold.

    Slower; None where the text has another fault.
    """
    numbers = Numbers()
    try:
        data = json.loads(
            raw, parse_int=numbers.read, parse_float=numbers.read, parse_constant=_refuse_constant
        )
    except ValueError:
        return None
    except RecursionError:
        raise _too_deep(limits) from None
    check_size(data, limits)
    return Tree(data, "json", raw, numbers=numbers)


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _parse_large_json(raw: bytes, limits: Limits) -> Tree | None:
    numbers = Numbers()
    try:
        data = _sliced(raw, limits, numbers)
    except RecursionError:
        raise _too_deep(limits) from None
    except SliceError as error:
        if "depth" in error.problem or "recursion" in error.problem.lower():
            raise _too_deep(limits) from None
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
    return Tree(data, "json", raw, numbers=numbers)


def duplicates_of(document: Document) -> tuple[Duplicate, ...]:
    """Keys that a mapping of the source repeats.

    The YAML parser sees them anyway; for JSON the text is counted when somebody asks.
    """
    if document.format == "yaml":
        return document.duplicates
    keys = sum(len(node) for level in levels(document.data) for node in level if type(node) is dict)
    return _json_duplicates(document.raw, keys)


def _json_duplicates(raw: bytes | str, keys: int) -> tuple[Duplicate, ...]:
    """Counting tells in milliseconds that there are none; only otherwise are they looked for."""
    if isinstance(raw, bytes):
        written = raw.count(b'":') + raw.count(b'" :') - raw.count(b'\\":') - raw.count(b'\\" :')
    else:
        written = raw.count('":') + raw.count('" :') - raw.count('\\":') - raw.count('\\" :')
    if written <= keys:
        return ()
    found: list[Duplicate] = []

    def collect(pairs: list[tuple[str, Json]]) -> JsonObject:
        value = dict(pairs)
        if len(value) != len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen and len(found) < 100:
                    found.append(Duplicate(key))
                seen.add(key)
        return value

    try:
        json.loads(raw, object_pairs_hook=collect)
    except (ValueError, RecursionError):
        return ()
    return tuple(found)


def check_size(data: Json, limits: Limits) -> bool:
    """Refuse trees that are deeper or larger than the limits; tell whether there are floats.

    Level by level, with the loops left to C: every load pays for this."""
    objects: list[JsonObject] = [data] if type(data) is dict else []
    lists: list[list[Json]] = [data] if type(data) is list else []
    nodes, depth, has_floats = 1, 0, False
    while objects or lists:
        depth += 1
        children = list(chain.from_iterable(map(dict.values, objects)))
        children += chain.from_iterable(lists)
        nodes += len(children)
        if depth > limits.depth:
            raise _too_deep(limits)
        if nodes > limits.nodes:
            raise _too_many(limits)
        has_floats = has_floats or float in map(type, children)
        objects = [child for child in children if type(child) is dict]
        lists = [child for child in children if type(child) is list]
    return has_floats


def _too_many(limits: Limits) -> CommonplaceError:
    return CommonplaceError(
        SPEC_TOO_LARGE,
        f"The document has more than {limits.nodes} nodes.",
        details={"limit_nodes": limits.nodes},
    )


def _too_deep(limits: Limits) -> CommonplaceError:
    return CommonplaceError(
        SPEC_TOO_DEEP,
        f"The document nests deeper than {limits.depth} levels.",
        details={"limit": limits.depth},
    )


def _decode(source: bytes) -> str:
    encoding = json.detect_encoding(source).removesuffix("-sig")
    try:
        return source.decode(encoding)
    except UnicodeDecodeError as error:
        raise CommonplaceError(
            SPEC_UNREADABLE,
            f"The document is not {encoding.upper()} text: byte {error.start} is wrong.",
            hint="Save it as UTF-8.",
            details={"offset": error.start},
        ) from None


__all__ = [
    "as_document",
    "check_size",
    "detect_version",
    "duplicates_of",
    "escape",
    "levels",
    "load",
    "parse_text",
]

"""Loading of documents from text: format and version are detected, limits enforced."""

from __future__ import annotations

import re

import orjson

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.gc_control import LARGE_BYTES, gc_paused
from commonplace.kernel.json_types import JsonObject
from commonplace.openapi.engine.document.json_text import (
    DEFAULT_LIMITS,
    SLICED_BYTES,
    check_size,
    decode_text,
    find_json_duplicates,
    parse_json,
    parse_sliced_json,
)
from commonplace.openapi.engine.json_values import iterate_levels
from commonplace.openapi.engine.yaml.parse import parse_yaml
from commonplace.openapi.engine.yaml.process import parse_in_subprocess
from commonplace.openapi.errors import (
    NOT_A_SPEC,
    SPEC_TOO_LARGE,
    UNSUPPORTED_VERSION,
)
from commonplace.openapi.model import (
    SUPPORTED,
    ApiDocument,
    DocumentLimits,
    DuplicateKey,
    Family,
    SourceTree,
)
from commonplace.openapi.number_literals import NumberLiterals

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_MARK = re.compile(r"^---(?:\s|$)", re.MULTILINE)
_CONTENT = re.compile(r"^[^\s#%]", re.MULTILINE)
_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:[-+].*)?")


def load(
    source: bytes | str,
    *,
    name: str = "content",
    base: str | None = None,
    limits: DocumentLimits = DEFAULT_LIMITS,
    keep: bool = False,
) -> ApiDocument:
    """Load an OpenAPI description of a supported version from its text.

    `keep`: the document will be cached, see `gc_paused`.
    """
    keep = keep and len(source) > LARGE_BYTES
    document = make_document(parse_text(source, limits=limits, keep=keep), name=name, base=base)
    document.kept = keep
    return document


def make_document(
    tree: SourceTree, *, name: str = "content", base: str | None = None
) -> ApiDocument:
    """Make a document from a parsed tree; raise NOT_A_SPEC or UNSUPPORTED_VERSION."""
    data = tree.data
    if not isinstance(data, dict):
        if isinstance(data, list) and tree.format == "yaml" and _has_several_documents(tree.text):
            hint = "Pass one of them, without the `---` lines between them."
            raise CommonplaceError(
                NOT_A_SPEC, "The text contains several YAML documents, not one.", hint=hint
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
            hint += " To read a file or a URL, pass it as `file` or `url`."
        raise CommonplaceError(NOT_A_SPEC, f"The document is {what}, not an object.", hint=hint)
    version, family = detect_version(data)
    return ApiDocument(
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


def _has_several_documents(text: str) -> bool:
    """Tell whether a YAML text contains more than one document."""
    return any(_CONTENT.search(text, 0, mark.start()) for mark in _MARK.finditer(text))


def detect_version(data: JsonObject) -> tuple[str, Family]:
    """Return the declared version and its family.

    Unquoted numbers in YAML (`swagger: 2.0`) are accepted here; validation reports them.
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


def parse_text(
    source: bytes | str,
    *,
    limits: DocumentLimits = DEFAULT_LIMITS,
    keep: bool = False,
    here: bool = False,
) -> SourceTree:
    """Parse any JSON or YAML text into plain values.

    `here`: in this process, however large a YAML text is.
    """
    if len(source) > limits.size_bytes:
        raise CommonplaceError(
            SPEC_TOO_LARGE,
            f"The document has {len(source)} bytes; the limit is {limits.size_bytes}.",
            details={"limit_bytes": limits.size_bytes},
        )
    if isinstance(source, bytes) and (source[:2] in _UTF16 or b"\0" in source[:4]):
        source = decode_text(source)
    with gc_paused(freeze=keep):
        raw = (
            source.removeprefix("\ufeff")
            if isinstance(source, str)
            else source.removeprefix(b"\xef\xbb\xbf")
        )
        tree = parse_json(raw, limits) if raw[:200].lstrip()[:1] in ("{", "[", b"{", b"[") else None
        if tree is None:
            text = raw if isinstance(raw, str) else decode_text(raw)
            if len(text) > SLICED_BYTES and not here:
                tree = _parse_large_yaml(text, limits)
        if tree is None:
            numbers = NumberLiterals()
            data, duplicates = parse_yaml(text, limits, numbers)
            check_size(data, limits)
            tree = SourceTree(data, "yaml", text, duplicates, numbers)
    return tree


def _parse_large_yaml(text: str, limits: DocumentLimits) -> SourceTree | None:
    """Parse a large YAML text in another process; None if no process can be started."""
    parsed = parse_in_subprocess(text, limits)
    if parsed is None:
        return None
    raw, duplicates = parsed
    numbers = NumberLiterals()
    data = parse_sliced_json(raw, limits, numbers) if raw[:1] in (b"{", b"[") else orjson.loads(raw)
    check_size(data, limits)
    return SourceTree(data, "yaml", text.encode("utf-8", "surrogatepass"), duplicates, numbers)


def find_duplicate_keys(document: ApiDocument) -> tuple[DuplicateKey, ...]:
    """Return the keys that a mapping of the source repeats; JSON texts are searched on demand."""
    if document.format == "yaml":
        return document.duplicates
    keys = sum(
        len(node) for level in iterate_levels(document.data) for node in level if type(node) is dict
    )
    return find_json_duplicates(document.raw, keys)

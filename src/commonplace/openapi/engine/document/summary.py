"""Summaries of a document, and its parts as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.document.keywords import NAME_MAPS
from commonplace.openapi.engine.document.references.inliner import Inliner
from commonplace.openapi.engine.document.references.resolver import follow_local_references
from commonplace.openapi.engine.pointers import MISSING, lookup_pointer
from commonplace.openapi.errors import ANSWER_TOO_LARGE
from commonplace.openapi.model import ApiDocument, Family, Format
from commonplace.openapi.number_literals import NumberLiterals

DESCRIPTION_LIMIT = 200
FULL_LIMIT_BYTES = 1_000_000
MOST_NOTED_REFS = 100


@dataclass(frozen=True, slots=True)
class ServerSummary:
    """A server with its description, which may be empty."""

    url: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    """A document at a glance."""

    version: str
    title: str
    description: str
    path_count: int
    operation_count: int
    webhook_count: int
    schema_count: int
    servers: tuple[ServerSummary, ...]
    tags: tuple[str, ...]
    format: Format


@dataclass(frozen=True, slots=True)
class RenderedPart:
    """A document or a part of it as text, with the references that were not replaced."""

    text: str
    circular_refs: Sequence[str] = ()
    unresolved_refs: Sequence[str] = ()
    refs_left: Sequence[str] = ()


def summarize(
    document: ApiDocument, bundled: ApiDocument | None = None, *, truncate: bool = True
) -> DocumentSummary:
    """Count the parts of a document; cut long descriptions to 200 characters.

    `bundled` is the document with its path items from other files, whose operations count too.
    """
    data = (bundled or document).data
    info = data.get("info")
    info = info if isinstance(info, dict) else {}
    paths = data.get("paths")
    paths = paths if isinstance(paths, dict) else {}
    items = [
        follow_local_references(data, item)[0] for item in paths.values() if isinstance(item, dict)
    ]
    return DocumentSummary(
        version=document.version,
        title=_as_text(info.get("title")),
        description=_shorten(_as_text(info.get("description")), truncate),
        path_count=sum(not key.startswith("x-") for key in paths),
        operation_count=sum(_count_operations(document.family, item) for item in items),
        webhook_count=_count_webhooks(data),
        schema_count=len(document.schemas),
        servers=tuple(_summarize_server(server, truncate) for server in list_servers(document)),
        tags=tuple(_list_tags(data.get("tags"))),
        format=document.format,
    )


def _count_webhooks(data: JsonObject) -> int:
    webhooks = data.get("webhooks")
    return (
        len([key for key in webhooks if not key.startswith("x-")])
        if isinstance(webhooks, dict)
        else 0
    )


def has_external_paths(document: ApiDocument) -> bool:
    """Tell whether paths are in other files, without building the index."""
    paths = document.data.get("paths")
    items = (
        [item for item in paths.values() if isinstance(item, dict) and "$ref" in item]
        if isinstance(paths, dict)
        else []
    )
    return any(
        not str(follow_local_references(document.data, item)[0].get("$ref", "#")).startswith("#")
        for item in items
    )


def list_servers(document: ApiDocument) -> list[JsonObject]:
    """Return the servers as 3.x writes them; those of 2.0 come from schemes, host, basePath."""
    data = document.data
    if not document.is_v2:
        servers = data.get("servers")
        return (
            [server for server in servers if isinstance(server, dict)]
            if isinstance(servers, list)
            else []
        )
    host, base = _as_text(data.get("host")), _as_text(data.get("basePath"))
    if not host:
        return [{"url": base}] if base else []
    schemes = data.get("schemes")
    schemes = (
        [scheme for scheme in schemes if isinstance(scheme, str)]
        if isinstance(schemes, list)
        else []
    )
    return [{"url": f"{scheme}://{host}{base}"} for scheme in schemes] or [
        {"url": f"//{host}{base}"}
    ]


def render_document(
    document: ApiDocument,
    inliner: Inliner | None,
    pointer: str | None,
    limit_bytes: int = FULL_LIMIT_BYTES,
) -> RenderedPart:
    """Render the document, or the part at a pointer, in its own format.

    Raises ANSWER_TOO_LARGE if the text would be larger than `limit_bytes`.
    """
    part = lookup_pointer(document.data, (pointer or "").lstrip("#"))
    if part is MISSING:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"pointer: there is nothing at {pointer!r}.",
            details={"field": "pointer"},
        )
    if inliner is None:
        if pointer is None and len(document.raw) <= limit_bytes:
            return RenderedPart(document.text)
        return RenderedPart(render_value(part, document.format, limit_bytes, document.numbers))
    value = inliner.write(part, named=(pointer or "").rpartition("/")[2] in NAME_MAPS).value
    return RenderedPart(
        render_value(value, document.format, limit_bytes, document.numbers),
        sorted(inliner.circular)[:MOST_NOTED_REFS],
        sorted(inliner.unresolved)[:MOST_NOTED_REFS],
        sorted(inliner.left)[:MOST_NOTED_REFS],
    )


def render_value(value: Json, format_: str, limit_bytes: int, numbers: NumberLiterals) -> str:
    """Write a value as JSON or YAML text; ANSWER_TOO_LARGE above the limit."""
    value = numbers.mark(value)
    try:
        encoded = orjson.dumps(value, option=orjson.OPT_INDENT_2)
    except (TypeError, ValueError):
        raise CommonplaceError(
            ANSWER_TOO_LARGE,
            "This part is nested too deeply to be shown.",
            hint="Ask for a smaller part.",
        ) from None
    if len(encoded) > limit_bytes:
        raise CommonplaceError(
            ANSWER_TOO_LARGE,
            f"The part has {len(encoded)} bytes; the limit of an answer is {limit_bytes}.",
            hint="Pass pointer for one part, omit resolve_refs, or use the oas_walk_* tools.",
            details={"bytes": len(encoded), "limit_bytes": limit_bytes},
        )
    if format_ == "json":
        return numbers.restore(encoded.decode(), json=True)
    import yaml

    dumper = yaml.CSafeDumper if hasattr(yaml, "CSafeDumper") else yaml.SafeDumper
    text = str(
        yaml.dump(
            orjson.loads(encoded), Dumper=dumper, sort_keys=False, allow_unicode=True, width=120
        )
    )
    return numbers.restore(text, json=False)


def _count_operations(family: Family, item: JsonObject) -> int:
    extra = item.get("additionalOperations") if family is Family.V32 else None
    return sum(1 for method in family.methods if isinstance(item.get(method), dict)) + (
        len(extra) if isinstance(extra, dict) else 0
    )


def _summarize_server(server: JsonObject, truncate: bool) -> ServerSummary:
    description = _shorten(_as_text(server.get("description")), truncate)
    return ServerSummary(_as_text(server.get("url")), description)


def _list_tags(tags: Json) -> list[str]:
    return (
        [str(tag.get("name", "")) for tag in tags if isinstance(tag, dict)]
        if isinstance(tags, list)
        else []
    )


def _as_text(value: Json) -> str:
    return (
        value
        if isinstance(value, str)
        else ""
        if value is None or isinstance(value, (dict, list))
        else str(value)
    )


def _shorten(text: str, truncate: bool) -> str:
    return (
        text[: DESCRIPTION_LIMIT - 3] + "..."
        if truncate and len(text) > DESCRIPTION_LIMIT
        else text
    )

"""Resources: instructions, lessons, files, API descriptions and context packs by address."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import orjson

from commonplace.context.errors import RESOURCE_NOT_FOUND
from commonplace.context.offering.addresses import Address, ResourceKind
from commonplace.context.offering.calls import ClientCalls, call_if_offered
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import JsonObject

PAGE = 100
MAX_CHARACTERS = 1_000_000
MAX_LISTED_FILES = 1_024  # of a project; the template reaches all of them
MARKDOWN, PLAIN, JSON = "text/markdown", "text/plain", "application/json"
_MIME_TYPES = {
    "md": MARKDOWN,
    "json": JSON,
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "html": "text/html",
    "css": "text/css",
    "csv": "text/csv",
    "py": "text/x-python",
    "js": "text/javascript",
    "ts": "text/x-typescript",
}
TEMPLATES: tuple[JsonObject, ...] = (
    {
        "uriTemplate": "instruction:///{id}",
        "name": "instruction",
        "title": "Rule",
        "description": "A rule of the catalogue, by id.",
        "mimeType": MARKDOWN,
    },
    {
        "uriTemplate": "memory:///{id}",
        "name": "memory",
        "title": "Lesson",
        "description": "A lesson learned, by id.",
        "mimeType": MARKDOWN,
    },
    {
        "uriTemplate": "file:///{project}/{+path}",
        "name": "file",
        "title": "Project file",
        "description": "A file of a project.",
    },
    {
        "uriTemplate": "openapi:///{project}/{+path}",
        "name": "openapi",
        "title": "API description",
        "description": "Summary of an OpenAPI document that is stored as a project file.",
        "mimeType": JSON,
    },
    {
        "uriTemplate": "context:///{task}",
        "name": "context",
        "title": "Context",
        "description": "Rules, lessons, files and API operations that matter for a task.",
        "mimeType": JSON,
    },
)


async def list_resources(call: ClientCalls, cursor: str | None) -> JsonObject:
    """Return a page of resources: instructions, lessons, then the files of each project.

    Raises INVALID_ARGUMENT for a cursor that was not made here.
    """
    kind, _, rest = (cursor or "instruction:0").partition(":")
    lister = _LISTERS.get(kind)
    if lister is None:
        raise _unknown_cursor()
    resources, following = await lister(call, rest)
    while not resources and following is not None:
        kind, _, rest = following.partition(":")
        resources, following = await _LISTERS[kind](call, rest)
    return {"resources": resources} | ({"nextCursor": following} if following else {})


_Page = tuple[list[JsonObject], str | None]


async def _list_instructions(call: ClientCalls, position: str) -> _Page:
    offset = _number(position)
    found = await call_if_offered(call, "instructions_query", {"limit": PAGE, "offset": offset})
    items = found["items"] if found else []
    resources = [
        _resource(ResourceKind.INSTRUCTION, item["id"], item["title"], MARKDOWN) for item in items
    ]
    return resources, f"instruction:{offset + PAGE}" if len(items) == PAGE else "memory:0"


async def _list_lessons(call: ClientCalls, position: str) -> _Page:
    offset = _number(position)
    found = await call_if_offered(call, "memory_list", {"limit": PAGE, "offset": offset})
    entries = found["entries"] if found else []
    resources = [
        _resource(ResourceKind.MEMORY, entry["id"], entry["title"], MARKDOWN) for entry in entries
    ]
    has_more = bool(found and found["has_more"])
    return resources, f"memory:{offset + PAGE}" if has_more else "file:0:0"


async def _list_files(call: ClientCalls, position: str) -> _Page:
    first, _, second = position.partition(":")
    at, offset = _number(first), _number(second)
    found = await call_if_offered(call, "file_projects", {})
    projects = [item["project"] for item in found["projects"]] if found else []
    if at >= len(projects):
        return [], None
    arguments = {"project": projects[at], "depth": 1_000, "limit": MAX_LISTED_FILES}
    listed = await call_if_offered(call, "file_list", arguments)
    files = [item for item in listed["entries"] if item["type"] == "FILE"] if listed else []
    resources = [
        _resource(ResourceKind.FILE, item["path"], item["path"], mime_of(item["path"]))
        | {"uri": str(Address(ResourceKind.FILE, item["path"], projects[at])), "size": item["size"]}
        for item in files[offset : offset + PAGE]
    ]
    more = offset + PAGE < len(files)
    return resources, f"file:{at}:{offset + PAGE}" if more else f"file:{at + 1}:0"


_LISTERS: Mapping[str, Callable[[ClientCalls, str], Awaitable[_Page]]] = {
    "instruction": _list_instructions,
    "memory": _list_lessons,
    "file": _list_files,
}


def _resource(kind: ResourceKind, key: str, title: str, mime: str) -> JsonObject:
    return {"uri": str(Address(kind, key)), "name": key, "title": title, "mimeType": mime}


async def read_resource(call: ClientCalls, uri: str) -> JsonObject:
    """Return the content of a resource. Raises RESOURCE_NOT_FOUND, INVALID_ARGUMENT."""
    address = Address.parse(uri)
    text, mime = await _READERS[address.kind](call, address)
    if len(text) > MAX_CHARACTERS:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"{uri[:200]} has {len(text)} characters; a resource may have {MAX_CHARACTERS}.",
            hint="Read a part of it with file_read or open_ref.",
            details={"field": "uri", "characters": len(text), "limit": MAX_CHARACTERS},
        )
    return {"contents": [{"uri": uri, "mimeType": mime, "text": text}]}


async def _read_instruction(call: ClientCalls, address: Address) -> tuple[str, str]:
    found = await call("instructions_get", {"id": address.key})
    if "item" not in found:
        raise _not_found(address)
    item = found["item"]
    facts = ", ".join(
        f"{name}: {item[name]}" for name in ("requirement", "status", "owner", "version")
    )
    return f"# {item['title']}\n\n{item['body']}\n\n({facts})\n", MARKDOWN


async def _read_lesson(call: ClientCalls, address: Address) -> tuple[str, str]:
    entry = await call("rekall_show", {"id": address.key})
    facts = f"type: {entry['type']}, status: {entry['status']}, updated: {entry['updated_at']}"
    return f"# {entry['title']}\n\n{entry['content']}\n\n({facts})\n", MARKDOWN


async def _read_file(call: ClientCalls, address: Address) -> tuple[str, str]:
    arguments = {"project": address.project, "path": address.key}
    stat = await call("file_stat", arguments)
    if not stat["exists"] or stat["type"] != "FILE":
        raise _not_found(address)
    # one byte more than the limit, so that a longer file is refused and never cut
    found = await call("file_read", {**arguments, "length": 4 * MAX_CHARACTERS + 1})
    return found["content"], mime_of(address.key)


async def _read_description(call: ClientCalls, address: Address) -> tuple[str, str]:
    spec = {"ref": f"file:{address.project}{address.key}"}
    return _encode(await call("oas_parse", {"spec": spec})), JSON


async def _read_context(call: ClientCalls, address: Address) -> tuple[str, str]:
    return _encode(await call("context", {"task": address.key})), JSON


_READERS: Mapping[ResourceKind, Callable[[ClientCalls, Address], Awaitable[tuple[str, str]]]] = {
    ResourceKind.INSTRUCTION: _read_instruction,
    ResourceKind.MEMORY: _read_lesson,
    ResourceKind.FILE: _read_file,
    ResourceKind.OPENAPI: _read_description,
    ResourceKind.CONTEXT: _read_context,
}


async def find_fingerprint(call: ClientCalls, uri: str) -> str:
    """Return a text that changes with the resource; cheap, and not counted as a read of a lesson.

    A resource that does not exist has one too. Raises INVALID_ARGUMENT for a bad address.
    """
    address = Address.parse(uri)
    if address.kind is ResourceKind.INSTRUCTION:
        found = await call("instructions_get", {"id": address.key})
        item = found.get("item", {})
        return f"{item.get('sourceHash')} {item.get('updatedAt')}"
    if address.kind is ResourceKind.MEMORY:
        found = await call_if_offered(call, "memory_related", {"id": address.key}) or {}
        return str(next(iter(found.get("entries", ())), None))
    if address.kind is ResourceKind.CONTEXT:
        return str((await call("context", {"task": address.key}))["pack_id"])
    stat = await call("file_stat", {"project": address.project, "path": address.key})
    return str(stat.get("content_hash"))


def mime_of(path: str) -> str:
    """Return the media type of a path by its ending; plain text where it is unknown."""
    return _MIME_TYPES.get(path.rpartition(".")[2].lower(), PLAIN)


def _encode(value: JsonObject) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise _unknown_cursor()
    return int(text)


def _unknown_cursor() -> CommonplaceError:
    return CommonplaceError(
        INVALID_ARGUMENT,
        "The cursor is not one of this listing.",
        hint="Start again without a cursor.",
        details={"field": "cursor"},
    )


def _not_found(address: Address) -> CommonplaceError:
    return CommonplaceError(
        RESOURCE_NOT_FOUND,
        f"There is no resource {str(address)[:200]}.",
        hint="resources/list and completion/complete tell what exists.",
        details={"uri": str(address)},
    )

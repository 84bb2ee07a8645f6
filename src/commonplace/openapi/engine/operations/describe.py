"""Describe the operations of a document: what identifies each of them, and a text to search.

Only what a search needs is visited, so that a document of 13 MB takes a fraction of a second.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.document.references.resolver import follow_local_references
from commonplace.openapi.engine.pointers import escape_token
from commonplace.openapi.model import ApiDocument, Family

MAX_OPERATIONS = 20_000
MAX_POINTER = 2_000  # characters; a reference must hold it
MAX_DESCRIPTION = 1_200
MAX_SUMMARY = 300
MAX_NAMES = 40  # of parameters, and of properties
MAX_SCHEMA_NODES = 60  # visited for the names of one body or of the answers
_BLANKS = re.compile(r"\s+")
_MARKUP = re.compile(r"<[^<>]{0,200}>|\]\([^()\s]{0,500}\)|[*`\[]")


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """An operation as search shows it, and its words.

    `names` identifies it (method, path, id, summary); `text` has its description and the names of
    tags, parameters and schemas.
    """

    pointer: str
    method: str  # upper case
    path: str
    operation_id: str
    summary: str
    tags: tuple[str, ...]
    deprecated: bool
    names: str
    text: str
    start_line: int = 0  # 0: not known
    end_line: int = 0


def describe_operations(document: ApiDocument) -> tuple[list[ApiOperation], int]:
    """Return the operations of paths and webhooks in document order, and how many there are.

    At most MAX_OPERATIONS are described.
    """
    described: list[ApiOperation] = []
    count = 0
    for path, home, item in _path_items(document):
        shared = item.get("parameters")
        for method, pointer, operation in _operations(document, home, item):
            count += 1
            if len(described) < MAX_OPERATIONS and len(pointer) <= MAX_POINTER:
                described.append(_describe(document, method, path, pointer, operation, shared))
    return described, count


def _path_items(document: ApiDocument) -> Iterator[tuple[str, str, JsonObject]]:
    """Yield each path or webhook with the pointer of its item; references are followed."""
    for kind in ("paths", "webhooks"):
        items = document.data.get(kind)
        for key, item in items.items() if type(items) is dict else ():
            if type(item) is dict and not key.startswith("x-"):
                target, pointer = follow_local_references(document.data, item)
                yield key, pointer or f"/{kind}/{escape_token(key)}", target


def _operations(
    document: ApiDocument, home: str, item: JsonObject
) -> Iterator[tuple[str, str, JsonObject]]:
    methods = document.family.methods
    for method, operation in item.items():
        if method in methods and type(operation) is dict:
            yield method.upper(), f"{home}/{method}", operation
    extra = item.get("additionalOperations") if document.family is Family.V32 else None
    for method, operation in extra.items() if type(extra) is dict else ():
        if type(operation) is dict:
            yield method, f"{home}/additionalOperations/{escape_token(method)}", operation


def _describe(
    document: ApiDocument,
    method: str,
    path: str,
    pointer: str,
    operation: JsonObject,
    shared: Json,
) -> ApiOperation:
    summary = _plain(operation.get("summary"))[:MAX_SUMMARY]
    description = _plain(operation.get("description"))
    operation_id = _plain(operation.get("operationId"))[:MAX_SUMMARY]
    tags = operation.get("tags")
    tag_names = tuple(_plain(tag) for tag in tags[:10]) if type(tags) is list else ()
    parameters, body = _parameter_names(document, operation, shared)
    lines = (
        f"{summary or _first_sentence(description)}",
        f"{method} {path} {operation_id}",
        ", ".join(tag_names),
        description[:MAX_DESCRIPTION],
        "parameters " + ", ".join(parameters) if parameters else "",
        "body " + ", ".join(body) if body else "",
        "returns " + ", ".join(answers) if (answers := _answer_names(document, operation)) else "",
    )
    return ApiOperation(
        pointer,
        method,
        path,
        operation_id,
        summary or _first_sentence(description),
        tag_names,
        operation.get("deprecated") is True,
        f"{method} {path} {operation_id} {summary}",
        "\n".join(filter(None, lines)),
    )


def _parameter_names(
    document: ApiDocument, operation: JsonObject, shared: Json
) -> tuple[list[str], list[str]]:
    """Return the names of the parameters, and of the schemas and properties of the body."""
    names: list[str] = []
    body: dict[str, None] = {}
    for values in (operation.get("parameters"), shared):
        for value in values[:MAX_NAMES] if type(values) is list else ():
            if type(value) is not dict:
                continue
            parameter, _ = follow_local_references(document.data, value)
            if parameter.get("in") == "body":  # Swagger 2.0
                body |= _schema_names(document, parameter.get("schema"), properties=True)
            else:
                names.append(_plain(parameter.get("name"))[:80])
    request = operation.get("requestBody")
    if type(request) is dict:
        content = follow_local_references(document.data, request)[0].get("content")
        body |= _media_names(document, content, properties=True)
    return list(dict.fromkeys(filter(None, names)))[:MAX_NAMES], list(body)[:MAX_NAMES]


def _answer_names(document: ApiDocument, operation: JsonObject) -> list[str]:
    """Return the names of the schemas that a successful call returns."""
    responses = operation.get("responses")
    names: dict[str, None] = {}
    for status, response in responses.items() if type(responses) is dict else ():
        if status[:1] == "2" and type(response) is dict:
            target, _ = follow_local_references(document.data, response)
            names |= _media_names(document, target.get("content"), properties=False)
            names |= _schema_names(document, target.get("schema"), properties=False)
    return list(names)[:MAX_NAMES]


def _media_names(document: ApiDocument, content: Json, *, properties: bool) -> dict[str, None]:
    names: dict[str, None] = {}
    for value in list(content.values())[:4] if type(content) is dict else ():
        if type(value) is dict:
            names |= _schema_names(document, value.get("schema"), properties=properties)
    return names


def _schema_names(document: ApiDocument, schema: Json, *, properties: bool) -> dict[str, None]:
    """Return the names of a schema, of those it is composed of, and of its own properties."""
    names: dict[str, None] = {}
    waiting = [schema]
    for _ in range(MAX_SCHEMA_NODES):
        if not waiting:
            break
        node = waiting.pop(0)
        if type(node) is not dict:
            continue
        ref = node.get("$ref")
        if type(ref) is str:
            name = ref.rpartition("/")[2][:80]
            if name in names:
                continue
            names[name] = None
            target, pointer = follow_local_references(document.data, node)
            waiting.append(target if pointer else None)
            continue
        own = node.get("properties")
        if properties and type(own) is dict:
            names |= dict.fromkeys(str(key)[:80] for key in list(own)[:MAX_NAMES])
        waiting.append(node.get("items"))
        for keyword in ("allOf", "oneOf", "anyOf"):
            parts = node.get(keyword)
            waiting += parts[:10] if type(parts) is list else []
    return names


def _plain(value: Json) -> str:
    """Return a text on one line, without the marks of Markdown and HTML."""
    if type(value) is not str:
        return ""
    return _BLANKS.sub(" ", _MARKUP.sub(" ", value[: 4 * MAX_DESCRIPTION])).strip()


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0][:MAX_SUMMARY]

"""The parts of a document that can be listed: which tool, which filters, which columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commonplace.console.pages.openapi.view import View
from commonplace.kernel.json_types import JsonObject

METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "trace")


@dataclass(frozen=True, slots=True)
class Filter:
    """A field above a list; `options` makes it a choice, `is_flag` a box."""

    name: str
    label: str
    options: Sequence[str] = ()
    is_flag: bool = False


@dataclass(frozen=True, slots=True)
class Walk:
    """A kind of part: its tool, filters, columns and the names in the tool's answer."""

    tool: str
    heading: str
    noun: str
    filters: Sequence[Filter]
    columns: Sequence[tuple[str, str]]
    groups: Sequence[str]
    items: str
    item: str
    rows: str = "summaries"


PATH = Filter("path", "Path, such as /repos/**")
METHOD = Filter("method", "Method", METHODS)
NAME = Filter("name", "Name; * and ? stand for anything")
STATUS = Filter("status", "Status, such as 200 or 4xx")
EXTENSION = Filter("extension", "Extension, such as x-internal=true")

WALKS: Mapping[str, Walk] = {
    "operations": Walk(
        "oas_walk_operations",
        "Operations",
        "operation",
        (
            PATH,
            METHOD,
            Filter("tag", "Tag"),
            Filter("operation_id", "Operation id"),
            EXTENSION,
            Filter("deprecated", "Deprecated only", is_flag=True),
        ),
        (("path", "Path"), ("method", "Method"), ("operation_id", "Id"), ("summary", "Summary")),
        ("tag", "method"),
        "operations",
        "operation",
    ),
    "schemas": Walk(
        "oas_walk_schemas",
        "Schemas",
        "schema",
        (
            NAME,
            Filter("type", "Type", ("object", "array", "string", "integer", "number", "boolean")),
            EXTENSION,
            Filter("nested", "Also nested schemas", is_flag=True),
        ),
        (
            ("name", "Name"),
            ("type", "Type"),
            ("property_count", "Properties"),
            ("required", "Required"),
        ),
        ("type", "location"),
        "schemas",
        "schema",
    ),
    "parameters": Walk(
        "oas_walk_parameters",
        "Parameters",
        "parameter",
        (
            Filter("name", "Name"),
            Filter("in", "In", ("query", "header", "path", "cookie")),
            PATH,
            METHOD,
            EXTENSION,
        ),
        (
            ("name", "Name"),
            ("in", "In"),
            ("type", "Type"),
            ("method", "Method"),
            ("path", "Path"),
        ),
        ("location", "name"),
        "parameters",
        "parameter",
    ),
    "responses": Walk(
        "oas_walk_responses",
        "Responses",
        "response",
        (STATUS, PATH, METHOD, EXTENSION),
        (
            ("status", "Status"),
            ("method", "Method"),
            ("path", "Path"),
            ("description", "Description"),
        ),
        ("status_code", "method"),
        "responses",
        "response",
    ),
    "headers": Walk(
        "oas_walk_headers",
        "Headers",
        "header",
        (NAME, STATUS, PATH, METHOD, EXTENSION),
        (("name", "Name"), ("status", "Status"), ("method", "Method"), ("path", "Path")),
        ("name", "status_code"),
        "headers",
        "header",
    ),
    "security": Walk(
        "oas_walk_security",
        "Security schemes",
        "security scheme",
        (
            Filter("name", "Name"),
            Filter(
                "type", "Type", ("apiKey", "http", "oauth2", "openIdConnect", "mutualTLS", "basic")
            ),
        ),
        (("name", "Name"), ("type", "Type"), ("description", "Description")),
        ("type",),
        "schemes",
        "security_scheme",
    ),
    "paths": Walk(
        "oas_walk_paths",
        "Paths",
        "path",
        (PATH, EXTENSION),
        (("path", "Path"), ("method_count", "Methods")),
        ("segment",),
        "paths",
        "path_item",
    ),
    "refs": Walk(
        "oas_walk_refs",
        "References",
        "reference",
        (
            Filter("target", "Target; * and ? stand for anything"),
            Filter(
                "node_type",
                "Kind",
                ("schema", "parameter", "response", "requestBody", "header", "example"),
            ),
        ),
        (("ref", "Target"), ("count", "Uses")),
        ("node_type",),
        "details",
        "",
        rows="refs",
    ),
}


def walk_arguments(walk: Walk, view: View) -> JsonObject:
    """Return the filters that a person chose, as the tool takes them."""
    arguments: JsonObject = {}
    for field in walk.filters:
        value = view.text(field.name)
        if value:
            arguments[field.name] = True if field.is_flag else value
    nested = arguments.pop("nested", False)
    if walk.tool == "oas_walk_schemas":
        arguments["named"] = not nested
        name = str(arguments.get("name", ""))
        if name and not set(name) & set("*?"):
            arguments["name"] = f"*{name}*"
    return arguments

"""Rules about servers, tags, URLs and e-mail addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.pointers import escape_token
from commonplace.openapi.engine.validate.context import (
    EXPRESSION,
    RuleContext,
    as_object,
    list_repeated,
)
from commonplace.openapi.engine.validate.findings import make_finding
from commonplace.openapi.engine.validate.rules import Severity, ValidationFinding
from commonplace.openapi.model import Family

_EMAIL = re.compile(r"[^@\s<>]+@[^@\s<>]+")
_NO_URL = re.compile(r"[\s<>\"{}|\\^`]|^$")
_URL_FIELDS = frozenset(
    {
        "url",
        "termsOfService",
        "authorizationUrl",
        "tokenUrl",
        "refreshUrl",
        "openIdConnectUrl",
        "deviceAuthorizationUrl",
    }
)


def check_metadata(context: RuleContext) -> Iterator[ValidationFinding]:
    """Check servers, tags and addresses."""
    yield from _check_servers(context)
    yield from _check_tags(context)
    yield from _check_addresses(context)


def _check_servers(context: RuleContext) -> Iterator[ValidationFinding]:
    if context.document.is_v2:
        return
    items = {
        id(node.value): (node.value, (node.home or node.place).pointer)
        for node in context.index.paths
    }
    holders = [
        (context.document.data, ""),
        *items.values(),
        *((node.value, node.place.pointer) for node in context.index.operations),
    ]
    for holder, pointer in holders:
        servers = holder.get("servers")
        for position, server in enumerate(servers if isinstance(servers, list) else ()):
            yield from _check_server(context, as_object(server), f"{pointer}/servers/{position}")
    for node in context.index.links:
        yield from _check_server(
            context, as_object(node.value.get("server")), f"{node.place.pointer}/server"
        )


def _check_server(
    context: RuleContext, server: JsonObject, here: str
) -> Iterator[ValidationFinding]:
    url, variables = server.get("url"), as_object(server.get("variables"))
    names = EXPRESSION.findall(url) if isinstance(url, str) else []
    for name in dict.fromkeys(names):
        if name not in variables:
            yield make_finding(
                "server-variable", here, f"The server variable {{{name}}} is not defined."
            )
    for name in list_repeated(names) if context.document.family is Family.V32 else ():
        yield make_finding(
            "server-variable",
            here,
            f"The server variable {{{name}}} is used more than once.",
            Severity.ERROR,
        )
    for name, variable in variables.items():
        if (
            isinstance(variable, dict)
            and isinstance(variable.get("enum"), list)
            and variable.get("default") not in variable["enum"]
        ):
            severity = Severity.WARNING if context.document.family is Family.V30 else None
            where = f"{here}/variables/{escape_token(name)}"
            yield make_finding(
                "server-variable-default",
                where,
                f"The default of {name!r} is not in its enum.",
                severity,
            )


def _check_tags(context: RuleContext) -> Iterator[ValidationFinding]:
    tags = context.document.data.get("tags")
    declared: dict[str, Json] = {}
    for position, tag in enumerate(tags if isinstance(tags, list) else ()):
        name = tag.get("name") if isinstance(tag, dict) else None
        if isinstance(name, str):
            if name in declared:
                yield make_finding(
                    "tag-duplicate", f"/tags/{position}", f"The tag {name!r} is declared twice."
                )
            declared[name] = tag.get("parent")
    if context.document.family is Family.V32:
        for position, name in enumerate(declared):
            parent, steps = declared[name], 0
            while isinstance(parent, str) and parent in declared and steps <= len(declared):
                parent, steps = declared[parent], steps + 1
            # The official schema reports parents that are not strings.
            if isinstance(parent, str) and (steps > len(declared) or parent not in declared):
                yield make_finding(
                    "tag-parent",
                    f"/tags/{position}",
                    f"The parent of the tag {name!r} is not declared or leads back to the tag.",
                )
    for node in context.index.operations:
        used = node.value.get("tags")
        for name in used if isinstance(used, list) else ():
            if isinstance(name, str) and name not in declared:
                yield make_finding(
                    "tag-undeclared",
                    f"{node.place.pointer}/tags",
                    f"The tag {name!r} is not declared.",
                )


def _check_addresses(context: RuleContext) -> Iterator[ValidationFinding]:
    """Check the form of e-mail addresses and URLs."""
    info = as_object(context.document.data.get("info"))
    email = as_object(info.get("contact")).get("email")
    if isinstance(email, str) and not _EMAIL.fullmatch(email):
        yield make_finding(
            "email", "/info/contact/email", f"{email[:80]!r} is not an e-mail address."
        )
    for value, where in _list_url_holders(context, info):
        for name in _URL_FIELDS & value.keys():
            url = value[name]
            if isinstance(url, str) and _NO_URL.search(url):
                # An empty URL is a relative reference to the document itself.
                severity = None if url else Severity.WARNING
                message = f"{url[:80]!r} is not a URL."
                yield make_finding("url", f"{where}/{name}", message, severity)


def _list_url_holders(context: RuleContext, info: JsonObject) -> list[tuple[JsonObject, str]]:
    """Return the objects that may have URL fields, and their pointers."""
    holders = [
        (info, "/info"),
        (as_object(info.get("contact")), "/info/contact"),
        (as_object(info.get("license")), "/info/license"),
    ]
    documented = [
        (context.document.data, ""),
        *((node.value, node.place.pointer) for node in context.index.operations),
    ]
    tags = context.document.data.get("tags")
    documented += [
        (as_object(tag), f"/tags/{position}")
        for position, tag in enumerate(tags if isinstance(tags, list) else ())
    ]
    holders += [
        (as_object(value["externalDocs"]), f"{where}/externalDocs")
        for value, where in documented
        if "externalDocs" in value
    ]
    for node in context.index.security_schemes:
        flows = as_object(node.value.get("flows"))
        holders += [(node.value, node.place.pointer)]
        holders += [
            (as_object(flow), f"{node.place.pointer}/flows/{escape_token(name)}")
            for name, flow in flows.items()
        ]
    return holders

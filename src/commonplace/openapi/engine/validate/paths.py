"""Rules about paths, operations, parameters, responses, security, servers and tags."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.document.index import DocumentIndex
from commonplace.openapi.engine.document.nodes import NodePlace, ObjectNode
from commonplace.openapi.engine.document.resolver import ReferenceResolver
from commonplace.openapi.engine.pointers import escape_token
from commonplace.openapi.engine.validate.rules import RULES, Severity, ValidationFinding
from commonplace.openapi.engine.validate.structure import no_response
from commonplace.openapi.model import ApiDocument, Family

_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_FIELD_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+*-]+/[\w!#$&^.+*-]+(?:\s*;.*)?", re.DOTALL)
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
_FORM_TYPES = frozenset({"multipart/form-data", "application/x-www-form-urlencoded"})
_WITHOUT_SCOPES = frozenset({"apiKey", "http", "basic"})
_IGNORED_HEADERS = frozenset({"accept", "content-type", "authorization"})


def make_finding(
    rule: str, place: NodePlace | str, message: str, severity: Severity | None = None
) -> ValidationFinding:
    known = RULES[rule]
    return ValidationFinding(
        known,
        place if isinstance(place, str) else place.pointer,
        message,
        severity or known.severity,
    )


class PathRules:
    """One pass over the operations of a document."""

    def __init__(
        self, document: ApiDocument, index: DocumentIndex, resolver: ReferenceResolver
    ) -> None:
        self.document = document
        self.index = index
        self.resolver = resolver
        self.used = {node.ref for node in index.refs}
        self.items = {id(node.home or node.place): node for node in index.paths}
        # From 3.1 on a description may be spread over documents. One that asks for security schemes
        # and has none is such a part.
        self.part = (
            document.family.json_schema and not index.security_schemes and self.asks_for_security()
        )

    def findings(self) -> Iterator[ValidationFinding]:
        yield from self.paths()
        yield from self.operation_ids()
        for node in self.index.operations:
            yield from self.operation(node)
        for node in self.index.parameters:
            yield from self.parameter(node)
        for node in self.index.headers:
            yield from self.header(node)
        for node in self.index.media_types:
            yield from self.media_type(node)
        for node in self.index.examples:
            yield from self.example(node)
        yield from self.links()
        yield from self.security()
        yield from self.servers()
        yield from self.tags()
        yield from self.addresses()

    # paths

    def paths(self) -> Iterator[ValidationFinding]:
        shapes: dict[
            str, dict[str, ObjectNode]
        ] = {}  # the first of each shape, and the first with each method
        for node in self.index.paths:
            if node.scope.component or node.scope.webhook or node.scope.callback:
                if node.scope.callback or node.scope.webhook:
                    yield from self.parameter_list(
                        node.value.get("parameters"),
                        NodePlace(node.home or node.place, "parameters"),
                    )
                continue
            path = node.scope.path
            if not path.startswith("/"):
                yield make_finding(
                    "path-slash", node.place, f"The path {path!r} does not start with a slash."
                )
            rest = _EXPRESSION.sub("", path)
            names = _EXPRESSION.findall(path)
            if "{" in rest or "}" in rest or any(not name.strip() for name in names):
                yield make_finding(
                    "path-template",
                    node.place,
                    f"The template {path!r} has unbalanced or empty braces.",
                )
                continue
            for name in _repeated(names):
                yield make_finding(
                    "path-repeats-parameter",
                    node.place,
                    f"{path!r} names {{{name}}} more than once.",
                    self.forbidden_since_3_2,
                )
            if "?" in rest or "#" in rest:
                yield make_finding(
                    "path-query", node.place, f"{path!r} holds a query string or a fragment."
                )
            if len(path) > 1 and path.endswith("/"):
                yield make_finding(
                    "path-trailing-slash", node.place, f"{path!r} ends with a slash."
                )
            shape = _EXPRESSION.sub("{}", path)
            others = shapes.setdefault(shape, {"": node})
            methods = [method for method in self.document.family.methods if method in node.value]
            if others[""] is not node:
                # Where no method is in both, no request is ambiguous: the specification forbids it,
                # but nothing breaks.
                other = next((others[method] for method in methods if method in others), None)
                message = f"{path!r} and {(other or others['']).scope.path!r} are the same path."
                yield make_finding(
                    "path-ambiguous", node.place, message, None if other else Severity.WARNING
                )
            for method in methods:
                others.setdefault(method, node)
            yield from self.path_item(node, set(names))

    @property
    def forbidden_since_3_2(self) -> Severity | None:
        return Severity.ERROR if self.document.family is Family.V32 else None

    def path_item(self, node: ObjectNode, names: set[str]) -> Iterator[ValidationFinding]:
        home = node.home or node.place
        yield from self.parameter_list(node.value.get("parameters"), NodePlace(home, "parameters"))
        shared = dict(
            self.resolved_parameters(node.value.get("parameters"), NodePlace(home, "parameters"))
        )
        renamed = False
        operations = [
            (key, value)
            for key, value in node.value.items()
            if key in self.document.family.methods and isinstance(value, dict)
        ]
        extra = (
            node.value.get("additionalOperations") if self.document.family is Family.V32 else None
        )
        if isinstance(extra, dict):
            operations += [
                (f"additionalOperations/{escape_token(key)}", value)
                for key, value in extra.items()
                if isinstance(value, dict)
            ]
        for method, operation in operations:
            here = f"{home.pointer}/{method}"
            own = dict(
                self.resolved_parameters(operation.get("parameters"), NodePlace(home, method))
            )
            unknown = self.has_unresolved(node.value) or self.has_unresolved(operation)
            declared = {name for name, location in (*shared, *own) if location == "path"}
            missing = [] if unknown else sorted(names - declared)
            extra_names = sorted(declared - names)
            renamed = bool(missing) and len(missing) == len(extra_names)
            if renamed:
                told = ", ".join(
                    f"{{{name}}} and {other!r}"
                    for name, other in zip(missing, extra_names, strict=True)
                )
                severity = Severity.WARNING if self.part else None
                yield make_finding(
                    "path-parameter-renamed",
                    here,
                    f"The path and its parameters disagree on names: {told}.",
                    severity,
                )
                continue
            for name in missing:
                yield make_finding(
                    "path-parameter-missing",
                    here,
                    f"{{{name}}} of {node.scope.path!r} has no path parameter here.",
                )
            for (name, location), position in own.items():
                if location == "path" and name not in names:
                    message = f"The path parameter {name!r} is not in {node.scope.path!r}."
                    yield make_finding(
                        "path-parameter-unused", f"{here}/parameters/{position}", message
                    )
        for (name, location), position in shared.items():
            if location == "path" and name not in names and operations and not renamed:
                message = f"The path parameter {name!r} is not in {node.scope.path!r}."
                yield make_finding(
                    "path-parameter-unused", f"{home.pointer}/parameters/{position}", message
                )

    def resolved_parameters(
        self, values: Json, place: NodePlace
    ) -> Iterator[tuple[tuple[str, str], int]]:
        """(name, in) of each parameter in a list, references followed, with its position."""
        if isinstance(values, list):
            for position, value in enumerate(values):
                target = self.resolver.try_follow(value)
                if (
                    isinstance(target, dict)
                    and isinstance(target.get("name"), str)
                    and isinstance(target.get("in"), str)
                ):
                    yield (target["name"], target["in"]), position

    def has_unresolved(self, holder: JsonObject) -> bool:
        values = holder.get("parameters")
        if not isinstance(values, list):
            return False
        return any(
            isinstance(value, dict) and "$ref" in value and self.resolver.try_follow(value) is value
            for value in values
        )

    def parameter_list(self, values: Json, place: NodePlace) -> Iterator[ValidationFinding]:
        seen: dict[tuple[str, str], int] = {}
        kinds: list[str] = []
        for (name, location), position in self.resolved_parameters(values, place):
            key = (name.lower() if location == "header" else name, location)
            if key in seen:
                yield make_finding(
                    "parameter-duplicate",
                    f"{place.pointer}/{position}",
                    f"The {location} parameter {name!r} is listed twice.",
                )
            seen[key] = position
            kinds.append(location)
        if self.document.family is Family.V32:
            count = kinds.count("querystring")
            if count > 1 or (count and "query" in kinds):
                yield make_finding(
                    "parameter-querystring",
                    place,
                    "querystring parameters stand alone: one, and no query parameter beside it.",
                )

    # operations

    def operation_ids(self) -> Iterator[ValidationFinding]:
        seen: dict[str, ObjectNode] = {}
        for node in self.index.operations:
            name = node.value.get("operationId")
            if not isinstance(name, str):
                if not node.scope.callback:
                    yield make_finding(
                        "operation-id-missing",
                        node.place,
                        f"{_operation(node)} has no operationId.",
                    )
                continue
            first = seen.setdefault(name, node)
            if (
                first.value is not node.value
            ):  # one path item that several paths use is written once
                where = f"{node.place.pointer}/operationId"
                yield make_finding(
                    "operation-id-duplicate",
                    where,
                    f"The operationId {name!r} is used before, by {_operation(first)}.",
                )

    def operation(self, node: ObjectNode) -> Iterator[ValidationFinding]:
        operation = node.value
        yield from self.parameter_list(
            operation.get("parameters"), NodePlace(node.place, "parameters")
        )
        if self.document.family is Family.V32:
            yield from self.mixed_querystring(node)
        if self.document.is_v2:
            yield from self.body_parameters(node)
        if not operation.get("summary") and not operation.get("description"):
            yield make_finding(
                "operation-undescribed",
                node.place,
                f"{_operation(node)} has neither summary nor description.",
            )
        responses = operation.get("responses")
        if isinstance(responses, dict):
            codes = [code for code in responses if not code.startswith("x-")]
            if not codes:
                yield no_response(f"{node.place.pointer}/responses")
            elif not any(code == "default" or code[:1] in ("1", "2", "3") for code in codes):
                yield make_finding(
                    "response-success",
                    node.place,
                    f"{_operation(node)} has no success or default response.",
                )
            for code in codes:
                if code.isdigit() and len(code) == 3 and not 100 <= int(code) <= 599:
                    yield make_finding(
                        "status-code",
                        f"{node.place.pointer}/responses/{code}",
                        f"{code} is not an HTTP status code.",
                    )

    def mixed_querystring(self, node: ObjectNode) -> Iterator[ValidationFinding]:
        """querystring of the path item beside query of the operation, or the reverse."""
        if node.place.parent is None:
            return
        item = self.items.get(id(node.place.parent))
        shared = (
            {
                key[1]
                for key, _ in self.resolved_parameters(item.value.get("parameters"), node.place)
            }
            if item is not None
            else set()
        )
        own = {
            key[1] for key, _ in self.resolved_parameters(node.value.get("parameters"), node.place)
        }
        if ("querystring" in shared and own & {"query", "querystring"}) or (
            "querystring" in own and "query" in shared
        ):
            message = "querystring parameters stand alone: one, and no query parameter beside it."
            yield make_finding("parameter-querystring", f"{node.place.pointer}/parameters", message)

    def body_parameters(self, node: ObjectNode) -> Iterator[ValidationFinding]:
        values = node.value.get("parameters")
        locations = [location for (_, location), _ in self.resolved_parameters(values, node.place)]
        if locations.count("body") > 1:
            yield make_finding(
                "body-parameters",
                f"{node.place.pointer}/parameters",
                f"{_operation(node)} has more than one body parameter.",
            )
        if "body" in locations and "formData" in locations:
            yield make_finding(
                "body-parameters",
                f"{node.place.pointer}/parameters",
                f"{_operation(node)} mixes body and formData.",
            )
        consumed = node.value.get("consumes", self.document.data.get("consumes"))
        if (
            isinstance(consumed, list)
            and consumed
            and _FORM_TYPES.isdisjoint(str(one).partition(";")[0].strip() for one in consumed)
        ):
            for position, value in enumerate(values if isinstance(values, list) else ()):
                target = self.resolver.try_follow(value)
                if (
                    isinstance(target, dict)
                    and target.get("type") == "file"
                    and target.get("in") == "formData"
                ):
                    message = (
                        f"{_operation(node)} takes a file but consumes neither "
                        f"multipart/form-data nor a form."
                    )
                    yield make_finding(
                        "file-parameter", f"{node.place.pointer}/parameters/{position}", message
                    )

    # parameters, headers, media types, examples

    def parameter(self, node: ObjectNode) -> Iterator[ValidationFinding]:
        value = node.value
        if "$ref" in value:
            return
        location, name = value.get("in"), value.get("name")
        if location == "path" and value.get("required") is not True:
            # A component that nothing uses breaks nothing.
            severity = (
                Severity.WARNING
                if node.scope.component and f"#{node.place.pointer}" not in self.used
                else None
            )
            yield make_finding(
                "path-parameter-optional",
                node.place,
                f"The path parameter {name!r} must have required: true.",
                severity,
            )
        if location == "header" and isinstance(name, str):
            if not _FIELD_NAME.fullmatch(name):
                yield make_finding(
                    "parameter-header-name",
                    node.place,
                    f"{name!r} is not an HTTP field name.",
                    self.forbidden_since_3_2,
                )
            elif name.lower() in _IGNORED_HEADERS and not self.document.is_v2:
                yield make_finding(
                    "parameter-header-ignored",
                    node.place,
                    f"A header parameter called {name!r} is ignored.",
                )
        if self.document.is_v2:
            if value.get("type") == "file" and location != "formData":
                yield make_finding(
                    "file-parameter",
                    node.place,
                    f"The file parameter {name!r} must be in formData.",
                )
            yield from self.items_of(node)
        else:
            yield from self.holder(node, "parameter")

    def header(self, node: ObjectNode) -> Iterator[ValidationFinding]:
        if not node.scope.component and not _FIELD_NAME.fullmatch(node.name):
            yield make_finding(
                "parameter-header-name",
                node.place,
                f"{node.name!r} is not an HTTP field name.",
                self.forbidden_since_3_2,
            )
        if self.document.is_v2:
            yield from self.items_of(node)
        elif "$ref" not in node.value:
            yield from self.holder(node, "header")

    def items_of(self, node: ObjectNode) -> Iterator[ValidationFinding]:
        """2.0 wants items where the type is array, at every level of a parameter or header."""
        value: Json = node.value
        where = node.place.pointer
        while isinstance(value, dict) and value.get("type") == "array":
            if "items" not in value:
                yield make_finding("array-items", where, f"The array {node.name!r} has no items.")
            value, where = value.get("items"), f"{where}/items"

    def holder(self, node: ObjectNode, what: str) -> Iterator[ValidationFinding]:
        value = node.value
        if ("schema" in value) == ("content" in value):
            either = (
                "both schema and content" if "schema" in value else "neither schema nor content"
            )
            yield make_finding(
                "parameter-schema-content", node.place, f"The {what} {node.name!r} has {either}."
            )
        if "example" in value and "examples" in value:
            yield make_finding(
                "example-conflict",
                node.place,
                f"The {what} {node.name!r} has both example and examples.",
            )

    def media_type(self, node: ObjectNode) -> Iterator[ValidationFinding]:
        if "example" in node.value and "examples" in node.value:
            yield make_finding(
                "example-conflict", node.place, f"{node.name!r} has both example and examples."
            )
        if not node.scope.component and not _MEDIA_TYPE.fullmatch(node.name):
            yield make_finding("media-type", node.place, f"{node.name!r} is not a media type.")

    def example(self, node: ObjectNode) -> Iterator[ValidationFinding]:
        if "value" in node.value and "externalValue" in node.value:
            yield make_finding(
                "example-value-conflict",
                node.place,
                f"The example {node.name!r} has both value and externalValue.",
            )

    def links(self) -> Iterator[ValidationFinding]:
        known = {
            name
            for node in self.index.operations
            if isinstance(name := node.value.get("operationId"), str)
        }
        for node in self.index.links:
            name, ref = node.value.get("operationId"), node.value.get("operationRef")
            if isinstance(name, str) and name not in known:
                yield make_finding(
                    "link-operation", node.place, f"No operation has the operationId {name!r}."
                )
            if (
                isinstance(ref, str)
                and ref.startswith("#")
                and self.resolver.try_follow({"$ref": ref}) == {"$ref": ref}
            ):
                yield make_finding("link-operation", node.place, f"No operation is at {ref}.")
            if self.document.family is Family.V30 and not node.value.keys() & {
                "$ref",
                "operationId",
                "operationRef",
            }:
                yield make_finding(
                    "missing-field",
                    node.place,
                    f"The link {node.name!r} has neither operationId nor operationRef.",
                )

    # security, servers, tags

    def asks_for_security(self) -> bool:
        holders = [self.document.data, *(node.value for node in self.index.operations)]
        return any(
            isinstance(holder.get("security"), list) and any(holder["security"])
            for holder in holders
        )

    def security(self) -> Iterator[ValidationFinding]:
        schemes = {
            node.name: self.resolver.try_follow(node.value) for node in self.index.security_schemes
        }
        holders: list[tuple[Json, str]] = [(self.document.data.get("security"), "/security")]
        holders += [
            (node.value.get("security"), f"{node.place.pointer}/security")
            for node in self.index.operations
        ]
        for requirements, pointer in holders:
            if not isinstance(requirements, list):
                continue
            for position, requirement in enumerate(requirements):
                if isinstance(requirement, dict):
                    for name, scopes in requirement.items():
                        where = f"{pointer}/{position}/{escape_token(name)}"
                        yield from self.requirement(name, scopes, schemes, where)

    def requirement(
        self, name: str, scopes: Json, schemes: dict[str, Json], where: str
    ) -> Iterator[ValidationFinding]:
        if name not in schemes:
            if self.document.family is Family.V32 and re.search(r"[/#:.]", name):
                return  # from 3.2 on a requirement may name a scheme by URI
            severity = Severity.WARNING if self.part else None
            yield make_finding(
                "security-undefined", where, f"No security scheme is called {name!r}.", severity
            )
            return
        scheme = schemes[name]
        if (
            scopes
            and isinstance(scheme, dict)
            and str(scheme.get("type")) in _WITHOUT_SCOPES
            and not self.document.family.json_schema
        ):
            yield make_finding(
                "security-scope",
                where,
                f"{name!r} is no OAuth scheme: until 3.1 it takes no scopes.",
            )
        if isinstance(scheme, dict) and scheme.get("type") == "oauth2" and isinstance(scopes, list):
            known = _scopes(scheme)
            for scope in scopes:
                if isinstance(scope, str) and scope not in known:
                    yield make_finding(
                        "security-scope",
                        where,
                        f"No OAuth flow of {name!r} lists the scope {scope!r}.",
                    )

    def servers(self) -> Iterator[ValidationFinding]:
        if self.document.is_v2:
            return
        items = {
            id(node.value): (node.value, (node.home or node.place).pointer)
            for node in self.index.paths
        }
        holders = [
            (self.document.data, ""),
            *items.values(),
            *((node.value, node.place.pointer) for node in self.index.operations),
        ]
        for holder, pointer in holders:
            servers = holder.get("servers")
            for position, server in enumerate(servers if isinstance(servers, list) else ()):
                yield from self.server(_object(server), f"{pointer}/servers/{position}")
        for node in self.index.links:
            yield from self.server(
                _object(node.value.get("server")), f"{node.place.pointer}/server"
            )

    def server(self, server: JsonObject, here: str) -> Iterator[ValidationFinding]:
        url, variables = server.get("url"), _object(server.get("variables"))
        names = _EXPRESSION.findall(url) if isinstance(url, str) else []
        for name in dict.fromkeys(names):
            if name not in variables:
                yield make_finding(
                    "server-variable", here, f"The server variable {{{name}}} is not defined."
                )
        for name in _repeated(names) if self.document.family is Family.V32 else ():
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
                severity = Severity.WARNING if self.document.family is Family.V30 else None
                where = f"{here}/variables/{escape_token(name)}"
                yield make_finding(
                    "server-variable-default",
                    where,
                    f"The default of {name!r} is not in its enum.",
                    severity,
                )

    def addresses(self) -> Iterator[ValidationFinding]:
        """E-mail addresses and URLs, which the specification wants to have the form of such."""
        info = _object(self.document.data.get("info"))
        email = _object(info.get("contact")).get("email")
        if isinstance(email, str) and not _EMAIL.fullmatch(email):
            yield make_finding(
                "email", "/info/contact/email", f"{email[:80]!r} is not an e-mail address."
            )
        holders = [
            (info, "/info"),
            (_object(info.get("contact")), "/info/contact"),
            (_object(info.get("license")), "/info/license"),
        ]
        documented = [
            (self.document.data, ""),
            *((node.value, node.place.pointer) for node in self.index.operations),
        ]
        tags = self.document.data.get("tags")
        documented += [
            (_object(tag), f"/tags/{position}")
            for position, tag in enumerate(tags if isinstance(tags, list) else ())
        ]
        holders += [
            (_object(value["externalDocs"]), f"{where}/externalDocs")
            for value, where in documented
            if "externalDocs" in value
        ]
        for node in self.index.security_schemes:
            flows = _object(node.value.get("flows"))
            holders += [(node.value, node.place.pointer)]
            holders += [
                (_object(flow), f"{node.place.pointer}/flows/{escape_token(name)}")
                for name, flow in flows.items()
            ]
        for value, where in holders:
            for name in _URL_FIELDS & value.keys():
                url = value[name]
                if isinstance(url, str) and _NO_URL.search(url):
                    # Nothing at all is a relative reference: it leads to the document itself.
                    yield make_finding(
                        "url",
                        f"{where}/{name}",
                        f"{url[:80]!r} is not a URL.",
                        None if url else Severity.WARNING,
                    )

    def tags(self) -> Iterator[ValidationFinding]:
        tags = self.document.data.get("tags")
        declared: dict[str, Json] = {}
        for position, tag in enumerate(tags if isinstance(tags, list) else ()):
            name = tag.get("name") if isinstance(tag, dict) else None
            if isinstance(name, str):
                if name in declared:
                    yield make_finding(
                        "tag-duplicate", f"/tags/{position}", f"The tag {name!r} is declared twice."
                    )
                declared[name] = tag.get("parent")
        if self.document.family is Family.V32:
            for position, name in enumerate(declared):
                parent, steps = declared[name], 0
                while isinstance(parent, str) and parent in declared and steps <= len(declared):
                    parent, steps = declared[parent], steps + 1
                # What is no string is wrong by the official schema, which says so.
                if isinstance(parent, str) and (steps > len(declared) or parent not in declared):
                    yield make_finding(
                        "tag-parent",
                        f"/tags/{position}",
                        f"The parent of the tag {name!r} is not declared, or is itself.",
                    )
        for node in self.index.operations:
            used = node.value.get("tags")
            for name in used if isinstance(used, list) else ():
                if isinstance(name, str) and name not in declared:
                    yield make_finding(
                        "tag-undeclared",
                        f"{node.place.pointer}/tags",
                        f"The tag {name!r} is not declared.",
                    )


def _repeated(names: list[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _operation(node: ObjectNode) -> str:
    return f"{node.scope.method.upper()} {node.scope.path or node.place.json_path}"


def _scopes(scheme: JsonObject) -> set[str]:
    flows = scheme.get("flows")
    tables = (
        [flow.get("scopes") for flow in flows.values() if isinstance(flow, dict)]
        if isinstance(flows, dict)
        else [scheme.get("scopes")]
    )
    return {scope for table in tables if isinstance(table, dict) for scope in table}

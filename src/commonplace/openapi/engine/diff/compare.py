"""Two API descriptions compared by what their clients would notice."""

from __future__ import annotations

from collections.abc import Iterable

from commonplace.kernel.gc_control import collector_off
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.diff.api import (
    ApiView,
    ContentView,
    OperationView,
    ParameterView,
    RawOperation,
    ResponseView,
)
from commonplace.openapi.engine.diff.model import SchemaSite
from commonplace.openapi.engine.diff.rules import ApiChange, Direction, Level
from commonplace.openapi.engine.diff.schemas import Collector, SchemaDiff
from commonplace.openapi.engine.diff.unchanged import Sameness
from commonplace.openapi.engine.diff.values import canonical
from commonplace.openapi.engine.document.resolver import ReferenceResolver
from commonplace.openapi.engine.json_values import same_json
from commonplace.openapi.engine.pointers import escape_token
from commonplace.openapi.model import ApiDocument


def diff(
    old: ApiDocument,
    new: ApiDocument,
    old_resolver: ReferenceResolver,
    new_resolver: ReferenceResolver,
    *,
    literal: bool = False,
) -> list[ApiChange]:
    """Every change, the most severe first.

    `literal` also counts differences of format between versions, as contract 002 describes.
    """
    if old.family is new.family and same_json(old.data, new.data):
        return []
    with collector_off():
        return _Diff(ApiView(old, old_resolver), ApiView(new, new_resolver)).run(literal)


class _Diff:
    def __init__(self, old: ApiView, new: ApiView) -> None:
        self.old, self.new = old, new
        self.out = Collector()
        self.same = Sameness(old, new)
        self.schemas = SchemaDiff(old.views, new.views, self.out, self.same)
        self.renamed = _renamed(old.schemes, new.schemes)

    def run(self, literal: bool) -> list[ApiChange]:
        self.document(literal)
        self.operations(self.old.operations, self.new.operations, "operation")
        self.operations(self.old.webhooks, self.new.webhooks, "webhook")
        self.schemas.drain()
        self.security_schemes()
        self.components()
        return sorted(
            self.out.changes(),
            key=lambda change: (change.level.rank, change.path, change.rule.id, change.message),
        )

    # document

    def document(self, literal: bool) -> None:
        old, new = self.old.document, self.new.document
        if old.version != new.version:
            self.out.add(
                "version-changed", "/openapi", f"OpenAPI {old.version} became {new.version}."
            )
        if literal and old.family is not new.family:
            for key in old.data.keys() - new.data.keys():
                self.out.add(
                    "structure-removed",
                    f"/{escape_token(key)}",
                    f"{key!r} is not in the new document.",
                )
            for key in new.data.keys() - old.data.keys():
                self.out.add(
                    "structure-added", f"/{escape_token(key)}", f"{key!r} is new in the document."
                )
        before, after = old.data.get("info"), new.data.get("info")
        for name in ("title", "version", "description", "summary", "termsOfService"):
            first = before.get(name) if isinstance(before, dict) else None
            second = after.get(name) if isinstance(after, dict) else None
            if first != second:
                self.out.add("info-changed", f"/info/{name}", f"info.{name} changed.")
        self.servers(self.old.servers, self.new.servers, "/servers")
        self.named("tag", _tags(old.data.get("tags")), _tags(new.data.get("tags")), "/tags")

    def servers(self, old: list[JsonObject], new: list[JsonObject], path: str) -> None:
        before = {_address(server): server for server in old}
        after = {_address(server): server for server in new}
        if "/" in (*before, *after) and not (before and after):
            return  # it is what holds where no server is named
        self.named("server", before, after, path)
        for url in before.keys() & after.keys():
            if _variables(before[url]) != _variables(after[url]):
                self.out.add("server-variable-changed", path, f"The variables of {url!r} changed.")

    def own_servers(self, old: OperationView, new: OperationView) -> None:
        """Servers of an operation or its path item; without them those of the document hold, or
        `/`.
        """
        if old.servers is not None or new.servers is not None:
            before, after = (
                operation.servers or api.servers or [{"url": "/"}]
                for operation, api in ((old, self.old), (new, self.new))
            )
            self.servers(before, after, f"{new.pointer}/servers")

    def named(self, what: str, before: Iterable[str], after: Iterable[str], path: str) -> None:
        first, second = dict.fromkeys(before), dict.fromkeys(after)
        for name in first:
            if name not in second:
                self.out.add(
                    f"{what}-removed", path, f"The {what.replace('-', ' ')} {name!r} was removed."
                )
        for name in second:
            if name not in first:
                self.out.add(
                    f"{what}-added", path, f"The {what.replace('-', ' ')} {name!r} was added."
                )

    # operations

    def operations(
        self,
        before: dict[str, RawOperation],
        after: dict[str, RawOperation],
        what: str,
        reverse: bool = False,
    ) -> None:
        reverse = reverse or what == "webhook"
        for key, operation in before.items():
            if key not in after:
                rule = f"{what}-removed"
                if what == "operation" and operation.operation.get("deprecated") is True:
                    rule = "deprecated-operation-removed"
                self.out.add(rule, operation.pointer, f"{operation.label} was removed.")
        for key, operation in after.items():
            self.out.operation = operation.label
            if key not in before:
                self.out.operation = ""
                self.out.add(f"{what}-added", operation.pointer, f"{operation.label} was added.")
            elif not self.same.operation(before[key], operation):
                self.operation(
                    self.old.operation(before[key]), self.new.operation(operation), reverse
                )
        self.out.operation = ""

    def operation(self, old: OperationView, new: OperationView, reverse: bool) -> None:
        sent = Direction.RESPONSE if reverse else Direction.REQUEST
        self.described(old, new)
        self.parameters(old, new, sent)
        self.body(old, new, sent)
        self.responses(old, new, sent.reversed)
        self.security(old, new)
        self.own_servers(old, new)
        for name in old.callbacks.keys() | new.callbacks.keys():
            if name not in new.callbacks:
                self.out.add("callback-removed", old.pointer, f"The callback {name!r} was removed.")
            elif name not in old.callbacks:
                self.out.add("callback-added", new.pointer, f"The callback {name!r} was added.")
            else:
                self.operations(old.callbacks[name], new.callbacks[name], "callback", not reverse)
                self.out.operation = new.label

    def described(self, old: OperationView, new: OperationView) -> None:
        if old.value.get("operationId") != new.value.get("operationId"):
            message = (
                f"The operationId changed from {old.value.get('operationId')!r} to "
                f"{new.value.get('operationId')!r}."
            )
            self.out.add("operation-id-changed", f"{new.pointer}/operationId", message)
        was, now = old.value.get("deprecated") is True, new.value.get("deprecated") is True
        if was != now:
            rule = "operation-deprecated" if now else "operation-undeprecated"
            self.out.add(
                rule,
                new.pointer,
                f"{new.label} {'became deprecated' if now else 'is no longer deprecated'}.",
            )
        for name in ("summary", "description"):
            if old.value.get(name) != new.value.get(name):
                self.out.add("description-changed", f"{new.pointer}/{name}", f"The {name} changed.")
        if _labels(old.value.get("tags")) != _labels(new.value.get("tags")):
            self.out.add("operation-tags-changed", f"{new.pointer}/tags", "The tags changed.")

    # parameters

    def parameters(self, old: OperationView, new: OperationView, direction: Direction) -> None:
        for key, parameter in old.parameters.items():
            if key not in new.parameters:
                self.out.add(
                    "parameter-removed",
                    parameter.pointer,
                    f"{_named(parameter)} was removed.",
                    direction,
                )
        for key, parameter in new.parameters.items():
            before = old.parameters.get(key)
            if before is None:
                rule = (
                    "required-parameter-added" if parameter.required else "optional-parameter-added"
                )
                self.out.add(rule, parameter.pointer, f"{_named(parameter)} was added.", direction)
            else:
                self.parameter(before, parameter, direction)

    def parameter(self, old: ParameterView, new: ParameterView, direction: Direction) -> None:
        if new.required != old.required:
            rule = "parameter-became-required" if new.required else "parameter-became-optional"
            self.out.add(
                rule,
                new.pointer,
                f"{_named(new)} is {'required' if new.required else 'optional'} now.",
                direction,
            )
        if new.location == "path" and old.name != new.name:
            self.out.add(
                "path-parameter-renamed",
                new.pointer,
                f"The path parameter {old.name!r} is called {new.name!r} now.",
            )
        if old.media != new.media:
            self.out.add(
                "parameter-style-changed",
                new.pointer,
                f"{_named(new)} is written {_written(new.media)} now.",
                direction,
            )
        elif (old.style, old.explode) != (new.style, new.explode):
            before, after = self.old.views.view(old.schema), self.new.views.view(new.schema)
            if any(
                view.types is None or view.types & {"array", "object"} for view in (before, after)
            ):
                message = (
                    f"{_named(new)} is written as {new.style}, explode "
                    f"{str(new.explode).lower()} now."
                )
                self.out.add("parameter-style-changed", new.pointer, message, direction)
        if new.deprecated and not old.deprecated:
            self.out.add(
                "parameter-deprecated", new.pointer, f"{_named(new)} became deprecated.", direction
            )
        if old.description != new.description:
            self.out.add(
                "description-changed", new.pointer, f"The description of {_named(new)} changed."
            )
        self.schemas.compare(old.schema, new.schema, direction)

    # bodies and responses

    def body(self, old: OperationView, new: OperationView, direction: Direction) -> None:
        if old.body is None and new.body is None:
            return
        if old.body is None:
            if new.body is not None:
                rule = "required-body-added" if new.body_required else "optional-body-added"
                self.out.add(rule, new.body.pointer, "A request body was added.", direction)
            return
        if new.body is None:
            self.out.add(
                "body-removed", old.body.pointer, "The request body was removed.", direction
            )
            return
        if old.body_required != new.body_required:
            rule = "body-became-required" if new.body_required else "body-became-optional"
            self.out.add(
                rule,
                new.body.pointer,
                f"The request body is {'required' if new.body_required else 'optional'} now.",
                direction,
            )
        self.content(old.body, new.body, direction)

    def content(self, old: ContentView, new: ContentView, direction: Direction) -> None:
        before = {_media(name): name for name in old.media}
        after = {_media(name): name for name in new.media}
        for key, name in before.items():
            if key not in after and not _covered(key, after):
                self.out.add(
                    "media-type-removed",
                    f"{old.pointer}/content/{escape_token(name)}",
                    f"{name} was removed.",
                    direction,
                )
        for key, name in after.items():
            if key not in before:
                if not _covered(key, before):
                    self.out.add(
                        "media-type-added",
                        f"{new.pointer}/content/{escape_token(name)}",
                        f"{name} was added.",
                        direction,
                    )
                continue
            self.schemas.compare(old.media[before[key]], new.media[name], direction)
            self.items(old.items.get(before[key]), new.items.get(name), direction)
            first, second = old.encodings.get(before[key]), new.encodings.get(name)
            if (
                canonical(first or {}) != canonical(second or {})
                and old.encodings
                and new.encodings
            ):
                self.out.add(
                    "encoding-changed",
                    f"{new.pointer}/content/{escape_token(name)}/encoding",
                    f"The encoding of {name} changed.",
                    direction,
                )

    def items(self, old: SchemaSite | None, new: SchemaSite | None, direction: Direction) -> None:
        """What each item of a stream is; without itemSchema anything."""
        if old is not None or new is not None:
            anything = SchemaSite({}, (new or old or SchemaSite({}, "")).pointer)
            self.schemas.compare(old or anything, new or anything, direction)

    def responses(self, old: OperationView, new: OperationView, direction: Direction) -> None:
        """What 2XX describes is compared with 200, where one document has the one and the other
        the other.
        """
        for status, response in old.responses.items():
            counterparts = [status] if status in new.responses else []
            if status.endswith("XX") or not counterparts:
                counterparts += _counterparts(status, new.responses, old.responses)
            for counterpart in counterparts:
                self.response(response, new.responses[counterpart], direction)
            if not counterparts:
                what = "success" if _success(status) else "error"
                self.out.add(
                    f"{what}-response-removed",
                    response.pointer,
                    f"The response {status} was removed.",
                    direction,
                )
        for status, response in new.responses.items():
            if status not in old.responses:
                what = "success" if _success(status) else "error"
                self.out.add(
                    f"{what}-response-added",
                    response.pointer,
                    f"The response {status} was added.",
                    direction,
                )

    def response(self, old: ResponseView, new: ResponseView, direction: Direction) -> None:
        if old.description != new.description:
            self.out.add(
                "description-changed", f"{new.pointer}/description", "The description changed."
            )
        self.content(old.content, new.content, direction)
        for name, header in old.headers.items():
            if name not in new.headers:
                rule = "required-header-removed" if header.required else "optional-header-removed"
                self.out.add(rule, header.pointer, f"The header {name!r} was removed.", direction)
        for name, header in new.headers.items():
            before = old.headers.get(name)
            if before is None:
                self.out.add(
                    "header-added", header.pointer, f"The header {name!r} was added.", direction
                )
                continue
            if before.required != header.required:
                rule = "header-became-required" if header.required else "header-became-optional"
                self.out.add(
                    rule,
                    header.pointer,
                    f"The header {name!r} is {'always' if header.required else 'not always'} "
                    f"sent now.",
                    direction,
                )
            if before.media != header.media:
                told = f"The header {name!r} is written {_written(header.media)} now."
                self.out.add("parameter-style-changed", header.pointer, told, direction)
            self.schemas.compare(before.schema, header.schema, direction)
        self.named("link", old.links, new.links, f"{new.pointer}/links")

    # security

    def security(self, old: OperationView, new: OperationView) -> None:
        """Each set of credentials that was enough must still be enough."""
        needed = [
            {self.renamed.get(name, name): scopes for name, scopes in one.items()}
            for one in new.security
        ]
        if all(one in needed for one in old.security) and all(
            one in old.security for one in needed
        ):
            return  # the order of alternatives says nothing
        lost = [
            before
            for before in old.security
            if not any(_satisfies(before, after) for after in needed)
        ]
        pairs = zip(new.security, needed, strict=True)
        gained = [
            told
            for told, after in pairs
            if not any(_satisfies(after, before) for before in old.security)
        ]
        path = f"{new.pointer}/security"
        for requirement in lost:
            self.out.add(
                "security-tightened",
                path,
                f"{_requirement(requirement)} is no longer enough for {new.label}.",
            )
        for requirement in gained if not lost else ():
            self.out.add(
                "security-loosened",
                path,
                f"{_requirement(requirement)} is enough for {new.label} now.",
            )
        if not lost and not gained:
            self.out.add("security-loosened", path, f"{new.label} needs fewer credentials now.")

    def security_schemes(self) -> None:
        base = self.new.document.component_pointer("securitySchemes")[1:]
        gone = [name for name in self.old.schemes if name not in self.renamed.values()]
        come = [name for name in self.new.schemes if name not in self.renamed]
        self.named("security-scheme", gone, come, base)
        for name, before in self.renamed.items():
            self.out.add(
                "security-scheme-renamed",
                f"{base}/{escape_token(name)}",
                f"The security scheme {before!r} is called {name!r} now.",
            )
        for name in self.old.schemes.keys() & self.new.schemes.keys():
            before, after = self.old.schemes[name], self.new.schemes[name]
            if isinstance(before, dict) and isinstance(after, dict):
                self.scheme(name, _scheme(before), _scheme(after), f"{base}/{escape_token(name)}")

    def scheme(self, name: str, old: dict[str, Json], new: dict[str, Json], path: str) -> None:
        for key in ("type", "in", "name", "scheme", "openIdConnectUrl"):
            if old.get(key) != new.get(key):
                self.out.add(
                    "security-scheme-changed",
                    f"{path}/{key}",
                    f"{key} of {name!r} changed from {old.get(key)!r} to {new.get(key)!r}.",
                )
        flows_old, flows_new = old.get("flows") or {}, new.get("flows") or {}
        for flow in flows_old.keys() | flows_new.keys():
            before, after = flows_old.get(flow), flows_new.get(flow)
            if before is None or after is None:
                self.out.add(
                    "oauth-flow-changed",
                    path,
                    f"The flow {flow!r} of {name!r} was "
                    f"{'added' if before is None else 'removed'}.",
                )
                continue
            if any(
                before.get(key) != after.get(key)
                for key in ("authorizationUrl", "tokenUrl", "refreshUrl")
            ):
                self.out.add(
                    "oauth-flow-changed",
                    path,
                    f"An address of the flow {flow!r} of {name!r} changed.",
                )
            self.named(
                "oauth-scope",
                before.get("scopes") or {},
                after.get("scopes") or {},
                f"{path}/flows/{flow}/scopes",
            )

    # components that no operation uses

    def components(self) -> None:
        """Named schemas beside the operations: no client notices them, so they only inform."""
        reached = self.schemas.reached
        old_base, new_base = (
            self.old.document.component_pointer("schemas")[1:],
            self.new.document.component_pointer("schemas")[1:],
        )
        before, after = self.old.document.schemas, self.new.document.schemas
        for name in before:
            pointer = f"{old_base}/{escape_token(name)}"
            if name not in after:
                self.out.add("component-removed", pointer, f"The schema {name!r} was removed.")
            elif pointer not in reached and f"{new_base}/{escape_token(name)}" not in reached:
                here = f"{new_base}/{escape_token(name)}"
                self.schemas.compare(
                    SchemaSite(before[name], pointer), SchemaSite(after[name], here), Direction.NONE
                )
        for name in after:
            if name not in before:
                self.out.add(
                    "component-added",
                    f"{new_base}/{escape_token(name)}",
                    f"The schema {name!r} was added.",
                )
        self.schemas.drain()


def _named(parameter: ParameterView) -> str:
    return f"The {parameter.location} parameter {parameter.name!r}"


def _address(server: JsonObject) -> str:
    """Paths begin with a slash, so that one at the end of a server says nothing."""
    url = str(server.get("url"))
    return url.rstrip("/") or url


def _variables(server: JsonObject) -> dict[str, Json]:
    """What each variable may be and is, without what is only said about it."""
    found = server.get("variables")
    known = (
        {name: one for name, one in found.items() if isinstance(one, dict)}
        if isinstance(found, dict)
        else {}
    )
    values = {
        name: one["enum"] if isinstance(one.get("enum"), list) else []
        for name, one in known.items()
    }
    return {
        name: (canonical(one.get("default")), sorted(map(canonical, values[name])))
        for name, one in known.items()
    }


def _written(media: str) -> str:
    return f"as {media}" if media else "by its style, as no media type,"


def _success(status: str) -> bool:
    return status[:1] in ("1", "2", "3")


def _counterparts(status: str, others: Iterable[str], beside: Iterable[str]) -> list[str]:
    """The range that holds a status code, or the codes that a range holds and no other response
    beside it describes.
    """
    if status.endswith("XX"):
        return [code for code in others if code[:1] == status[:1] and code not in beside]
    return [code for code in others if code == f"{status[:1]}XX"]


def _media(name: str) -> str:
    kind, _, rest = name.partition(";")
    parameters = sorted(
        part.strip().lower()
        for part in rest.split(";")
        if part.strip() and "charset" not in part.lower()
    )
    return ";".join([kind.strip().lower(), *parameters])


def _covered(media: str, others: dict[str, str]) -> bool:
    return "*/*" in others or f"{media.split('/', 1)[0]}/*" in others


def _satisfies(held: dict[str, frozenset[str]], wanted: dict[str, frozenset[str]]) -> bool:
    return all(name in held and scopes <= held[name] for name, scopes in wanted.items())


def _requirement(requirement: dict[str, frozenset[str]]) -> str:
    if not requirement:
        return "No credential"
    return " with ".join(
        name + (f" ({', '.join(sorted(scopes))})" if scopes else "")
        for name, scopes in sorted(requirement.items())
    )


def _tags(tags: Json) -> list[str]:
    return (
        [tag["name"] for tag in tags if isinstance(tag, dict) and isinstance(tag.get("name"), str)]
        if isinstance(tags, list)
        else []
    )


def _labels(tags: Json) -> set[str]:
    return {tag for tag in tags if isinstance(tag, str)} if isinstance(tags, list) else set()


_V2_FLOWS = {
    "accessCode": "authorizationCode",
    "application": "clientCredentials",
    "implicit": "implicit",
    "password": "password",
}


def _scheme(value: dict[str, Json]) -> dict[str, Json]:
    """A security scheme as 3.x writes it, with only dictionaries where flows and scopes should
    be.
    """
    if value.get("type") == "basic":
        return {"type": "http", "scheme": "basic"}
    found = dict(value)
    if isinstance(found.get("scheme"), str):
        found["scheme"] = found["scheme"].lower()
    if isinstance(found.get("flow"), str):
        flow = {key: found.get(key) for key in ("authorizationUrl", "tokenUrl", "scopes")}
        found["flows"] = {_V2_FLOWS.get(found["flow"], found["flow"]): flow}
    flows = found.get("flows")
    found["flows"] = (
        {name: _flow(flow) for name, flow in flows.items() if isinstance(flow, dict)}
        if isinstance(flows, dict)
        else {}
    )
    return found


def _renamed(old: dict[str, Json], new: dict[str, Json]) -> dict[str, str]:
    """Schemes that are sent as before under another name: new name -> old name.

    No client sees the names.
    """
    waiting = {
        canonical(_sent(value)): name
        for name, value in old.items()
        if name not in new and isinstance(value, dict)
    }
    found = {}
    for name, value in new.items():
        if name not in old and isinstance(value, dict):
            before = waiting.pop(canonical(_sent(value)), None)
            if before is not None:
                found[name] = before
    return found


def _sent(value: dict[str, Json]) -> dict[str, Json]:
    """What a client must know of a scheme."""
    scheme = _scheme(value)
    return {
        key: scheme[key]
        for key in ("type", "in", "name", "scheme", "openIdConnectUrl", "flows")
        if key in scheme
    }


def _flow(flow: dict[str, Json]) -> dict[str, Json]:
    scopes = flow.get("scopes")
    return {
        **flow,
        "scopes": {k: v for k, v in scopes.items() if not k.startswith("x-")}
        if isinstance(scopes, dict)
        else {},
    }


def summarize_changes(changes: list[ApiChange]) -> str:
    """One sentence for people."""
    if not changes:
        return "No changes detected."
    breaking = sum(1 for change in changes if change.level in BREAKING)
    count = f"{len(changes)} change{'s' if len(changes) != 1 else ''} found"
    if not breaking:
        return f"{count}, none of them breaking."
    return (
        f"Breaking changes detected. {count} ({breaking} breaking "
        f"change{'s' if breaking != 1 else ''})."
    )


BREAKING = frozenset({Level.CRITICAL, Level.ERROR})

"""Operations of a document: parameters, bodies and responses with their types, and security."""

from __future__ import annotations

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.generate.merge import Merger
from commonplace.openapi.engine.generate.model import (
    Api,
    BodyKind,
    ContentBody,
    Encoding,
    Notice,
    Operation,
    Parameter,
    Primitive,
    Response,
    Scalar,
    SecurityScheme,
    TypeUse,
)
from commonplace.openapi.engine.generate.names import words
from commonplace.openapi.engine.generate.path_keys import PathKey, read_path_key
from commonplace.openapi.engine.generate.types import TypeReader
from commonplace.openapi.engine.pointers import escape_token
from commonplace.openapi.engine.require import require_object
from commonplace.openapi.model import METHODS

_STYLES = {
    "path": "simple",
    "header": "simple",
    "query": "form",
    "cookie": "form",
    "querystring": "form",
}
_SKIPPED_HEADERS = frozenset(("accept", "content-type", "authorization"))
_BYTES = TypeUse(Primitive(Scalar.BYTES))
_TEXT = TypeUse(Primitive(Scalar.STRING))


class ApiReader:
    """Reads a document in 3.1 or 3.2 form."""

    def __init__(self, document: JsonObject, *, operations: bool = True) -> None:
        self.document = document
        self.types = TypeReader(document)
        self.merger: Merger = self.types.merger
        self.with_operations = operations

    def read(self) -> Api:
        """Return the model of the document."""
        self.types.read_components()
        operations = self._operations() if self.with_operations else []
        info = self.document.get("info")
        info = info if isinstance(info, dict) else {}
        return Api(
            title=str(info.get("title") or "API"),
            version=str(info.get("version") or ""),
            description=str(info.get("description") or ""),
            server=_server_url(self.document.get("servers")),
            declarations=self.types.declarations,
            operations=operations,
            schemes=self._schemes(),
            warnings=self.types.warnings,
            document=self.document,
        )

    def _operations(self) -> list[Operation]:
        found: list[Operation] = []
        paths = self.document.get("paths")
        for path, item in paths.items() if isinstance(paths, dict) else ():
            if path.startswith("x-"):
                continue
            item = self._resolve(item)
            pointer = f"/paths/{escape_token(path)}"
            for method in METHODS:
                if isinstance(item.get(method), dict):
                    found.append(
                        self._operation(
                            path, method.upper(), item, item[method], f"{pointer}/{method}"
                        )
                    )
            extra = item.get("additionalOperations")
            for method, operation in extra.items() if isinstance(extra, dict) else ():
                if isinstance(operation, dict):
                    where = f"{pointer}/additionalOperations/{escape_token(method)}"
                    found.append(self._operation(path, method, item, operation, where))
        self._report_same_requests(found)
        return found

    def _report_same_requests(self, operations: list[Operation]) -> None:
        """Warn about operations that differ by a fragment only, which is never sent."""
        first: dict[tuple[str, str, str], Operation] = {}
        for operation in operations:
            other = first.setdefault(
                (operation.method, operation.path, operation.fixed_query), operation
            )
            if other is not operation:
                message = (
                    f"Requests look like those of {other.hint!r}; a generated server "
                    f"answers all of them with that operation."
                )
                self.types.warnings.append(Notice(operation.pointer, message, critical=True))

    def _resolve(self, node: Json) -> JsonObject:
        for _ in range(20):
            if not isinstance(node, dict):
                return {}
            reference = node.get("$ref")
            if not isinstance(reference, str):
                return node
            target = self.merger.resolve(reference)
            if not isinstance(target, dict):
                self.types.warnings.append(
                    Notice(
                        reference, "The reference does not resolve and is left out.", critical=True
                    )
                )
                return {}
            node = {
                **target,
                **{
                    key: value
                    for key, value in node.items()
                    if key != "$ref" and key not in ("summary", "description")
                },
            }
            if "$ref" in node and target.get("$ref") == reference:
                return {}
        return {}

    def _operation(
        self, path: str, method: str, item: JsonObject, operation: JsonObject, pointer: str
    ) -> Operation:
        identifier = operation.get("operationId")
        hint = (
            identifier
            if isinstance(identifier, str) and words(identifier)
            else f"{method.lower()} {path}"
        )
        bodies, required = self._bodies(operation.get("requestBody"), hint)
        tags = operation.get("tags")
        texts = [operation.get("summary"), operation.get("description"), item.get("summary")]
        key = read_path_key(path)
        self._report_key(key, pointer)
        return Operation(
            hint=hint,
            method=method,
            path=key.path,
            pointer=pointer,
            tags=[tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else [],
            doc=next((text for text in texts if isinstance(text, str) and text.strip()), ""),
            deprecated=operation.get("deprecated") is True,
            parameters=self._parameters(key, item, operation, hint, pointer),
            bodies=bodies,
            body_required=required,
            responses=self._responses(operation.get("responses"), hint),
            security=self._security(operation.get("security", self.document.get("security"))),
            server=_server_url(operation.get("servers") or item.get("servers")),
            fixed_query="&".join(key.fixed),
        )

    def _report_key(self, key: PathKey, pointer: str) -> None:
        def warn(message: str, *, critical: bool = False) -> None:
            self.types.warnings.append(Notice(pointer, message, critical=critical))

        if key.has_query:
            warn(
                "The path has a query, which OpenAPI does not allow; it is sent with the query "
                "parameters. Declare it as parameters."
            )
        for pair in key.left_out:
            warn(
                f"{pair!r} of the path's query cannot be sent and is left out. Declare it as a "
                f"query parameter.",
                critical=True,
            )
        if key.fragment:
            warn(
                f"{'#' + key.fragment!r} of the path is a fragment, which no request carries; it "
                f"is left out."
            )

    def _parameters(
        self, key: PathKey, item: JsonObject, operation: JsonObject, hint: str, pointer: str
    ) -> list[Parameter]:
        found: dict[tuple[str, str], Parameter] = {}
        asked = {template: name for name, template in key.templates}
        for source in (item.get("parameters"), operation.get("parameters")):
            for entry in source if isinstance(source, list) else ():
                parameter = self._resolve(entry)
                name, place = parameter.get("name"), parameter.get("in")
                if not isinstance(name, str) or not isinstance(place, str) or place not in _STYLES:
                    continue
                if place == "header" and name.lower() in _SKIPPED_HEADERS:
                    continue
                if place == "path" and name in asked and "{" + name + "}" not in key.path:
                    place, name = "query", asked[name]
                    parameter = {**parameter, "style": "form"}
                if place == "path" and "{" + name + "}" not in key.path:
                    self.types.warnings.append(
                        Notice(
                            pointer, f"Path parameter {name!r} is not in the path and is left out."
                        )
                    )
                    continue
                found[(place, name)] = self._parameter(parameter, name, place, hint)
        for name in _template_names(key.path):
            if ("path", name) not in found:
                self.types.warnings.append(
                    Notice(pointer, f"Path parameter {name!r} is not declared; it is a string.")
                )
                schema = {"type": "string"}
                found[("path", name)] = Parameter(
                    name, "path", True, _TEXT, schema, "simple", False
                )
        for name, required in [(name, True) for name, _ in key.templates] + [
            (name, False) for name in key.expanded
        ]:
            if ("query", name) not in found:
                self.types.warnings.append(
                    Notice(
                        pointer,
                        f"Query parameter {name!r} of the path is not declared; it is a string.",
                    )
                )
                found[("query", name)] = Parameter(
                    name, "query", required, _TEXT, {"type": "string"}, "form", True
                )
        order = {"path": 0, "query": 1, "querystring": 1, "header": 2, "cookie": 3}
        return sorted(
            found.values(), key=lambda parameter: (order[parameter.place], not parameter.required)
        )

    def _parameter(self, parameter: JsonObject, name: str, place: str, hint: str) -> Parameter:
        schema = parameter.get("schema")
        as_json = False
        content = parameter.get("content")
        if schema is None and isinstance(content, dict) and content:
            media_type, media = next(iter(content.items()))
            schema = self._resolve(media).get("schema", True)
            as_json = _kind(media_type) == "json" or place != "querystring"
        style = parameter.get("style")
        style = style if isinstance(style, str) else _STYLES[place]
        explode = parameter.get("explode")
        doc = parameter.get("description")
        return Parameter(
            name=name,
            place=place,
            required=place == "path" or parameter.get("required") is True,
            use=self.types.use({"type": "string"} if schema is None else schema, (hint, name)),
            schema={"type": "string"} if schema is None else schema,
            style=style,
            explode=explode if isinstance(explode, bool) else style in ("form", "cookie"),
            as_json=as_json,
            reserved=parameter.get("allowReserved") is True,
            doc=doc if isinstance(doc, str) else "",
            deprecated=parameter.get("deprecated") is True,
        )

    def _bodies(self, body: Json, hint: str) -> tuple[list[ContentBody], bool]:
        resolved = self._resolve(body)
        return self._contents(resolved.get("content"), (hint, "Body")), resolved.get(
            "required"
        ) is True

    def _contents(self, content: Json, hint: tuple[str, ...]) -> list[ContentBody]:
        bodies: list[ContentBody] = []
        for media_type, media in content.items() if isinstance(content, dict) else ():
            media = self._resolve(media)
            kind = _kind(media_type)
            schema = media.get("schema", True)
            if kind in ("form", "multipart") and not self._is_object(schema):
                kind = "bytes"
            twin = next(
                (body for body in bodies if body.kind == kind and body.schema == schema), None
            )
            if twin is not None:
                twin.media_types.append(media_type)
                continue
            same_kind = sum(body.kind == kind for body in bodies)
            where = (
                hint if not bodies else (*hint, kind, *([str(same_kind + 1)] if same_kind else []))
            )
            if kind == "bytes":
                if any(body.kind == "bytes" for body in bodies):
                    next(body for body in bodies if body.kind == "bytes").media_types.append(
                        media_type
                    )
                    continue
                use = _BYTES
            elif kind == "text":
                use = _TEXT
            else:
                shared = next(
                    (
                        body
                        for body in bodies
                        if body.schema == schema and body.kind in ("json", "form", "multipart")
                    ),
                    None,
                )
                use = shared.use if shared is not None else self.types.use(schema, where)
            bodies.append(
                ContentBody(kind, [media_type], use, schema, _encodings(media.get("encoding")))
            )
        return bodies

    def _is_object(self, schema: Json) -> bool:
        merged = self.merger.merge(schema)
        return bool(
            merged.properties
            or merged.types == ["object"]
            or merged.additional is not None
            or merged.choices
        )

    def _responses(self, responses: Json, hint: str) -> list[Response]:
        found: list[Response] = []
        for status, response in responses.items() if isinstance(responses, dict) else ():
            status = str(status).upper() if str(status)[-2:].upper() == "XX" else str(status)
            if not (
                status == "default"
                or (
                    len(status) == 3
                    and status[0] in "12345"
                    and (status[1:].isdigit() or status[1:] == "XX")
                )
            ):
                continue
            response = self._resolve(response)
            doc = response.get("description")
            contents = self._contents(response.get("content"), (hint, "Response", status))
            found.append(Response(status, contents, doc if isinstance(doc, str) else ""))
        return sorted(found, key=lambda response: (response.status == "default", response.status))

    def _security(self, requirements: Json) -> list[list[tuple[str, list[str]]]]:
        found: list[list[tuple[str, list[str]]]] = []
        for requirement in requirements if isinstance(requirements, list) else ():
            if isinstance(requirement, dict):
                found.append(
                    [
                        (
                            str(name),
                            [str(scope) for scope in scopes] if isinstance(scopes, list) else [],
                        )
                        for name, scopes in requirement.items()
                    ]
                )
        return found

    def _schemes(self) -> list[SecurityScheme]:
        components = require_object(self.document.get("components"), "/components")
        schemes = components.get("securitySchemes")
        found: list[SecurityScheme] = []
        for name, scheme in schemes.items() if isinstance(schemes, dict) else ():
            scheme = self._resolve(scheme)
            kind = scheme.get("type")
            if isinstance(kind, str):
                texts = {
                    key: str(scheme.get(key) or "")
                    for key in ("in", "name", "scheme", "description")
                }
                found.append(
                    SecurityScheme(
                        name,
                        kind,
                        texts["in"],
                        texts["name"],
                        texts["scheme"],
                        texts["description"],
                    )
                )
        return found


def _kind(media_type: str) -> BodyKind:
    plain = media_type.split(";", 1)[0].strip().lower()
    if plain.endswith(("/json", "+json")):
        return (
            "json" if plain not in ("application/json-seq", "application/geo+json-seq") else "bytes"
        )
    if plain == "application/x-www-form-urlencoded":
        return "form"
    if plain == "multipart/form-data":
        return "multipart"
    if plain.startswith("text/") and plain not in ("text/event-stream", "text/*", "text/xml"):
        return "text"
    return "bytes"


def _encodings(encoding: Json) -> dict[str, Encoding]:
    found = {}
    for name, rule in encoding.items() if isinstance(encoding, dict) else ():
        if not isinstance(rule, dict):
            continue
        style = rule.get("style")
        style = style if isinstance(style, str) else ("form" if "explode" in rule else "")
        explode = rule.get("explode")
        kind = rule.get("contentType")
        explodes = explode if isinstance(explode, bool) else style == "form"
        found[name] = Encoding(style, explodes, kind if isinstance(kind, str) else "")
    return found


def _template_names(path: str) -> list[str]:
    names = []
    for part in path.split("{")[1:]:
        name, closed, _ = part.partition("}")
        if closed and name:
            names.append(name)
    return list(dict.fromkeys(names))


def _server_url(servers: Json) -> str:
    if not isinstance(servers, list) or not servers or not isinstance(servers[0], dict):
        return ""
    url = servers[0].get("url")
    if not isinstance(url, str):
        return ""
    variables = servers[0].get("variables")
    for name, variable in variables.items() if isinstance(variables, dict) else ():
        if isinstance(variable, dict):
            url = url.replace("{" + name + "}", str(variable.get("default", "")))
    return url

"""Requests, responses, client methods and server interface in Go."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.openapi.engine.generate.go.schemas import SchemaTable
from commonplace.openapi.engine.generate.go.text import columns, comment, make_exported_name, quoted
from commonplace.openapi.engine.generate.go.types import GoTypes
from commonplace.openapi.engine.generate.model import (
    Api,
    ContentBody,
    Operation,
    Parameter,
    Response,
)
from commonplace.openapi.engine.generate.names import NameScope

# go vet knows these methods and wants their standard signatures.
VET_METHODS = (
    "ReadByte",
    "ReadRune",
    "UnreadByte",
    "UnreadRune",
    "WriteByte",
    "GobDecode",
    "GobEncode",
    "MarshalJSON",
    "MarshalXML",
    "UnmarshalJSON",
    "UnmarshalXML",
)
_KIND_LABELS = {
    "json": "JSON",
    "form": "Form",
    "multipart": "Multipart",
    "text": "Text",
    "bytes": "Raw",
}


@dataclass(slots=True)
class Content:
    """A response content as a struct field."""

    field: str
    spelled: str
    response: Response
    body: ContentBody


@dataclass(slots=True)
class GoOperation:
    """An operation with all of its Go names."""

    operation: Operation
    method: str
    variable: str
    request: str
    response: str


class GoOperations:
    """Writes the operations of a package."""

    def __init__(
        self, api: Api, types: GoTypes, package: NameScope, schemas: SchemaTable, *, server: bool
    ) -> None:
        self.api = api
        self.types = types
        self.package = package
        self.schemas = schemas
        self.server = server
        self.named: list[GoOperation] = []
        self.imports: set[str] = set()

    def name(self) -> None:
        methods = NameScope(VET_METHODS)
        for operation in self.api.operations:
            plain = make_exported_name(operation.hint)
            method = (
                methods.claim(plain, plain + "Operation")
                if plain in VET_METHODS
                else methods.claim(plain)
            )
            self.named.append(
                GoOperation(
                    operation,
                    method,
                    self.package.claim(f"operation{method}"),
                    self.package.claim(f"{method}Request", f"{method}CallRequest"),
                    self.package.claim(f"{method}Response", f"{method}CallResponse"),
                )
            )

    def declare(self) -> list[str]:
        """Write the request and response types and the table entry of every operation."""
        lines: list[str] = []
        for go in self.named:
            lines += self._request(go)
            lines += self._response(go)
            lines += self._table(go)
        return lines

    def _request(self, go: GoOperation) -> list[str]:
        operation = go.operation
        scope = NameScope(("parameters", "bodies"))
        fields: list[tuple[str, str, list[str]]] = []  # name, type and comment
        parameters: list[str] = []
        for parameter in operation.parameters:
            wanted = make_exported_name(parameter.name)
            identifier = scope.claim(wanted, wanted + make_exported_name(parameter.place))
            parameters.append(identifier)
            doc = comment(parameter.doc, "\t", deprecated=parameter.deprecated, limit=300)
            fields.append((identifier, self._parameter_type(parameter), doc))
        bodies: list[str] = []
        for body in operation.bodies:
            identifier = scope.claim(self._body_field(operation, body))
            bodies.append(identifier)
            media_type = body.media_types[0]
            doc = [f"\t// {identifier} is sent as {media_type}."] if _plain(media_type) else []
            fields.append((identifier, self._body_type(operation, body), doc))
        lines = [f"// {go.request} is what {go.method} takes."]
        lines += _struct(go.request, fields)
        for method, names in (("parameters", parameters), ("bodies", bodies)):
            pointers = ", ".join("&r." + name for name in names)
            lines += [
                f"func (r *{go.request}) {method}() []any {{",
                f"\treturn {'[]any{' + pointers + '}' if names else 'nil'}",
                "}",
                "",
            ]
        return lines

    def _body_type(self, operation: Operation, body: ContentBody) -> str:
        if len(operation.bodies) == 1 and operation.body_required:
            return self.types.field_type(None, body.use, required=True)[0]
        return self.types.optional(body.use)

    def _parameter_type(self, parameter: Parameter) -> str:
        if parameter.required:
            return self.types.spell(parameter.use.type)
        return self.types.optional(parameter.use)

    def _body_field(self, operation: Operation, body: ContentBody) -> str:
        if len(operation.bodies) == 1:
            return "Body"
        return f"{_KIND_LABELS[body.kind]}Body"

    def _contents(self, go: GoOperation, scope: NameScope) -> list[Content]:
        found: list[Content] = []
        for response in go.operation.responses:
            suffix = "Default" if response.status == "default" else response.status
            for body in response.contents:
                if body.kind == "json":
                    found.append(
                        Content(
                            scope.claim(f"JSON{suffix}"),
                            self.types.optional(body.use),
                            response,
                            body,
                        )
                    )
                elif body.kind == "text":
                    found.append(Content(scope.claim(f"Text{suffix}"), "*string", response, body))
        return found

    def _response(self, go: GoOperation) -> list[str]:
        scope = NameScope(("ResponseInfo", "StatusCode", "Header", "Body", "info", "fields"))
        contents = self._contents(go, scope)
        lines = [
            f"// {go.response} is what {go.method} returns.",
            f"type {go.response} struct {{",
            "\tResponseInfo",
        ]
        for content in contents:
            text = f"{content.field} is the content of status {content.response.status}"
            doc = comment(content.response.doc, "\t", name=text, limit=200) or [f"\t// {text}."]
            lines += ["", *doc, f"\t{content.field} {content.spelled}"]
        lines += [
            "}",
            "",
            f"func (r *{go.response}) fields() []responseField {{",
            "\treturn []responseField{",
        ]
        typed = {id(content.body): content.field for content in contents}
        for response in go.operation.responses:
            for body in response.contents:
                kinds = ", ".join(quoted(name) for name in body.media_types)
                value = f"&r.{typed[id(body)]}" if id(body) in typed else "nil"
                kind = body.kind if id(body) in typed else "bytes"
                lines.append(
                    f"\t\t{{{quoted(response.status)}, {quoted(kind)}, []string{{{kinds}}}, "
                    f"{value}}},"
                )
            if not response.contents:
                lines.append(f"\t\t{{{quoted(response.status)}, {quoted('none')}, nil, nil}},")
        if lines[-1] == "\treturn []responseField{":
            lines[-1:] = ["\treturn nil", "}", ""]
        else:
            lines += ["\t}", "}", ""]
        return lines

    def _table(self, go: GoOperation) -> list[str]:
        operation = go.operation
        cells = [
            f"id: {quoted(operation.hint)}",
            f"method: {quoted(operation.method)}",
            f"path: {quoted(operation.path)}",
        ]
        if operation.server:
            cells.append(f"server: {quoted(operation.server.rstrip('/'))}")
        if operation.fixed_query:
            cells.append(f"query: {quoted(operation.fixed_query)}")
        if operation.parameters:
            parameters = [self._parameter(go, parameter) for parameter in operation.parameters]
            cells.append(f"parameters: []parameter{{{', '.join(parameters)}}}")
        if operation.bodies:
            bodies = [self._body(go, index, body) for index, body in enumerate(operation.bodies)]
            cells.append(f"bodies: []body{{{', '.join(bodies)}}}")
        if operation.body_required:
            cells.append("needsBody: true")
        if operation.security:
            requirements = [_requirement(requirement) for requirement in operation.security]
            cells.append(f"security: [][]schemeUse{{{', '.join(requirements)}}}")
        cells.append(f"success: {_success(operation)}")
        return [f"var {go.variable} = &operation{{{', '.join(cells)}}}", ""]

    def _parameter(self, go: GoOperation, parameter: Parameter) -> str:
        cells = [
            f"name: {quoted(parameter.name)}",
            f"in: {quoted(parameter.place)}",
            f"style: {quoted(parameter.style)}",
        ]
        for label, flag in (
            ("explode", parameter.explode),
            ("required", parameter.required),
            ("json", parameter.as_json),
            ("reserved", parameter.reserved),
        ):
            if flag:
                cells.append(f"{label}: true")
        if self.server:
            key = self.schemas.add(
                f"{go.method}.{parameter.place}.{parameter.name}", parameter.schema
            )
            if key:
                cells.append(f"schema: {quoted(key)}")
        return "{" + ", ".join(cells) + "}"

    def _body(self, go: GoOperation, index: int, body: ContentBody) -> str:
        kinds = ", ".join(quoted(name) for name in body.media_types)
        cells = [f"kind: {quoted(body.kind)}", f"types: []string{{{kinds}}}"]
        if body.kind in ("form", "multipart") or (self.server and body.kind != "bytes"):
            key = self.schemas.add(f"{go.method}.body.{index}", body.schema)
            if key:
                cells.append(f"schema: {quoted(key)}")
        if body.encoding and body.kind in ("form", "multipart"):
            rules = []
            for name, rule in body.encoding.items():
                explode = "true" if rule.explode else "false"
                rules.append(
                    f"{quoted(name)}: {{style: {quoted(rule.style)}, explode: {explode}, "
                    f"contentType: {quoted(rule.content_type)}}}"
                )
            cells.append(f"encoding: map[string]encoding{{{', '.join(rules)}}}")
        return "{" + ", ".join(cells) + "}"

    def client_methods(self) -> list[str]:
        """Write the methods of the client."""
        lines: list[str] = []
        for go in self.named:
            lines += self._doc(go, "")
            lines += [
                (
                    f"func (c *Client) {go.method}(ctx context.Context, request {go.request}) "
                    f"(*{go.response}, error) {{"
                ),
                f"\tresponse := &{go.response}{{}}",
                f"\terr := c.call(ctx, {go.variable}, &request, response)",
                "\treturn response, err",
                "}",
                "",
            ]
        return lines

    def write_server(self) -> list[str]:
        """Write the server interface, a stub that implements it, and the handler."""
        return [*self._server_interface(), *self._server_stub(), *self._handler()]

    def _server_interface(self) -> list[str]:
        lines = ["// Server is what an implementation of the API provides."]
        if not self.named:
            return [*lines, "type Server interface{}", ""]
        lines.append("type Server interface {")
        for index, operation in enumerate(self.named):
            if index:
                lines.append("")
            lines += self._doc(operation, "\t")
            lines.append(
                f"\t{operation.method}(ctx context.Context, request {operation.request}) "
                f"(*{operation.response}, error)"
            )
        return [*lines, "}", ""]

    def _server_stub(self) -> list[str]:
        lines = [
            (
                "// UnimplementedServer answers every operation with status 501. "
                "Embed it to implement only some of them."
            ),
            "type UnimplementedServer struct{}",
            "",
        ]
        for operation in self.named:
            lines += [
                f"// {operation.method} is not implemented.",
                (
                    f"func (UnimplementedServer) {operation.method}"
                    f"(context.Context, {operation.request}) (*{operation.response}, error) {{"
                ),
                "\treturn nil, ErrNotImplemented",
                "}",
                "",
            ]
        return lines

    def _handler(self) -> list[str]:
        lines = [
            (
                "// NewHandler serves an implementation over HTTP: it routes, checks and decodes "
                "requests and encodes responses."
            ),
            "func NewHandler(server Server, options ...HandlerOption) http.Handler {",
        ]
        if not self.named:
            return [*lines, "\treturn newHandler(nil, options)", "}", ""]
        lines.append("\treturn newHandler([]route{")
        for operation in self.named:
            lines += [
                (
                    f"\t\t{{{operation.variable}, func(ctx context.Context, "
                    "read func(requestValue) error) (responseValue, error) {"
                ),
                f"\t\t\tvar request {operation.request}",
                "\t\t\tif err := read(&request); err != nil {",
                "\t\t\t\treturn nil, err",
                "\t\t\t}",
                f"\t\t\treturn server.{operation.method}(ctx, request)",
                "\t\t}},",
            ]
        return [*lines, "\t}, options)", "}", ""]

    def _doc(self, go: GoOperation, indent: str) -> list[str]:
        operation = go.operation
        doc = comment(operation.doc, indent, name=go.method, deprecated=operation.deprecated)
        return doc or [f"{indent}// {go.method} calls {operation.method} on the API."]


def _struct(name: str, fields: list[tuple[str, str, list[str]]]) -> list[str]:
    """Write a struct; fields without a comment are aligned in columns."""
    if not fields:
        return [f"type {name} struct{{}}", ""]
    lines = [f"type {name} struct {{"]
    rows: list[tuple[str, str]] = []
    for identifier, spelled, doc in fields:
        if doc:
            lines += columns(rows)
            rows = []
            if len(lines) > 1:
                lines.append("")
            lines += doc
        rows.append((identifier, spelled))
    return [*lines, *columns(rows), "}", ""]


def security_options(api: Api, package: NameScope) -> list[str]:
    """Write one client option per security scheme."""
    entries = []
    lines: list[str] = []
    for scheme in api.schemes:
        cells = [f"kind: {quoted(scheme.kind)}"]
        for label, value in (
            ("in", scheme.place),
            ("name", scheme.parameter),
            ("scheme", scheme.scheme),
        ):
            if value:
                cells.append(f"{label}: {quoted(value)}")
        entries.append(f"{quoted(scheme.name)}: {{{', '.join(cells)}}}")
        basic = scheme.kind == "http" and scheme.scheme.lower() == "basic"
        if scheme.kind == "mutualTLS":
            continue
        name = package.claim(
            f"With{make_exported_name(scheme.name)}",
            f"With{make_exported_name(scheme.name)}Credential",
        )
        arguments = "username, password string" if basic else "token string"
        credential = "Username: username, Password: password" if basic else "Token: token"
        lines += [
            f"// {name} sets the credential of one of the API's security schemes.",
            f"func {name}({arguments}) ClientOption {{",
            f"\treturn WithCredential({quoted(scheme.name)}, Credential{{{credential}}})",
            "}",
            "",
        ]
    table = f"var securitySchemes = map[string]securityScheme{{{', '.join(entries)}}}"
    return [table, "", *lines]


def _requirement(requirement: list[tuple[str, list[str]]]) -> str:
    uses = []
    for scheme, scopes in requirement:
        listed = f"[]string{{{', '.join(quoted(scope) for scope in scopes)}}}" if scopes else "nil"
        uses.append(f"{{{quoted(scheme)}, {listed}}}")
    return "{" + ", ".join(uses) + "}"


def _success(operation: Operation) -> int:
    codes = [response.status for response in operation.responses]
    for code in codes:
        if code[0] in "123" and code.isdigit():
            return int(code)
    ranges = [code for code in codes if code[0] == "2"]
    return 200 if ranges or codes else 204


def _plain(text: str) -> bool:
    return all(32 < ord(char) < 127 for char in text)

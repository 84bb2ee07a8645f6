"""The module of the httpx client."""

from __future__ import annotations

import re

from commonplace.openapi.engine.generate.model import (
    Alias,
    Api,
    ContentBody,
    ListOf,
    NamedType,
    Operation,
    Parameter,
    Primitive,
    Scalar,
    Struct,
    Type,
)
from commonplace.openapi.engine.generate.names import NameScope
from commonplace.openapi.engine.generate.python.text import (
    HEADER,
    TYPE_WORDS,
    docstring,
    literal,
    one_line,
    snake,
)
from commonplace.openapi.engine.generate.python.types import PythonTypes


class PythonClient:
    """Writes the client of an API."""

    def __init__(self, api: Api, types: PythonTypes) -> None:
        self.api = api
        self.types = types

    def write(self) -> str:
        """Write the module of the client."""
        methods: list[str] = []
        tables: list[str] = []
        scope = NameScope(("close", "schemes", "credentials", "base_url", "default_server"))
        table_scope = NameScope()
        for operation in self.api.operations:
            method = scope.claim(snake(operation.hint))
            table = table_scope.claim(f"_{method.upper()}")
            tables += self._table(operation, table)
            methods += self._method(operation, method, table)
        schemes = ", ".join(
            f"{literal(scheme.name)}: Scheme({literal(scheme.kind)}, {literal(scheme.place)}, "
            f"{literal(scheme.parameter)}, {literal(scheme.scheme)})"
            for scheme in self.api.schemes
        )
        body = [
            *tables,
            "",
            "class Client(BaseClient):",
            f'    """{one_line(self.api.title)}."""',
            "",
            f"    schemes = {{{schemes}}}",
            f"    default_server = {literal(self.api.server)}",
            "",
            (
                f"    def __init__(self, base_url: str = {literal(self.api.server)}, "
                "**options: Any) -> None:"
            ),
            "        super().__init__(base_url, **options)",
            *methods,
        ]
        text = "\n".join(body)
        names = [
            name
            for name in ("BaseClient", "Body", "Encoding", "Operation", "Parameter", "Scheme")
            if f"{name}(" in text
        ]
        names += (
            ["Bytes"]
            if any(re.search(r"^        '\w+': .*\bBytes\b", line) for line in tables)
            else []
        )
        head = [
            HEADER,
            f'"""A client for {one_line(self.api.title)}."""',
            "",
            "from __future__ import annotations",
            "",
        ]
        head += ["import datetime"] if "datetime." in text else []
        head += ["from typing import Any", ""]
        if "models." in text:
            head += ["from . import models"]
        head += [f"from .runtime import {', '.join(sorted({*names, 'BaseClient'}))}", ""]
        return "\n".join([*head, text]).rstrip("\n") + "\n"

    def _table(self, operation: Operation, table: str) -> list[str]:
        lines = [
            f"{table} = Operation(",
            f"    {literal(operation.hint)},",
            f"    {literal(operation.method)},",
            f"    {literal(operation.path)},",
        ]
        if operation.server:
            lines.append(f"    server={literal(operation.server.rstrip('/'))},")
        if operation.fixed_query:
            lines.append(f"    query={literal(operation.fixed_query)},")
        if operation.parameters:
            lines += [
                "    parameters=(",
                *[f"        {_parameter(parameter)}," for parameter in operation.parameters],
                "    ),",
            ]
        if operation.bodies:
            lines += [
                "    bodies=(",
                *[f"        {_body(body)}," for body in operation.bodies],
                "    ),",
            ]
        entries = [
            f"        {literal(response.status)}: {self._response_kind(response.contents)},"
            for response in operation.responses
        ]
        if entries:
            lines += ["    responses={", *entries, "    },"]
        if operation.security:
            alternatives = []
            for requirement in operation.security:
                names = ", ".join(literal(name) for name, _ in requirement)
                alternatives.append(f"({names}{',' if len(requirement) == 1 else ''})")
            lines.append(f"    security=({', '.join(alternatives)},),")
        accepted = list(
            dict.fromkeys(
                kind
                for response in operation.responses
                for body in response.contents
                for kind in body.media_types
            )
        )
        if accepted:
            lines.append(f"    accept={literal(', '.join(accepted))},")
        return [*lines, ")"]

    def _response_kind(self, contents: list[ContentBody]) -> str:
        for body in contents:
            if body.kind == "json":
                # In JSON, bytes are base64 text.
                return re.sub(r"\bbytes\b", "Bytes", self.types.use(body.use, "models."))
        return (
            "str"
            if any(body.kind == "text" for body in contents)
            else "bytes"
            if contents
            else "None"
        )

    def _result(self, operation: Operation) -> str:
        kinds: list[str] = []
        for response in operation.responses:
            if response.status[0] not in "2d" and response.status != "default":
                continue
            if response.status == "default" and kinds:
                continue
            for body in response.contents:
                if body.kind == "json":
                    kinds.append(self.types.spell(body.use.type, "models."))
                else:
                    kinds.append("str" if body.kind == "text" else "bytes")
            if not response.contents or any(body.use.nullable for body in response.contents):
                kinds.append("None")
        found = list(dict.fromkeys(kinds)) or ["None"]
        return "Any" if "Any" in found else " | ".join(found)

    def _method(self, operation: Operation, method: str, table: str) -> list[str]:
        scope = NameScope(("self", "datetime", "models", "result", *TYPE_WORDS))
        required: list[str] = []
        optional: list[str] = []
        values: list[str] = []
        bodies: list[str] = []
        for parameter in operation.parameters:
            name = scope.claim(snake(parameter.name), f"{snake(parameter.name)}_{parameter.place}")
            values.append(name)
            if parameter.required:
                required.append(f"{name}: {self.types.spell(parameter.use.type, 'models.')}")
            else:
                optional.append(f"{name}: {self.types.optional(parameter.use, 'models.')} = None")
        for body in operation.bodies:
            alone = len(operation.bodies) == 1
            name = scope.claim("body" if alone else f"{body.kind}_body")
            bodies.append(name)
            spelled = self.types.spell(body.use.type, "models.")
            if alone and operation.body_required:
                required.append(f"{name}: {spelled}")
            else:
                optional.append(
                    f"{name}: {spelled if spelled == 'Any' else spelled + ' | None'} = None"
                )
        arguments = [*required, *optional]
        result = self._result(operation)
        lines = ["", f"    def {method}("]
        lines += (
            ["        self,", "        *,", *[f"        {argument}," for argument in arguments]]
            if arguments
            else ["        self,"]
        )
        lines += [f"    ) -> {result}:", *docstring(operation.doc, "        ")]
        call = f"self._call({table}, ({', '.join(values)}{',' if len(values) == 1 else ''})"
        call += f", ({', '.join(bodies)}{',' if len(bodies) == 1 else ''}))" if bodies else ")"
        if result == "None":
            return [*lines, f"        {call}"]
        if result == "Any":
            return [*lines, f"        return {call}"]
        return [*lines, f"        result: {result} = {call}", "        return result"]


def _parameter(parameter: Parameter) -> str:
    flags = "".join(
        f", {name}=True"
        for name, flag in (("explode", parameter.explode), ("as_json", parameter.as_json))
        if flag
    )
    return (
        f"Parameter({literal(parameter.name)}, {literal(parameter.place)}, "
        f"{literal(parameter.style)}{flags})"
    )


def _body(body: ContentBody) -> str:
    cells = [literal(body.kind), literal(body.media_types[0])]
    if body.encoding:
        rules = [
            f"{literal(name)}: Encoding({literal(rule.style)}, {rule.explode!r}, "
            f"{literal(rule.content_type)})"
            for name, rule in body.encoding.items()
        ]
        cells.append(f"encoding={{{', '.join(rules)}}}")
    if body.kind == "multipart":
        binary = _binary_fields(body.use.type)
        if binary:
            cells.append(f"binary=({', '.join(literal(name) for name in binary)},)")
    return f"Body({', '.join(cells)})"


def _binary_fields(kind: Type) -> list[str]:
    declaration = kind.declaration if isinstance(kind, NamedType) else None
    while isinstance(declaration, Alias) and isinstance(declaration.target.type, NamedType):
        declaration = declaration.target.type.declaration
    if not isinstance(declaration, Struct):
        return []
    octets = Primitive(Scalar.BYTES)
    found = []
    for member in declaration.fields:
        inner = (
            member.use.type.item.type if isinstance(member.use.type, ListOf) else member.use.type
        )
        if inner == octets:
            found.append(member.name)
    return found

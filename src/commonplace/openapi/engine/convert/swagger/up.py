"""From 2.0 to 3.0: the document, its components, paths and operations."""

from __future__ import annotations

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.convert.issues import IssueLog
from commonplace.openapi.engine.convert.places import replace_lost_references
from commonplace.openapi.engine.convert.swagger.schema_up import Restored, pointer_of
from commonplace.openapi.engine.convert.swagger.security import convert_scheme_up
from commonplace.openapi.engine.convert.swagger.up_context import UpContext, mapping, strings
from commonplace.openapi.engine.convert.swagger.up_parameters import JSON_TYPE, ParameterUp
from commonplace.openapi.engine.convert.swagger.up_responses import ResponseUp
from commonplace.openapi.engine.require import require_list
from commonplace.openapi.model import METHODS, Family

_HANDLED_ROOT = frozenset(
    [
        "swagger",
        "host",
        "basePath",
        "schemes",
        "consumes",
        "produces",
        "info",
        "paths",
        "definitions",
        "parameters",
        "responses",
        "securityDefinitions",
    ]
)
_HANDLED_OPERATION = frozenset(("consumes", "produces", "parameters", "responses", "schemes"))


class SwaggerUp:
    """One conversion of a 2.0 document."""

    def __init__(self, document: JsonObject, issues: IssueLog) -> None:
        document = Restored(issues).rewrite(document, "document")
        document = replace_lost_references(document, issues, Family.V20, Family.V30)
        self.source = document
        self.issues = issues
        self.consumes = strings(document.get("consumes"))
        self.context = UpContext(document, issues)
        self.parameters = ParameterUp(self.context)
        self.responses = ResponseUp(self.context, self.parameters)

    def convert(self, version: str) -> JsonObject:
        """Return the 3.0 document, which declares `version`."""
        source = self.context.document
        result: JsonObject = {"openapi": version}
        result["info"] = source.get("info", {})
        servers = self._servers(source.get("schemes"), note=True)
        if servers:
            result["servers"] = servers
        result["paths"] = {
            path: self._path_item(item, ["paths", path])
            if isinstance(item, dict) and not path.startswith("x-")
            else item
            for path, item in mapping(source, "paths").items()
        }
        components = self._components(source)
        if components:
            result["components"] = components
        result.update(
            {
                key: value
                for key, value in source.items()
                if key not in _HANDLED_ROOT and key != "security"
            }
        )
        if "security" in source:
            result["security"] = self._requirements(source["security"])
        return result

    def _servers(self, schemes: Json, *, note: bool = False) -> list[JsonObject]:
        host, base = self.source.get("host"), self.source.get("basePath") or ""
        base = base.rstrip("/") if isinstance(base, str) else ""
        if not isinstance(host, str) or not host:
            return [{"url": base}] if base else []
        chosen = strings(schemes)
        if not chosen:
            if note:
                self.issues.info(
                    "/host",
                    "No scheme is declared; the server address starts with `//` and takes the "
                    "reader's scheme.",
                )
            return [{"url": f"//{host}{base}"}]
        return [{"url": f"{scheme}://{host}{base}"} for scheme in chosen]

    def _components(self, source: JsonObject) -> JsonObject:
        components: JsonObject = {}
        schemas = {
            self.context.renamed["definitions"][name]: self.context.schema(
                schema, ["definitions", name]
            )
            for name, schema in mapping(source, "definitions").items()
        }
        parameters: JsonObject = {}
        bodies: JsonObject = {}
        for name, parameter in mapping(source, "parameters").items():
            at = ["parameters", name]
            new = self.context.renamed["parameters"][name]
            if not isinstance(parameter, dict):
                continue
            if parameter.get("in") == "body":
                bodies[new] = self.parameters.body(parameter, self.consumes or [JSON_TYPE], at)
            elif parameter.get("in") == "formData":
                bodies[new] = self.parameters.form([(parameter, at)], self.consumes)
            else:
                parameters[new] = self.parameters.parameter(parameter, at)
        responses = {
            self.context.renamed["responses"][name]: self.responses.response(
                response,
                self.responses.produced_by_shared(self.context.renamed["responses"][name]),
                ["responses", name],
            )
            for name, response in mapping(source, "responses").items()
        }
        schemes = {
            self.context.renamed["securityDefinitions"][name]: convert_scheme_up(
                scheme, self.issues, ["securityDefinitions", name]
            )
            for name, scheme in mapping(source, "securityDefinitions").items()
        }
        for key, value in (
            ("schemas", schemas),
            ("responses", responses),
            ("parameters", parameters),
            ("requestBodies", bodies),
            ("securitySchemes", schemes),
        ):
            if value:
                components[key] = value
        return components

    def _path_item(self, item: JsonObject, at: list[str]) -> JsonObject:
        shared = [
            (entry, [*at, "parameters", str(index)])
            for index, entry in enumerate(
                require_list(item.get("parameters"), pointer_of([*at, "parameters"]))
            )
        ]
        result: JsonObject = {}
        for key, value in item.items():
            if key == "parameters":
                plain = [
                    self.parameters.parameter(entry, where)
                    for entry, where in shared
                    if self.parameters.place(entry) not in ("body", "formData")
                ]
                if plain:
                    result["parameters"] = plain
            elif key in METHODS and isinstance(value, dict):
                result[key] = self._operation(value, shared, [*at, key])
            else:
                result[key] = value
        return result

    def _operation(
        self, operation: JsonObject, shared: list[tuple[Json, list[str]]], at: list[str]
    ) -> JsonObject:
        own = [
            (entry, [*at, "parameters", str(index)])
            for index, entry in enumerate(
                require_list(operation.get("parameters"), pointer_of([*at, "parameters"]))
            )
        ]
        consumes = strings(operation.get("consumes")) if "consumes" in operation else self.consumes
        produces = self.responses.produced_by(operation)
        result: JsonObject = {
            key: value
            for key, value in operation.items()
            if key not in _HANDLED_OPERATION and key != "security"
        }
        plain = [
            self.parameters.parameter(entry, where)
            for entry, where in own
            if self.parameters.place(entry) not in ("body", "formData")
        ]
        if plain:
            result["parameters"] = plain
        body = self.parameters.request_body(
            [*own, *shared], consumes, own_consumes="consumes" in operation
        )
        if body is not None:
            result["requestBody"] = body
        result["responses"] = {
            code: self.responses.response(response, produces, [*at, "responses", code])
            if not code.startswith("x-")
            else response
            for code, response in mapping(operation, "responses").items()
        }
        if "schemes" in operation:
            servers = self._servers(operation["schemes"])
            if servers:
                result["servers"] = servers
        if "security" in operation:
            result["security"] = self._requirements(operation["security"])
        return result

    def _requirements(self, requirements: Json) -> Json:
        if not isinstance(requirements, list):
            return requirements
        names = self.context.renamed["securityDefinitions"]
        return [
            {names.get(name, name): scopes for name, scopes in requirement.items()}
            if isinstance(requirement, dict)
            else requirement
            for requirement in requirements
        ]

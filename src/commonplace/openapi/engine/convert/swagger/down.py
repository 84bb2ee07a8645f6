"""From 3.0 to 2.0: the document, its components, paths and operations.

Everything that 2.0 cannot express is reported as an issue.
"""

from __future__ import annotations

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.convert.issues import IssueLog
from commonplace.openapi.engine.convert.places import replace_lost_references
from commonplace.openapi.engine.convert.swagger.down_bodies import BodyDown
from commonplace.openapi.engine.convert.swagger.down_context import DownContext, extensions
from commonplace.openapi.engine.convert.swagger.down_parameters import ParameterDown
from commonplace.openapi.engine.convert.swagger.down_responses import ResponseDown
from commonplace.openapi.engine.convert.swagger.schema_down import to_old_reference
from commonplace.openapi.engine.convert.swagger.schema_up import pointer_of
from commonplace.openapi.engine.convert.swagger.security import SecurityDown
from commonplace.openapi.engine.convert.swagger.servers import convert_servers_down
from commonplace.openapi.engine.require import require_object
from commonplace.openapi.model import Family

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
_OPERATION_FIELDS = (
    "tags",
    "summary",
    "description",
    "externalDocs",
    "operationId",
    "deprecated",
)


def down_to_2_0(document: JsonObject, issues: IssueLog) -> JsonObject:
    """Convert a 3.0 document to 2.0."""
    document = replace_lost_references(document, issues, Family.V30, Family.V20)
    return SwaggerDown(document, issues).convert()


class SwaggerDown:
    """One conversion of a 3.0 document."""

    def __init__(self, document: JsonObject, issues: IssueLog) -> None:
        self.source = document
        self.issues = issues
        self.context = DownContext(document, issues)
        self.components = require_object(document.get("components"), "/components")
        self.security = SecurityDown(self.components, self.context.resolve, issues)
        self.parameters = ParameterDown(self.context)
        self.bodies = BodyDown(self.context)
        self.responses = ResponseDown(self.context, self.parameters)

    def convert(self) -> JsonObject:
        """Return the 2.0 document."""
        source = self.source
        result: JsonObject = {"swagger": "2.0", "info": self._info()}
        result.update(convert_servers_down(source.get("servers"), ["servers"], self.issues))
        definitions = self.security.definitions()
        paths = source.get("paths")
        result["paths"] = {
            path: self._path_item(item, ["paths", path])
            if isinstance(item, dict) and not path.startswith("x-")
            else item
            for path, item in (paths.items() if isinstance(paths, dict) else ())
        }
        result.update(self._components(definitions))
        if isinstance(source.get("security"), list):
            result["security"] = self.security.requirements(source["security"], ["security"])
        for key, value in source.items():
            if key in ("tags", "externalDocs") or (key.startswith("x-") and key != "x-webhooks"):
                result[key] = value
            elif key == "x-webhooks":
                self.issues.critical("/x-webhooks", "2.0 has no webhooks; they were dropped.")
        return dict(_with_old_references(result))

    def _info(self) -> JsonObject:
        info = self.source.get("info")
        return dict(info) if isinstance(info, dict) else {"title": "", "version": ""}

    def _components(self, definitions: JsonObject) -> JsonObject:
        schemas = {
            name: self.context.schema(schema, ["components", "schemas", name])
            for name, schema in self._section("schemas").items()
        }
        parameters = {}
        for name, parameter in self._section("parameters").items():
            converted = self.parameters.parameter(
                self.context.resolve(parameter), ["components", "parameters", name]
            )
            if converted is not None:
                parameters[name] = converted
        sections = {
            "definitions": schemas,
            "parameters": parameters,
            "responses": {
                name: self.responses.response(
                    self.context.resolve(response), ["components", "responses", name]
                )[0]
                for name, response in self._section("responses").items()
            },
            "securityDefinitions": definitions,
        }
        self._report_dropped_components()
        return {key: value for key, value in sections.items() if value}

    def _report_dropped_components(self) -> None:
        for name in extensions(self.components):
            self.issues.info(
                pointer_of(["components", name]),
                "2.0 has no `components`; what extends them was dropped.",
            )
        for name in ("links", "callbacks"):
            if self._section(name):
                self.issues.critical(
                    pointer_of(["components", name]), f"2.0 has no {name}; they were dropped."
                )

    def _section(self, name: str) -> JsonObject:
        value = self.components.get(name)
        return value if isinstance(value, dict) else {}

    def _path_item(self, item: JsonObject, at: list[str]) -> JsonObject:
        result: JsonObject = {}
        for key, value in item.items():
            if key == "parameters" and isinstance(value, list):
                parameters = self.parameters.parameters(value, [*at, "parameters"])
                if parameters:
                    result["parameters"] = parameters
            elif key in _METHODS and isinstance(value, dict):
                result[key] = self._operation(value, [*at, key])
            elif key == "trace":
                self.issues.critical(
                    pointer_of([*at, key]), "2.0 has no TRACE operations; it was dropped."
                )
            elif key == "servers":
                self.issues.warning(
                    pointer_of([*at, key]), "2.0 has no servers per path; they were dropped."
                )
            elif key in ("summary", "description"):
                self.issues.info(
                    pointer_of([*at, key]),
                    f"2.0 path items have no `{key}`; it is kept as `x-{key}`.",
                )
                result[f"x-{key}"] = value
            else:
                result[key] = value
        return result

    def _operation(self, operation: JsonObject, at: list[str]) -> JsonObject:
        result: JsonObject = {key: operation[key] for key in _OPERATION_FIELDS if key in operation}
        result.update(extensions(operation))
        parameters = self.parameters.parameters(operation.get("parameters"), [*at, "parameters"])
        if "requestBody" in operation:
            consumes, more = self.bodies.request_body(
                self.context.resolve(operation["requestBody"]), [*at, "requestBody"]
            )
            if consumes:
                result["consumes"] = consumes
            parameters += more
        if parameters:
            result["parameters"] = parameters
        responses, produces = self.responses.responses(operation, at)
        if produces:
            result["produces"] = produces
        result["responses"] = responses
        if isinstance(operation.get("security"), list):
            result["security"] = self.security.requirements(
                operation["security"], [*at, "security"]
            )
        if operation.get("callbacks"):
            self.issues.critical(
                pointer_of([*at, "callbacks"]), "2.0 has no callbacks; they were dropped."
            )
        if operation.get("servers"):
            self.issues.warning(
                pointer_of([*at, "servers"]), "2.0 has no servers per operation; they were dropped."
            )
        return result


def _with_old_references(node: Json) -> Json:
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str):
            new = to_old_reference(reference)
            return {**node, "$ref": new} if new != reference else node
        return {key: _with_old_references(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_with_old_references(value) for value in node]
    return node

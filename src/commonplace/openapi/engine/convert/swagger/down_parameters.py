"""Parameters and headers of 3.0 as those of 2.0, whose values are described by flat keywords."""

from __future__ import annotations

from commonplace.kernel.json_types import Json, JsonArray, JsonObject
from commonplace.openapi.engine.convert.swagger.down_context import DownContext
from commonplace.openapi.engine.convert.swagger.schema_up import pointer_of
from commonplace.openapi.engine.require import require_list


class ParameterDown:
    """Converts parameters and headers."""

    def __init__(self, context: DownContext) -> None:
        self.context = context

    def parameters(self, parameters: Json, at: list[str]) -> JsonArray:
        """Convert a list of parameters, without those that 2.0 cannot express."""
        converted = [
            self.parameter(parameter, [*at, str(index)])
            for index, parameter in enumerate(require_list(parameters, pointer_of(at)))
        ]
        kept = [parameter for parameter in converted if parameter is not None]
        return [parameter for index, parameter in enumerate(kept) if parameter not in kept[:index]]

    def parameter(self, parameter: Json, at: list[str]) -> JsonObject | None:
        """Convert a parameter; return None for a location that 2.0 does not have."""
        issues = self.context.issues
        resolved = self.context.resolve(parameter)
        place = resolved.get("in")
        if place not in ("path", "query", "header"):
            if not (isinstance(parameter, dict) and "$ref" in parameter and at[0] == "paths"):
                issues.critical(
                    pointer_of(at), f"2.0 has no parameters in {place!r}; it was dropped."
                )
            return None
        if isinstance(parameter, dict) and isinstance(parameter.get("$ref"), str):
            return {"$ref": parameter["$ref"]}
        result = self._describe(resolved, str(place), at)
        schema = resolved.get("schema")
        if schema is None and isinstance(resolved.get("content"), dict):
            issues.warning(
                pointer_of([*at, "content"]),
                "2.0 parameters have no content; the value is described as a string.",
            )
            schema = {"type": "string"}
        collection = self.context.collection(resolved, str(place), at)
        where = pointer_of([*at, "schema"])
        result.update(self.context.values.value(schema or {}, where, collection=collection))
        self.context.keep_example(result, resolved, at)
        return result

    def _describe(self, parameter: JsonObject, place: str, at: list[str]) -> JsonObject:
        """Return the fields that are not about the value."""
        result: JsonObject = {
            key: value
            for key, value in parameter.items()
            if key in ("name", "in", "description") or key.startswith("x-")
        }
        if place == "path" or parameter.get("required") is True:
            result["required"] = True
        if place == "query" and "allowEmptyValue" in parameter:
            result["allowEmptyValue"] = parameter["allowEmptyValue"]
        if parameter.get("deprecated") is True:
            self.context.issues.info(
                pointer_of(at), "2.0 parameters cannot be deprecated; it is kept as `x-deprecated`."
            )
            result["x-deprecated"] = True
        return result

    def header(self, header: Json, at: list[str]) -> JsonObject:
        """Convert a header."""
        resolved = self.context.resolve(header)
        result: JsonObject = {
            key: value
            for key, value in resolved.items()
            if key == "description" or key.startswith("x-")
        }
        schema = resolved.get("schema")
        if schema is None and isinstance(resolved.get("content"), dict):
            self.context.issues.warning(
                pointer_of([*at, "content"]),
                "2.0 headers have no content; the value is described as a string.",
            )
        result.update(
            self.context.values.value(
                schema if schema is not None else {"type": "string"}, pointer_of([*at, "schema"])
            )
        )
        self.context.keep_example(result, resolved, at)
        for keyword in ("required", "deprecated"):
            if resolved.get(keyword) is True:
                self.context.issues.info(
                    pointer_of([*at, keyword]),
                    f"2.0 has no `{keyword}` in headers; it is kept as `x-{keyword}`.",
                )
                result[f"x-{keyword}"] = True
        return result

"""Parameters, bodies, forms and headers of 2.0 as those of 3.0."""

from __future__ import annotations

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.convert.keywords import VALUE_KEYWORDS
from commonplace.openapi.engine.convert.swagger.schema_up import pointer_of, value_schema
from commonplace.openapi.engine.convert.swagger.up_context import (
    UpContext,
    kept_extensions,
    mapping,
)

JSON_TYPE = "application/json"
FORM_TYPE = "application/x-www-form-urlencoded"
MULTIPART_TYPE = "multipart/form-data"
_STYLES = {
    "csv": ("form", False),
    "multi": ("form", True),
    "ssv": ("spaceDelimited", False),
    "pipes": ("pipeDelimited", False),
}


class ParameterUp:
    """Converts parameters; those of bodies and forms become request bodies."""

    def __init__(self, context: UpContext) -> None:
        self.context = context
        self.issues = context.issues

    def place(self, parameter: Json) -> str:
        """Return the location of a parameter."""
        return str(self.context.resolve(parameter).get("in", ""))

    def parameter(self, parameter: Json, at: list[str]) -> Json:
        """Convert a parameter that is neither body nor form field."""
        if not isinstance(parameter, dict) or "$ref" in parameter:
            return parameter
        place = str(parameter.get("in", ""))
        result = {
            key: value
            for key, value in parameter.items()
            if key not in VALUE_KEYWORDS and key not in ("collectionFormat", "schema")
        }
        if place == "path":
            result["required"] = True
        if place != "query":
            result.pop("allowEmptyValue", None)
        if parameter.get("type") == "array":
            style, explode = self._style(parameter, place, at)
            if (style, explode) != (
                ("simple", False) if place in ("path", "header") else ("form", True)
            ):
                result.update(style=style, explode=explode)
        result["schema"] = value_schema(parameter, self.issues, at)
        return result

    def request_body(
        self, parameters: list[tuple[Json, list[str]]], consumes: list[str], *, own_consumes: bool
    ) -> JsonObject | None:
        """Return the request body of an operation with these parameters, if any."""
        bodies = [(entry, at) for entry, at in parameters if self.place(entry) == "body"]
        if bodies:
            entry, at = bodies[0]
            if (
                "$ref" in entry
                and not own_consumes
                and str(entry["$ref"]).startswith("#/components/requestBodies/")
            ):
                return {"$ref": entry["$ref"]}
            return self.body(self.context.resolve(entry), consumes or [JSON_TYPE], at)
        fields: dict[str, tuple[JsonObject, list[str]]] = {}
        for entry, at in parameters:
            if self.place(entry) == "formData":
                field = self.context.resolve(entry)
                fields.setdefault(str(field.get("name", "")), (field, at))
        return self.form(list(fields.values()), consumes) if fields else None

    def body(self, parameter: JsonObject, consumes: list[str], at: list[str]) -> JsonObject:
        """Convert a body parameter."""
        schema = self.context.schema(parameter.get("schema", {}), [*at, "schema"])
        body: JsonObject = {}
        if "description" in parameter:
            body["description"] = parameter["description"]
        body["content"] = {media_type: {"schema": schema} for media_type in consumes}
        if parameter.get("required"):
            body["required"] = True
        body.update(kept_extensions(parameter))
        examples = mapping(body, "x-examples")
        given = [kind for kind in body["content"] if kind in examples]
        for kind in given:
            body["content"][kind]["example"] = examples[kind]
        if given and len(given) == len(examples):
            del body["x-examples"]
        if parameter.get("name") not in (None, "body"):
            body.setdefault("x-body-name", parameter["name"])
        return body

    def form(self, fields: list[tuple[JsonObject, list[str]]], consumes: list[str]) -> JsonObject:
        """Convert form fields to one request body."""
        properties: JsonObject = {}
        encoding: JsonObject = {}
        required: list[str] = []
        has_file = False
        for field, at in fields:
            name = str(field.get("name", ""))
            schema = value_schema(field, self.issues, at)
            has_file = has_file or field.get("type") == "file"
            if "description" in field:
                schema["description"] = field["description"]
            schema.update(kept_extensions(field))
            if "x-example" in schema:
                schema["example"] = schema.pop("x-example")
            properties[name] = schema
            if field.get("required"):
                required.append(name)
            if field.get("type") == "array":
                style, explode = self._style(field, "formData", at)
                if (style, explode) != ("form", True):
                    encoding[name] = {"style": style, "explode": explode}
        schema = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        media_type: JsonObject = {"schema": schema}
        if encoding:
            media_type["encoding"] = encoding
        allowed = (MULTIPART_TYPE,) if has_file else (FORM_TYPE, MULTIPART_TYPE)
        kinds = [kind for kind in consumes if kind in allowed] or [allowed[0]]
        body: JsonObject = {"content": dict.fromkeys(kinds, media_type)}
        if required:
            body["required"] = True
        return body

    def _style(self, parameter: JsonObject, place: str, at: list[str]) -> tuple[str, bool]:
        collection = parameter.get("collectionFormat", "csv")
        if collection == "tsv":
            self.issues.warning(
                pointer_of(at, "collectionFormat"),
                "Tab-separated values have no 3.0 style; commas are used.",
            )
            collection = "csv"
        if place in ("path", "header"):
            if collection != "csv":
                self.issues.warning(
                    pointer_of(at, "collectionFormat"),
                    f"{collection!r} is not possible in a {place}; commas are used.",
                )
            return "simple", False
        return _STYLES.get(str(collection), ("form", False))

    def header(self, header: JsonObject, at: list[str]) -> JsonObject:
        """Convert a header."""
        result = {
            key: value
            for key, value in header.items()
            if key not in VALUE_KEYWORDS and key != "collectionFormat"
        }
        if header.get("type") == "array":
            self._style(header, "header", at)
        result["schema"] = value_schema(header, self.issues, at)
        return result

"""Request bodies of 3.0 as body parameters or form fields of 2.0."""

from __future__ import annotations

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.convert.swagger.down_context import (
    DownContext,
    extensions,
    is_binary,
    media_types,
    warn_about_extensions,
)
from commonplace.openapi.engine.convert.swagger.schema_up import pointer_of
from commonplace.openapi.engine.convert.swagger.up_parameters import FORM_TYPE, MULTIPART_TYPE


class BodyDown:
    """Converts request bodies."""

    def __init__(self, context: DownContext) -> None:
        self.context = context
        self.issues = context.issues

    def request_body(self, body: JsonObject, at: list[str]) -> tuple[list[str], list[JsonObject]]:
        """Return the media types that an operation consumes, and its parameters for the body."""
        content = media_types(body)
        if not content:
            return [], []
        forms = [kind for kind in content if _is_form(kind)]
        if forms and len(forms) == len(content):
            fields = self._form_fields(body, content, forms, at)
            if fields is not None:
                return forms, fields
        kinds = [kind for kind in content if kind not in forms] or list(content)
        if forms and len(kinds) < len(content):
            self.issues.warning(
                pointer_of([*at, "content"]),
                f"2.0 has either a body or a form; {', '.join(forms)} was dropped.",
            )
        return kinds, [self._body_parameter(body, content, kinds, at)]

    def _body_parameter(
        self, body: JsonObject, content: dict[str, JsonObject], kinds: list[str], at: list[str]
    ) -> JsonObject:
        chosen = next((kind for kind in kinds if "json" in kind), kinds[0])
        schema = content[chosen].get("schema", {})
        if any(content[kind].get("schema", {}) != schema for kind in kinds):
            self.issues.warning(
                pointer_of([*at, "content"]),
                f"2.0 has one schema per body; that of {chosen} was kept.",
            )
        if is_binary(schema):
            schema = {"type": "string", "format": "binary"}
        name = body.get("x-body-name")
        parameter: JsonObject = {
            "name": name if isinstance(name, str) and name else "body",
            "in": "body",
        }
        if "description" in body:
            parameter["description"] = body["description"]
        if body.get("required") is True:
            parameter["required"] = True
        parameter["schema"] = self.context.schema(schema, [*at, "content", chosen, "schema"])
        parameter.update(
            {key: value for key, value in extensions(body).items() if key != "x-body-name"}
        )
        examples = {
            kind: example
            for kind in kinds
            for example in self.context.examples(content[kind], [*at, "content", kind])
        }
        if examples:
            self.issues.info(
                pointer_of([*at, "content"]),
                "2.0 has no examples of bodies; they are kept as `x-examples`.",
            )
            parameter.setdefault("x-examples", examples)
        warn_about_extensions(content, at, self.issues)
        return parameter

    def _form_fields(
        self, body: JsonObject, content: dict[str, JsonObject], forms: list[str], at: list[str]
    ) -> list[JsonObject] | None:
        """Return the fields of a form; None if its schema has no properties."""
        first = content[forms[0]]
        flat = self.context.values.flatten(
            first.get("schema"), pointer_of([*at, "content", forms[0]])
        )
        if not isinstance(flat.get("properties"), dict) or not flat["properties"]:
            return None
        if any(content[kind].get("schema") != first.get("schema") for kind in forms):
            self.issues.warning(
                pointer_of([*at, "content"]),
                f"2.0 has one form per operation; that of {forms[0]} was kept.",
            )
        self._report_form(body, content, flat, at)
        where = [*at, "content", forms[0], "schema"]
        encoding = first.get("encoding")
        encoding = encoding if isinstance(encoding, dict) else {}
        example = next(iter(self.context.examples(first, where[:-1])), None)
        return [
            self._form_field(name, part, flat, encoding.get(name), example, where)
            for name, part in flat["properties"].items()
        ]

    def _report_form(
        self,
        body: JsonObject,
        content: dict[str, JsonObject],
        schema: JsonObject,
        at: list[str],
    ) -> None:
        """Report what describes the form as a whole: in 2.0 a form is only its fields."""
        lost = [
            key
            for key in body
            if key == "description" or (key.startswith("x-") and key != "x-body-name")
        ]
        if lost:
            self.issues.info(
                pointer_of(at),
                f"2.0 forms are nothing but their fields; {', '.join(lost)} was dropped.",
            )
        has_required_fields = bool(schema.get("required"))
        if has_required_fields and body.get("required") is not True:
            self.issues.warning(
                pointer_of(at),
                "2.0 has no optional form with required fields; the form is required now.",
            )
        if not has_required_fields and body.get("required") is True:
            self.issues.warning(
                pointer_of(at),
                "2.0 has no required form without required fields; the form may be left out now.",
            )
        warn_about_extensions(content, at, self.issues)

    def _form_field(
        self,
        name: str,
        part: Json,
        form: JsonObject,
        rule: Json,
        form_example: Json,
        at: list[str],
    ) -> JsonObject:
        where = [*at, "properties", name]
        rule = rule if isinstance(rule, dict) else {}
        collection = self.context.collection(rule, "query", where)
        for keyword in ("contentType", "headers"):
            if rule.get(keyword):
                self.issues.warning(
                    pointer_of([*at[:-1], "encoding", name, keyword]),
                    f"2.0 cannot declare the {keyword} of a part; it was dropped.",
                )
        parameter: JsonObject = {"name": name, "in": "formData"}
        flat = self.context.values.flatten(part, pointer_of(where))
        if "description" in flat:
            parameter["description"] = flat["description"]
        if name in (form.get("required") or []):
            parameter["required"] = True
        value = self.context.values.value(part, pointer_of(where), file=True, collection=collection)
        if value.get("type") == "array" and is_binary(value.get("items")):
            self.issues.warning(
                pointer_of(where), "2.0 has no lists of files; one file is described."
            )
            value = {"type": "file"}
        parameter.update(value)
        parameter.update(extensions(flat))
        examples: JsonObject = {}
        if isinstance(form_example, dict) and name in form_example:
            examples = form_example
        elif "example" in flat:
            examples = {name: flat["example"]}
        if name in examples:
            self.issues.info(
                pointer_of(where), "2.0 has no examples here; this one is kept as `x-example`."
            )
            parameter.setdefault("x-example", examples[name])
        return parameter


def _is_form(kind: str) -> bool:
    return kind.split(";")[0].strip().lower() in (FORM_TYPE, MULTIPART_TYPE)

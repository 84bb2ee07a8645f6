"""What all parts of a conversion from 3.0 to 2.0 share: references, schemas, examples."""

from __future__ import annotations

from commonplace.kernel.json_types import Json, JsonArray, JsonObject
from commonplace.openapi.engine.convert.issues import IssueLog
from commonplace.openapi.engine.convert.swagger.schema_down import SchemaDown, ValueDown
from commonplace.openapi.engine.convert.swagger.schema_up import pointer_of
from commonplace.openapi.engine.pointers import resolve_pointer

_COLLECTIONS = {"form": "csv", "simple": "csv", "spaceDelimited": "ssv", "pipeDelimited": "pipes"}


class DownContext:
    """The 3.0 document being converted and the issues found so far."""

    def __init__(self, document: JsonObject, issues: IssueLog) -> None:
        self.document = document
        self.issues = issues
        self.values = ValueDown(document, issues)

    def resolve(self, node: Json) -> JsonObject:
        """Return the target of a reference; an empty object if it does not resolve."""
        for _ in range(20):
            if not isinstance(node, dict):
                return {}
            reference = node.get("$ref")
            if not isinstance(reference, str):
                return node
            try:
                node = resolve_pointer(self.document, reference)
            except LookupError:
                self.issues.critical("", f"{reference!r} does not resolve.")
                return {}
        return {}

    def schema(self, schema: Json, at: list[str]) -> Json:
        """Convert a schema."""
        return SchemaDown(self.issues, list(at)).rewrite(schema, "schema")

    def collection(self, parameter: JsonObject, place: str, at: list[str]) -> str:
        """Return the collection format for the style of a parameter or form field."""
        style = parameter.get("style") or ("form" if place == "query" else "simple")
        explode = parameter.get("explode", style == "form")
        if style == "form" and explode and place == "query":
            return "multi"
        if style not in _COLLECTIONS:
            self.issues.warning(
                pointer_of([*at, "style"]), f"2.0 has no style {style!r}; commas are assumed."
            )
        return _COLLECTIONS.get(str(style), "csv")

    def examples(self, media: JsonObject, at: list[str]) -> JsonArray:
        """Return the example of a media type or parameter, in a list of at most one."""
        if "example" in media:
            return [self._literal(media["example"])]
        examples = media.get("examples")
        values = (
            [self.resolve(example) for example in examples.values()]
            if isinstance(examples, dict)
            else []
        )
        given = [self._literal(example["value"]) for example in values if "value" in example]
        if len(values) > len(given[:1]):
            lost = len(values) - len(given[:1])
            self.issues.info(
                pointer_of([*at, "examples"]),
                f"2.0 has one example, with its value; {lost} of {len(values)} were dropped.",
            )
        return given[:1]

    def _literal(self, example: Json) -> Json:
        """Return an example; one that is written as a reference to a component is resolved."""
        reference = example.get("$ref") if isinstance(example, dict) and len(example) == 1 else None
        if not isinstance(reference, str) or not reference.startswith("#/components/examples/"):
            return example
        try:
            found = resolve_pointer(self.document, reference)
        except LookupError:
            return example
        return (
            found["value"]
            if isinstance(found, dict) and reference.count("/") == 3 and "value" in found
            else found
        )

    def keep_example(self, result: JsonObject, source: JsonObject, at: list[str]) -> None:
        """Keep an example as `x-example`, as other tools do: 2.0 has examples of responses only."""
        media = (
            next(iter(source["content"].values()), None)
            if isinstance(source.get("content"), dict)
            else None
        )
        for node, where in (
            (source, at),
            (media, [*at, "content"]),
            (source.get("schema"), [*at, "schema"]),
        ):
            for example in (
                self.examples(node, where)[:1]
                if isinstance(node, dict) and "x-example" not in result
                else ()
            ):
                self.issues.info(
                    pointer_of(where), "2.0 has no examples here; this one is kept as `x-example`."
                )
                result["x-example"] = example


def media_types(holder: JsonObject) -> dict[str, JsonObject]:
    """Return the media types of a body, response or parameter."""
    content = holder.get("content")
    if not isinstance(content, dict):
        return {}
    return {kind: media for kind, media in content.items() if isinstance(media, dict)}


def warn_about_extensions(content: dict[str, JsonObject], at: list[str], issues: IssueLog) -> None:
    """Report extensions of media types, which 2.0 does not have."""
    for kind, media in content.items():
        for key in (key for key in media if key.startswith("x-")):
            issues.info(
                pointer_of([*at, "content", kind, key]),
                "2.0 has no media types to extend; this was dropped.",
            )


def is_binary(schema: Json) -> bool:
    """Tell whether a schema describes a binary string."""
    return (
        isinstance(schema, dict)
        and schema.get("type") == "string"
        and schema.get("format") == "binary"
    )


def extensions(node: JsonObject) -> JsonObject:
    """Return the extensions of an object."""
    return {key: value for key, value in node.items() if key.startswith("x-")}

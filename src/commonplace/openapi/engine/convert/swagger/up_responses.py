"""Responses of 2.0 as those of 3.0, whose media types are their own."""

from __future__ import annotations

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.convert.swagger.schema_up import pointer_of
from commonplace.openapi.engine.convert.swagger.up_context import (
    UpContext,
    kept_extensions,
    mapping,
    strings,
)
from commonplace.openapi.engine.convert.swagger.up_parameters import JSON_TYPE, ParameterUp
from commonplace.openapi.model import METHODS


class ResponseUp:
    """Converts responses."""

    def __init__(self, context: UpContext, parameters: ParameterUp) -> None:
        self.context = context
        self.issues = context.issues
        self.parameters = parameters
        self.produces = strings(context.source.get("produces"))
        self.shared = self._shared_responses(context.document)

    def response(self, response: Json, produces: list[str], at: list[str]) -> Json:
        """Convert a response of an operation that produces these media types."""
        if not isinstance(response, dict):
            return response
        if "$ref" in response:
            return (
                self._inline_shared(response["$ref"], produces, at) if at[0] == "paths" else None
            ) or response
        result: JsonObject = {"description": response.get("description", "")}
        if isinstance(response.get("headers"), dict):
            result["headers"] = {
                name: self.parameters.header(header, [*at, "headers", name])
                for name, header in response["headers"].items()
                if isinstance(header, dict)
            }
        examples = response.get("examples")
        examples = examples if isinstance(examples, dict) else {}
        if "schema" in response:
            schema = self.context.schema(response["schema"], [*at, "schema"])
            is_file = (
                isinstance(response["schema"], dict) and response["schema"].get("type") == "file"
            )
            kinds = produces or (["application/octet-stream"] if is_file else [JSON_TYPE])
            result["content"] = {kind: {"schema": schema} for kind in kinds}
        self._examples(result, examples, produces, at)
        result.update(kept_extensions(response))
        return result

    def produced_by(self, operation: JsonObject) -> list[str]:
        """Return the media types that an operation produces."""
        return strings(operation.get("produces")) if "produces" in operation else self.produces

    def produced_by_shared(self, name: str) -> list[str]:
        """Return the media types of a shared response.

        They are those of the operations that refer to it, or the document's if these differ.
        """
        lists = self.shared.get(f"#/components/responses/{name}") or [self.produces]
        return self.produces if self.produces in lists else lists[0]

    def _inline_shared(self, reference: Json, produces: list[str], at: list[str]) -> Json | None:
        """Return a shared response for an operation that produces other media types.

        None if the operation produces the same as the others that refer to it.
        """
        name = str(reference).removeprefix("#/components/responses/")
        old = self.context.originals["responses"].get(name, "")
        shared = mapping(self.context.document, "responses").get(old)
        if (
            not isinstance(shared, dict)
            or not shared.keys() & {"schema", "examples"}
            or produces == self.produced_by_shared(name)
        ):
            return None
        self.issues.info(
            pointer_of(at),
            f"The response {old!r} is repeated here, because this operation produces other media "
            f"types.",
        )
        return self.response(shared, produces, at)

    def _shared_responses(self, source: JsonObject) -> dict[str, list[list[str]]]:
        """Return the media types of the operations that refer to each shared response.

        In 2.0 a response has no media types of its own.
        """
        found: dict[str, list[list[str]]] = {}
        for item in mapping(source, "paths").values():
            for operation in (
                (item.get(method) for method in METHODS) if isinstance(item, dict) else ()
            ):
                if not isinstance(operation, dict):
                    continue
                produces = self.produced_by(operation)
                for response in mapping(operation, "responses").values():
                    reference = response.get("$ref") if isinstance(response, dict) else None
                    lists = found.setdefault(reference, []) if isinstance(reference, str) else None
                    if lists is not None and produces not in lists:
                        lists.append(produces)
        return found

    def _examples(
        self, response: JsonObject, examples: JsonObject, produces: list[str], at: list[str]
    ) -> None:
        """Put each example into its media type.

        Where media types are declared, an example of another one is kept as an extension.
        """
        given = {kind: example for kind, example in examples.items() if not kind.startswith("x-")}
        content: JsonObject = response.get("content", {})
        schema = next((media["schema"] for media in content.values()), None)
        declared = list(content) or produces
        strange: JsonObject = {}
        for kind, example in given.items():
            same = (
                other
                for other in declared
                if _strip_parameters(other) == _strip_parameters(kind) and other not in given
            )
            here = kind if kind in declared else next(same, kind)
            if here not in declared and produces:
                strange[kind] = example
                message = f"{kind!r} is not produced here; its example is kept as `x-examples`."
                self.issues.warning(pointer_of(at, "examples", kind), message)
            else:
                content[here] = {
                    **content.get(here, {} if schema is None else {"schema": schema}),
                    "example": example,
                }
        if content:
            response["content"] = content
        if strange:
            response["x-examples"] = strange


def _strip_parameters(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()

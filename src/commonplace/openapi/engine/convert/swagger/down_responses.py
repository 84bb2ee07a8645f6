"""Responses of 3.0 as those of 2.0, which have one schema each."""

from __future__ import annotations

import re

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.convert.swagger.down_context import (
    DownContext,
    extensions,
    is_binary,
    media_types,
    warn_about_extensions,
)
from commonplace.openapi.engine.convert.swagger.down_parameters import ParameterDown
from commonplace.openapi.engine.convert.swagger.schema_up import pointer_of
from commonplace.openapi.engine.require import refuse

_BINARY = re.compile(
    r"(?:image|audio|video|font)/|application/(?:octet-stream|pdf|zip|gzip)\b", re.IGNORECASE
)


class ResponseDown:
    """Converts responses."""

    def __init__(self, context: DownContext, parameters: ParameterDown) -> None:
        self.context = context
        self.issues = context.issues
        self.parameters = parameters

    def responses(self, operation: JsonObject, at: list[str]) -> tuple[JsonObject, list[str]]:
        """Return the responses of an operation, and the media types that they produce."""
        produces: list[str] = []
        counts: list[int] = []
        responses: JsonObject = {}
        source = operation.get("responses")
        source = source if isinstance(source, dict) else {}
        for code, response in source.items():
            where = [*at, "responses", code]
            if code.startswith("x-"):
                responses[code] = response
                continue
            status = self._status(str(code), source, where)
            if status is None:
                continue
            if isinstance(response, dict) and isinstance(response.get("$ref"), str):
                responses[status] = {"$ref": response["$ref"]}
                content = self.context.resolve(response).get("content")
                kinds = list(content) if isinstance(content, dict) else []
            else:
                responses[status], kinds = self.response(self.context.resolve(response), where)
            produces += [kind for kind in kinds if kind not in produces]
            if kinds:
                counts.append(len(kinds))
        if not any(not code.startswith("x-") for code in responses):
            responses["default"] = {"description": ""}
        if counts and min(counts) < len(produces):
            self.issues.warning(
                pointer_of([*at, "responses"]),
                "2.0 has media types per operation only; all that any response has are listed "
                "for all of them.",
            )
        return responses, produces

    def response(self, response: JsonObject, at: list[str]) -> tuple[JsonObject, list[str]]:
        """Return a response, and the media types of its content."""
        result: JsonObject = {"description": response.get("description", "")}
        content = media_types(response)
        if content:
            result["schema"] = self._schema(content, at)
            warn_about_extensions(content, at, self.issues)
            examples = {
                kind: example
                for kind, media in content.items()
                for example in self.context.examples(media, [*at, "content", kind])
            }
            if examples:
                result["examples"] = examples
        headers = response.get("headers")
        if isinstance(headers, dict) and headers:
            result["headers"] = {
                name: self.parameters.header(header, [*at, "headers", name])
                for name, header in headers.items()
            }
        if response.get("links"):
            self.issues.critical(pointer_of([*at, "links"]), "2.0 has no links; they were dropped.")
        result.update(extensions(response))
        return result, list(content)

    def _schema(self, content: dict[str, JsonObject], at: list[str]) -> Json:
        described = [kind for kind in content if "schema" in content[kind]] or list(content)
        chosen = next((kind for kind in described if "json" in kind), described[0])
        if "schema" not in content[chosen]:
            # Without a schema, a 2.0 response has no content.
            return {"type": "file"} if all(_BINARY.match(kind) for kind in content) else {}
        schema = content[chosen]["schema"]
        schemas = [media["schema"] for media in content.values() if "schema" in media]
        if any(other != schema for other in schemas):
            self.issues.warning(
                pointer_of([*at, "content"]),
                f"2.0 has one schema per response; that of {chosen} was kept.",
            )
        if is_binary(schema):
            return {"type": "file"}
        return self.context.schema(schema, [*at, "content", chosen, "schema"])

    def _status(self, code: str, responses: JsonObject, at: list[str]) -> str | None:
        if code == "default" or re.fullmatch(r"\d{3}", code):
            return code
        if not code:
            raise refuse(pointer_of(at), "a response needs a status code")
        exact = f"{code[0]}00"
        if exact not in responses:
            self.issues.warning(
                pointer_of(at), f"2.0 has no ranges of status codes; {code} became {exact}."
            )
            return exact
        self.issues.warning(
            pointer_of(at), f"2.0 has no ranges of status codes; {code} was dropped beside {exact}."
        )
        return None

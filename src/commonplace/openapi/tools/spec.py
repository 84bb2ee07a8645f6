"""The `spec` argument that every tool shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from commonplace.dispatch.tool import Arguments
from commonplace.kernel.json_types import Json
from commonplace.openapi.errors import (
    FETCH_FAILED,
    NOT_A_SPEC,
    PATH_NOT_ALLOWED,
    SPEC_INPUT,
    SPEC_NOT_FOUND,
    SPEC_SYNTAX,
    SPEC_TOO_DEEP,
    SPEC_TOO_LARGE,
    SPEC_UNREADABLE,
    UNSUPPORTED_VERSION,
    URL_NOT_ALLOWED,
)
from commonplace.openapi.model import Spec


def drop_empty_text(value: Json) -> Json:
    """Read an empty string as an argument that was not given."""
    return None if value == "" else value


DOCUMENT = "OpenAPI document (JSON or YAML): exactly one of these."
OptionalText = Annotated[str | None, BeforeValidator(drop_empty_text)]
OptionalContent = Annotated[
    str | bytes | None,  # bytes: a long text, which the transport hands over as UTF-8
    BeforeValidator(drop_empty_text),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]}),
]


class SpecInput(Arguments):
    """Where the document is. Exactly one field."""

    file: OptionalText = Field(None, max_length=4096)
    url: OptionalText = Field(None, max_length=8192)
    content: OptionalContent = None
    ref: OptionalText = Field(
        None, max_length=4096, description="file:PROJECT/PATH. A file stored in this server."
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> SpecInput:
        given = [
            name for name in ("file", "url", "content", "ref") if getattr(self, name) is not None
        ]
        if len(given) != 1:
            got = ", ".join(given) or "none"
            raise ValueError(f"exactly one of file, url, content or ref is needed, got {got}")
        return self

    @property
    def spec(self) -> Spec:
        """Return the domain value."""
        return Spec(self.file, self.url, self.content, self.ref)


def stored_file_tools(arguments: Mapping[str, Json]) -> tuple[str, ...]:
    """Name the tool that reads stored files if unvalidated arguments refer to one.

    Callers who may not use that tool may not use the reference either.
    """
    specs = [
        spec
        for value in arguments.values()
        for spec in (value if isinstance(value, list) else (value,))
    ]
    return (
        ("file_read",) if any(isinstance(spec, dict) and spec.get("ref") for spec in specs) else ()
    )


READING = (
    SPEC_INPUT,
    SPEC_NOT_FOUND,
    SPEC_UNREADABLE,
    PATH_NOT_ALLOWED,
    URL_NOT_ALLOWED,
    FETCH_FAILED,
    SPEC_SYNTAX,
    SPEC_TOO_LARGE,
    SPEC_TOO_DEEP,
    NOT_A_SPEC,
    UNSUPPORTED_VERSION,
)
"""The errors of any tool that reads a document."""

"""The document and the calls that the read contracts share."""

from __future__ import annotations

from typing import Any

import jsonschema_rs

from commonplace.dispatch.schema import output_schema
from oas_calls import Tools, content, operation

STRING = {"type": "string"}


SPEC: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Pets", "version": "1", "description": "d" * 300},
    "servers": [{"url": "https://api.example/v1", "description": "s" * 300}],
    "tags": [{"name": "pets"}, {"name": "admin"}],
    "paths": {
        "/pets": {
            "summary": "All pets",
            "x-owner": "team-a",
            "get": operation(
                operationId="listPets",
                tags=["pets"],
                parameters=[
                    {"$ref": "#/components/parameters/Limit"},
                    {"name": "q", "in": "query", "schema": STRING},
                ],
                responses={
                    "200": {
                        "description": "a list",
                        "headers": {
                            "X-Next": {
                                "schema": STRING,
                                "description": "next page",
                                "required": True,
                            }
                        },
                        "content": {
                            "application/json": {
                                "schema": {
                                    "type": "array",
                                    "items": {"$ref": "#/components/schemas/Pet"},
                                }
                            }
                        },
                    },
                    "404": {"$ref": "#/components/responses/NotFound"},
                },
            ),
            "post": operation(
                operationId="addPet",
                tags=["pets", "admin"],
                deprecated=True,
                **{"x-internal": True},
            ),
        },
        "/pets/{id}": {
            "parameters": [
                {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
            ],
            "get": operation(operationId="getPet", responses={"default": {"description": "any"}}),
        },
        "/stores/{id}/pets": {
            "get": operation(
                parameters=[
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
                ]
            )
        },
    },
    "components": {
        "schemas": {
            "Pet": {
                "type": "object",
                "required": ["name"],
                "x-kind": "animal",
                "properties": {
                    "name": STRING,
                    "parent": {"$ref": "#/components/schemas/Pet"},
                    "tags": {"type": "array", "items": STRING},
                },
            },
            "Any": {"oneOf": [{"$ref": "#/components/schemas/Pet"}, STRING]},
        },
        "parameters": {"Limit": {"name": "limit", "in": "query", "schema": {"type": "integer"}}},
        "responses": {"NotFound": {"description": "none"}},
        "headers": {"Rate": {"schema": {"type": "integer"}, "deprecated": True}},
        "securitySchemes": {
            "key": {"type": "apiKey", "in": "header", "name": "K", "description": "a key"},
            "basic": {"type": "http", "scheme": "basic"},
        },
    },
}


def ask(tools: Tools, tool: str, spec: Any = SPEC, /, **arguments: Any) -> Any:
    """Call a tool by its contract name and validate the answer against the output schema."""
    answer = tools.call(tool, spec=content(spec), **arguments)
    jsonschema_rs.validate(output_schema(tools.registry.tool(tool).output), answer)
    return answer

"""Documents and helpers that the tests of Go generation share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from commonplace.openapi.engine.document.load import load
from commonplace.openapi.engine.generate.run import generate
from commonplace.openapi.model import ApiDocument, Family

SMALL = (
    "petstore-3.0.yaml",
    "petstore-3.2.yaml",
    "tictactoe-3.1.yaml",
    "uber-2.0.json",
    "media-type-examples-3.2.yaml",
)


def read(data: Path, name: str) -> ApiDocument:
    return load((data / "openapi/dev" / name).read_bytes())


def spec(
    paths: dict[str, Any] | None = None, schemas: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "paths": paths or {},
        **more,
    }
    if schemas is not None:
        document["components"] = {**more.get("components", {}), "schemas": schemas}
    return document


def files_of(
    document: dict[str, Any], *, client: bool = True, server: bool = True
) -> dict[str, str]:
    return generate(document, Family.V31, client=client, server=server).files


# Awkward documents
AWKWARD_SCHEMAS: dict[str, Any] = {
    "type": {
        "type": "object",
        "properties": {
            "func": {"type": "string"},
            "MarshalJSON": {"type": "string"},
            "id": {},
            "ID": {},
            "Id": {},
        },
    },
    "Nullable": {"type": "string"},
    "Client": {"type": "object"},
    "client": {"type": "object"},
    "Server": {"type": "object", "additionalProperties": False},
    "GetResponse": {"type": "object"},
    "GetRequest": {"type": "object"},
    "日本": {
        "type": "object",
        "properties": {
            "名前": {"type": "string"},
            "a,b": {"type": "string"},
            'q"t': {"type": "integer"},
            "": {"type": "string"},
            "`": {"type": ["string", "null"]},
        },
    },
    "123": {"type": "array", "items": {"$ref": "#/components/schemas/123"}},
    "Loop": {
        "type": "object",
        "required": ["next"],
        "properties": {"next": {"$ref": "#/components/schemas/Loop2"}},
    },
    "Loop2": {
        "type": "object",
        "required": ["back"],
        "properties": {"back": {"$ref": "#/components/schemas/Loop"}},
    },
    "Self": {"$ref": "#/components/schemas/Self"},
    "A": {"$ref": "#/components/schemas/B"},
    "B": {"$ref": "#/components/schemas/A"},
    "Missing": {"$ref": "#/components/schemas/Nowhere"},
    "Color": {"type": "string", "enum": ["red", "Red", "RED", "`", '"', "\\", "a\nb"]},
    "ColorRed": {"type": "string", "enum": ["x"]},
    "Empty": {},
    "Yes": True,
    "Tuple": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
    "Mixed": {"enum": ["a", 1, None, True]},
    "Map": {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "additionalProperties": {"$ref": "#/components/schemas/Map"},
    },
    "Recursive": {
        "oneOf": [
            {"type": "string"},
            {"type": "array", "items": {"$ref": "#/components/schemas/Recursive"}},
        ]
    },
    "AllLoop": {"allOf": [{"$ref": "#/components/schemas/AllLoop"}, {"type": "object"}]},
    "Doc": {
        "type": "object",
        "description": "* list\n# heading\n\n    code\n``quoted''\n1. one\n//go:build ignore\n"
        "+build x\n[a]: b\n*/ \u2028 \x00",
    },
    "Conflict": {
        "allOf": [
            {"properties": {"a": {"type": "string"}}},
            {"properties": {"a": {"type": "integer"}}},
        ]
    },
    "Deep": {
        "allOf": [{"$ref": "#/components/schemas/DeepA"}, {"$ref": "#/components/schemas/DeepB"}]
    },
    "DeepA": {"properties": {"child": {"$ref": "#/components/schemas/DeepA"}}},
    "DeepB": {"properties": {"child": {"$ref": "#/components/schemas/DeepB"}}},
}


def awkward() -> dict[str, Any]:
    reference = {"application/json": {"schema": {"$ref": "#/components/schemas/type"}}}
    ok = {"200": {"description": "ok\n- list", "content": reference}}

    def operation(name: str | None, **more: Any) -> dict[str, Any]:
        return {**({"operationId": name} if name else {}), "responses": ok, **more}

    parameters = [
        {"name": "a-b", "in": "query", "schema": {"type": "string"}},
        {"name": "a_b", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
        {"name": "a-b", "in": "header", "schema": {"type": "integer"}},
        {"name": "body", "in": "query", "schema": {"type": "string"}},
        {"name": "bodies", "in": "cookie", "schema": {"type": "string"}},
        {
            "name": "filter",
            "in": "query",
            "style": "deepObject",
            "explode": True,
            "schema": {"type": "object", "properties": {"x": {"type": "integer"}}},
        },
    ]
    return {
        "openapi": "3.1.0",
        "info": {"title": 'Package main\nimport "os"', "version": "`1`", "description": "*/"},
        "servers": [{"url": 'https://{h}.example.com/"`', "variables": {"h": {"default": "a"}}}],
        "paths": {
            "/get": {"get": operation("get"), "post": operation("Get"), "put": operation("get-")},
            "/x/{id}.{format}": {"get": operation(None, parameters=parameters)},
            "/x/{id}": {
                "delete": operation("ReadByte"),
                "get": operation("MarshalJSON", deprecated=True),
            },
            "/q?fixed=1": {
                "get": operation("type", requestBody={"required": True, "content": reference})
            },
            "/multi": {
                "post": operation(
                    "call",
                    requestBody={
                        "content": {
                            **reference,
                            "application/xml": {},
                            "multipart/form-data": {
                                "schema": {
                                    "type": "object",
                                    "properties": {
                                        "f": {
                                            "type": "string",
                                            "contentMediaType": "application/octet-stream",
                                        }
                                    },
                                }
                            },
                            "text/plain": {"schema": {"type": "string"}},
                            "application/vnd.x+json": {"schema": {"type": "integer"}},
                        }
                    },
                )
            },
            "/none": {"options": {"responses": {}}, "head": {}},
            "x-ignored": {},
        },
        "components": {
            "schemas": AWKWARD_SCHEMAS,
            "securitySchemes": {
                "Credential": {"type": "http", "scheme": "bearer"},
                "a b": {"type": "http", "scheme": "basic"},
                "tls": {"type": "mutualTLS"},
            },
        },
        "security": [{"Credential": []}, {"a b": [], "tls": []}, {}],
    }

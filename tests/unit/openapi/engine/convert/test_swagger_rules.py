"""Rules of conversion between 2.0 and 3.0: what goes in, what comes out, what is reported."""

from __future__ import annotations

import copy

from convert_cases import V20, V30, V31, converted, spec

SWAGGER = spec(
    V20,
    host="api.example.com",
    basePath="/v1",
    schemes=["https", "http"],
    consumes=["application/json"],
    produces=["application/json"],
    definitions={
        "Pet": {
            "type": "object",
            "discriminator": "kind",
            "properties": {
                "kind": {"type": "string"},
                "name": {"type": "string", "x-nullable": True},
            },
            "required": ["kind"],
        }
    },
    parameters={
        "limit": {
            "name": "limit",
            "in": "query",
            "type": "integer",
            "format": "int32",
            "maximum": 10,
        }
    },
    responses={"Gone": {"description": "gone", "schema": {"$ref": "#/definitions/Pet"}}},
    securityDefinitions={
        "basic": {"type": "basic"},
        "oauth": {
            "type": "oauth2",
            "flow": "accessCode",
            "authorizationUrl": "https://a",
            "tokenUrl": "https://t",
            "scopes": {"read": "r"},
        },
    },
    security=[{"oauth": ["read"]}],
)
SWAGGER["paths"] = {
    "/pets": {
        "get": {
            "parameters": [
                {"$ref": "#/parameters/limit"},
                {
                    "name": "tags",
                    "in": "query",
                    "type": "array",
                    "items": {"type": "string"},
                    "collectionFormat": "multi",
                },
                {"name": "ids", "in": "query", "type": "array", "items": {"type": "integer"}},
                {
                    "name": "pipes",
                    "in": "query",
                    "type": "array",
                    "items": {"type": "string"},
                    "collectionFormat": "pipes",
                },
            ],
            "responses": {
                "200": {
                    "description": "ok",
                    "schema": {"type": "array", "items": {"$ref": "#/definitions/Pet"}},
                    "headers": {"X-Total": {"type": "integer"}},
                    "examples": {"application/json": []},
                },
                "410": {"$ref": "#/responses/Gone"},
            },
        },
        "post": {
            "parameters": [
                {
                    "name": "pet",
                    "in": "body",
                    "required": True,
                    "schema": {"$ref": "#/definitions/Pet"},
                }
            ],
            "responses": {"201": {"description": "made"}},
        },
        "put": {
            "consumes": ["multipart/form-data"],
            "parameters": [
                {
                    "name": "file",
                    "in": "formData",
                    "type": "file",
                    "required": True,
                    "description": "the file",
                },
                {
                    "name": "notes",
                    "in": "formData",
                    "type": "array",
                    "items": {"type": "string"},
                    "collectionFormat": "csv",
                },
            ],
            "responses": {"200": {"description": "ok", "schema": {"type": "file"}}},
        },
    }
}


def test_2_0_to_3_0_servers_bodies_forms_styles_flows_and_references() -> None:
    made = converted(SWAGGER, V20, V30).document
    assert made["servers"] == [
        {"url": "https://api.example.com/v1"},
        {"url": "http://api.example.com/v1"},
    ]
    get, post, put = (made["paths"]["/pets"][method] for method in ("get", "post", "put"))
    assert get["parameters"] == [
        {"$ref": "#/components/parameters/limit"},
        {"name": "tags", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
        {
            "name": "ids",
            "in": "query",
            "style": "form",
            "explode": False,
            "schema": {"type": "array", "items": {"type": "integer"}},
        },
        {
            "name": "pipes",
            "in": "query",
            "style": "pipeDelimited",
            "explode": False,
            "schema": {"type": "array", "items": {"type": "string"}},
        },
    ]
    assert get["responses"]["200"]["content"] == {
        "application/json": {
            "schema": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}},
            "example": [],
        }
    }
    assert get["responses"]["200"]["headers"] == {"X-Total": {"schema": {"type": "integer"}}}
    assert get["responses"]["410"] == {"$ref": "#/components/responses/Gone"}
    assert post["requestBody"]["content"] == {
        "application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}
    }
    assert post["requestBody"]["required"] is True
    form = put["requestBody"]["content"]["multipart/form-data"]
    assert form["schema"]["properties"]["file"] == {
        "type": "string",
        "format": "binary",
        "description": "the file",
    }
    assert form["schema"]["required"] == ["file"]
    assert form["encoding"] == {"notes": {"style": "form", "explode": False}}
    assert put["responses"]["200"]["content"]["application/json"]["schema"] == {
        "type": "string",
        "format": "binary",
    }
    components = made["components"]
    assert components["schemas"]["Pet"]["discriminator"] == {"propertyName": "kind"}
    assert components["schemas"]["Pet"]["properties"]["name"] == {
        "type": "string",
        "nullable": True,
    }
    assert components["securitySchemes"]["basic"] == {"type": "http", "scheme": "basic"}
    assert components["securitySchemes"]["oauth"]["flows"] == {
        "authorizationCode": {
            "authorizationUrl": "https://a",
            "tokenUrl": "https://t",
            "scopes": {"read": "r"},
        }
    }


def test_2_0_to_3_0_and_back_is_the_same_document() -> None:
    up = converted(SWAGGER, V20, V30).document
    back = converted(up, V30, V20).document
    expected = copy.deepcopy(SWAGGER)
    del expected["consumes"], expected["produces"]  # 3.0 has them only at operations
    for method, consumes, produces in (
        ("get", None, ["application/json"]),
        ("post", ["application/json"], None),
        ("put", ["multipart/form-data"], ["application/json"]),
    ):
        operation = expected["paths"]["/pets"][method]
        operation.pop("consumes", None)
        if consumes:
            operation["consumes"] = consumes
        if produces:
            operation["produces"] = produces
    del expected["paths"]["/pets"]["put"]["parameters"][1]["collectionFormat"]  # csv is the default
    assert back == expected


def test_names_that_3_0_does_not_allow_are_renamed_with_their_references() -> None:
    document = spec(
        V20, definitions={"A B": {"type": "string"}, "A_B": {"$ref": "#/definitions/A B"}}
    )
    schemas = converted(document, V20, V30).document["components"]["schemas"]
    assert schemas == {"A_B_2": {"type": "string"}, "A_B": {"$ref": "#/components/schemas/A_B_2"}}


def test_everything_that_2_0_cannot_express_is_reported() -> None:
    document = spec(
        V30,
        servers=[
            {"url": "https://{region}.example.com/v1", "variables": {"region": {"default": "eu"}}},
            {"url": "https://other.example.com"},
        ],
        components={
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "oidc": {"type": "openIdConnect", "openIdConnectUrl": "https://x"},
                "oauth": {
                    "type": "oauth2",
                    "flows": {
                        "implicit": {"authorizationUrl": "https://a", "scopes": {}},
                        "password": {"tokenUrl": "https://t", "scopes": {}},
                    },
                },
            }
        },
        security=[{"oauth": []}, {"oidc": []}],
    )
    document["paths"] = {
        "/a": {
            "trace": {"responses": {"200": {"description": "ok"}}},
            "get": {
                "parameters": [{"name": "c", "in": "cookie", "schema": {"type": "string"}}],
                "callbacks": {"cb": {"{$url}": {}}},
                "responses": {
                    "2XX": {
                        "description": "ok",
                        "links": {"l": {"operationId": "x"}},
                        "content": {
                            "application/json": {"schema": {"oneOf": [{"type": "string"}]}}
                        },
                    }
                },
            },
        }
    }
    result = converted(document, V30, V20)
    made = result.document
    assert (made["host"], made["basePath"], made["schemes"]) == ("eu.example.com", "/v1", ["https"])
    assert made["securityDefinitions"]["bearer"] == {
        "type": "apiKey",
        "name": "Authorization",
        "in": "header",
        "x-scheme": "bearer",
    }
    assert {name: one.get("flow") for name, one in made["securityDefinitions"].items()} == {
        "bearer": None,
        "oauth": "implicit",
        "oauth_password": "password",
    }
    assert made["security"] == [{"oauth": []}, {"oauth_password": []}]
    assert made["paths"]["/a"]["get"]["responses"] == {
        "200": {"description": "ok", "schema": {"x-oneOf": [{"type": "string"}]}}
    }
    critical = {issue.path for issue in result.issues if issue.severity == "critical"}
    assert critical == {
        "/paths/~1a/trace",
        "/paths/~1a/get/parameters/0",
        "/paths/~1a/get/callbacks",
        "/paths/~1a/get/responses/2XX/links",
        "/components/securitySchemes/oidc",
    }


def test_the_loss_of_a_second_form_and_of_part_encodings_is_reported() -> None:
    form = {"type": "object", "properties": {"a": {"type": "string"}}}
    content = {
        "multipart/form-data": {"schema": form, "encoding": {"a": {"contentType": "text/plain"}}},
        "application/x-www-form-urlencoded": {
            "schema": {"type": "object", "properties": {"b": {"type": "integer"}}}
        },
    }
    source = spec(
        V30,
        paths={
            "/a": {
                "post": {
                    "requestBody": {"content": content},
                    "responses": {"200": {"description": "d"}},
                }
            }
        },
    )
    told = {issue.path: issue.severity for issue in converted(source, V30, V20).issues}
    start = "/paths/~1a/post/requestBody/content"
    assert told == {
        start: "warning",
        f"{start}/multipart~1form-data/encoding/a/contentType": "warning",
    }


def test_webhooks_that_2_0_drops_are_reported_once() -> None:
    source = spec(V31, webhooks={"w": {"post": {"responses": {"200": {"description": "d"}}}}})
    assert [(issue.severity, issue.path) for issue in converted(source, V31, V20).issues] == [
        ("critical", "/webhooks")
    ]


def test_a_required_header_is_marked_by_an_extension_in_2_0() -> None:
    header = {"required": True, "schema": {"type": "integer"}}
    answer = {"responses": {"200": {"description": "ok", "headers": {"X-A": header}}}}
    result = converted(spec(V30, paths={"/a": {"get": answer}}), V30, V20)
    made = result.document["paths"]["/a"]["get"]["responses"]["200"]["headers"]["X-A"]
    assert made == {"type": "integer", "x-required": True}
    assert [issue.path for issue in result.issues] == [
        "/paths/~1a/get/responses/200/headers/X-A/required"
    ]

"""Between 2.0 and 3.0 nothing goes without a word: it is said in the target's words, kept as an
extension that comes back, or told.
"""

from __future__ import annotations

from typing import Any

from convert_cases import V20, V30, V31, converted, schema_across, spec

OK: dict[str, Any] = {"200": {"description": "d"}}


def operation_across(
    operation: dict[str, Any], **more: Any
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """A 3.0 operation in 2.0 and back in 3.0, and where something was told on the way down."""
    down = converted(
        spec(V30, paths={"/a": {"post": {"responses": OK, **operation}}}, **more), V30, V20
    )
    back = converted(down.document, V20, V30)
    told = [issue.path.removeprefix("/paths/~1a/post/") for issue in down.issues]
    return down.document["paths"]["/a"]["post"], back.document["paths"]["/a"]["post"], told


def test_members_forbidden_in_2_0_are_forbidden_the_same_way_in_3_0() -> None:
    for word in (False, True):
        schema = {"type": "object", "additionalProperties": word}
        assert schema_across(schema, V20, V30) == (schema, ())
        assert schema_across(schema, V31, V30) == (schema, ())


def test_a_property_may_have_the_name_of_a_boolean_keyword() -> None:
    schema = {
        "type": "object",
        "properties": {
            "additionalProperties": False,
            "a": {"properties": {"additionalProperties": True}},
        },
    }
    made, _ = schema_across(schema, V31, V30)
    inner = {"properties": {"additionalProperties": {}}}
    assert made == {
        "type": "object",
        "properties": {"additionalProperties": {"not": {}}, "a": inner},
    }


def test_examples_of_parameters_headers_and_bodies_survive_2_0() -> None:
    operation = {
        "parameters": [
            {"name": "a", "in": "query", "schema": {"type": "string"}, "example": "one"},
            {
                "name": "b",
                "in": "query",
                "schema": {"type": "string"},
                "examples": {"x": {"$ref": "#/components/examples/E"}, "y": {}},
            },
            {"name": "c", "in": "query", "schema": {"type": "string", "example": "three"}},
        ],
        "requestBody": {
            "content": {"application/json": {"schema": {"type": "object"}, "example": {"n": 1}}}
        },
        "responses": {
            "200": {
                "description": "d",
                "headers": {"X-A": {"schema": {"type": "integer"}, "example": 5}},
            }
        },
    }
    down, back, told = operation_across(operation, components={"examples": {"E": {"value": "two"}}})
    assert [parameter.get("x-example") for parameter in down["parameters"]] == [
        "one",
        "two",
        "three",
        None,
    ]
    assert down["parameters"][3]["x-examples"] == {"application/json": {"n": 1}}
    assert [parameter["example"] for parameter in back["parameters"]] == ["one", "two", "three"]
    assert back["requestBody"] == operation["requestBody"]
    assert back["responses"]["200"]["headers"]["X-A"] == {
        "schema": {"type": "integer"},
        "example": 5,
    }
    assert "parameters/1/examples" in told


def test_examples_of_forms_are_kept_with_their_fields() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer", "example": 2}},
    }
    body = {"content": {"multipart/form-data": {"schema": schema, "example": {"a": "one"}}}}
    down, back, _ = operation_across({"requestBody": body})
    assert [parameter["x-example"] for parameter in down["parameters"]] == ["one", 2]
    fields = back["requestBody"]["content"]["multipart/form-data"]["schema"]["properties"]
    assert [value["example"] for value in fields.values()] == ["one", 2]


def test_descriptions_of_a_whole_form_are_reported() -> None:
    fields = {"type": "object", "properties": {"a": {"type": "string"}}}
    form = {"application/x-www-form-urlencoded": {"schema": fields, "x-m": 1}}
    _, _, told = operation_across(
        {"requestBody": {"description": "d", "required": True, "content": form}}
    )
    assert told == [
        "requestBody",
        "requestBody",
        "requestBody/content/application~1x-www-form-urlencoded/x-m",
    ]
    form = {"application/x-www-form-urlencoded": {"schema": {**fields, "required": ["a"]}}}
    assert operation_across({"requestBody": {"content": form}})[2] == ["requestBody"]
    assert operation_across({"requestBody": {"required": True, "content": form}})[2] == []


def test_media_types_that_2_0_cannot_distinguish_are_reported() -> None:
    def responses(*kinds: str) -> dict[str, Any]:
        return {
            str(200 + index): {"description": "d", "content": {kind: {"schema": {}}}}
            for index, kind in enumerate(kinds)
        }

    down, _, told = operation_across(
        {"responses": responses("application/json", "application/xml")}
    )
    assert (down["produces"], told) == (["application/json", "application/xml"], ["responses"])
    assert (
        operation_across({"responses": responses("application/json", "application/json")})[2] == []
    )
    narrow, wide = responses("application/json", "application/json").values()
    wide["content"]["application/xml"] = {"schema": {}}
    assert operation_across({"responses": {"200": narrow, "201": wide}})[2] == ["responses"]


def test_content_without_a_schema_is_still_content_in_2_0() -> None:
    for kind, schema in (
        ("application/json", {}),
        ("application/xml", {}),
        ("image/png", {"type": "file"}),
    ):
        down, back, _ = operation_across(
            {"responses": {"200": {"description": "d", "content": {kind: {}}}}}
        )
        assert down["responses"]["200"]["schema"] == schema
        assert list(back["responses"]["200"]["content"]) == [kind]


def test_a_header_with_content_and_the_description_of_a_server_are_reported() -> None:
    header = {"content": {"application/json": {"schema": {"type": "object"}}}}
    responses = {"200": {"description": "d", "headers": {"X-A": header}}}
    _, _, told = operation_across(
        {"responses": responses}, servers=[{"url": "https://a.example", "description": "d"}]
    )
    assert told == ["/servers", "responses/200/headers/X-A/content"]


def test_a_shared_response_of_2_0_has_the_media_types_of_the_operations_that_give_it() -> None:
    shared = {
        "Error": {"description": "d", "schema": {"type": "string"}},
        "Gone": {"description": "d"},
    }

    def operation(*produces: str) -> dict[str, Any]:
        return {
            "produces": list(produces),
            "responses": {
                "400": {"$ref": "#/responses/Error"},
                "410": {"$ref": "#/responses/Gone"},
            },
        }

    paths = {
        "/a": {
            "get": operation("application/problem+json"),
            "put": operation("application/problem+json"),
        }
    }
    made = converted(spec(V20, responses=shared, paths=paths), V20, V30)
    assert list(made.document["components"]["responses"]["Error"]["content"]) == [
        "application/problem+json"
    ]
    assert made.document["paths"]["/a"]["get"]["responses"]["400"] == {
        "$ref": "#/components/responses/Error"
    }

    paths["/a"]["put"] = operation("text/plain")
    made = converted(spec(V20, responses=shared, paths=paths, produces=["text/plain"]), V20, V30)
    assert list(made.document["components"]["responses"]["Error"]["content"]) == ["text/plain"]
    get, put = (made.document["paths"]["/a"][method]["responses"] for method in ("get", "put"))
    assert get["400"]["content"] == {"application/problem+json": {"schema": {"type": "string"}}}
    assert put["400"] == {"$ref": "#/components/responses/Error"}
    assert get["410"] == put["410"] == {"$ref": "#/components/responses/Gone"}
    assert [issue.path for issue in made.issues] == ["/paths/~1a/get/responses/400"]


def test_security_schemes_that_2_0_cannot_express_are_restored() -> None:
    flow = {
        "authorizationUrl": "https://a.example/a",
        "refreshUrl": "https://a.example/r",
        "scopes": {},
    }
    schemes = {
        "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": "d"},
        "cookie": {"type": "apiKey", "name": "sid", "in": "cookie"},
        "key": {"type": "apiKey", "name": "X-Key", "in": "header", "x-scheme": "own"},
        "oauth": {"type": "oauth2", "flows": {"implicit": flow}},
    }
    down = converted(spec(V30, components={"securitySchemes": schemes}), V30, V20)
    assert converted(down.document, V20, V30).document["components"]["securitySchemes"] == schemes


def test_a_scheme_that_became_several_does_not_take_the_name_of_another() -> None:
    flow = {
        "authorizationUrl": "https://a.example/a",
        "tokenUrl": "https://a.example/t",
        "scopes": {},
    }
    schemes = {
        "oauth": {"type": "oauth2", "flows": {"implicit": flow, "authorizationCode": flow}},
        "oauth_accessCode": {"type": "apiKey", "name": "X-Key", "in": "header"},
    }
    down = converted(
        spec(V30, components={"securitySchemes": schemes}, security=[{"oauth": []}]), V30, V20
    ).document
    assert down["securityDefinitions"]["oauth_accessCode"] == schemes["oauth_accessCode"]
    assert down["security"] == [{"oauth": []}, {"oauth_accessCode2": []}]


def test_texts_of_a_path_item_are_restored() -> None:
    item = {"summary": "s", "description": "d", "get": {"responses": OK}}
    down = converted(spec(V30, paths={"/a": item}), V30, V20).document
    assert converted(down, V20, V30).document["paths"] == {"/a": item}


def test_webhooks_of_an_extension_become_webhooks_only_as_path_items() -> None:
    hook = {"post": {"responses": OK}}
    assert converted(spec(V30, **{"x-webhooks": {"a": hook}}), V30, V31).document["webhooks"] == {
        "a": hook
    }
    callback = {"a": {"{$request.body#/url}": hook}}
    made = converted(spec(V30, **{"x-webhooks": callback}), V30, V31)
    assert ("webhooks" in made.document, made.document["x-webhooks"]) == (False, callback)
    assert [issue.path for issue in made.issues] == ["/x-webhooks"]


def test_constants_in_links_are_strings_in_3_1() -> None:
    links = {"l": {"operationId": "o", "parameters": {"a": 0, "b": "$response.body#/b", "c": True}}}
    made = converted(spec(V30, components={"links": links}), V30, V31)
    assert made.document["components"]["links"]["l"]["parameters"] == {
        "a": "0",
        "b": "$response.body#/b",
        "c": "true",
    }
    assert [issue.path for issue in made.issues] == ["/components/links/l/parameters"]


def test_a_parameter_that_is_an_enum_alone_gets_the_type_of_its_values() -> None:
    def parameter(*values: Any) -> tuple[dict[str, Any], list[str]]:
        down, _, told = operation_across(
            {"parameters": [{"name": "a", "in": "query", "schema": {"enum": list(values)}}]}
        )
        return {key: down["parameters"][0][key] for key in ("type", "enum")}, told

    assert parameter(1, 2) == ({"type": "integer", "enum": [1, 2]}, [])
    assert parameter(1, 2.5) == ({"type": "number", "enum": [1, 2.5]}, [])
    assert parameter(True) == ({"type": "boolean", "enum": [True]}, [])
    assert parameter(True, 1) == (
        {"type": "string", "enum": ["true", "1"]},
        ["parameters/0/schema"],
    )
    assert parameter(True, 1, "x") == (
        {"type": "string", "enum": ["true", "1", "x"]},
        ["parameters/0/schema"],
    )


def test_values_of_an_enum_are_distinct_in_2_0() -> None:
    made, _ = schema_across({"enum": ["a", 1, "a", True, {"b": [1]}, {"b": [1]}]}, V30, V20)
    assert [repr(value) for value in made["enum"]] == ["'a'", "1", "True", "{'b': [1]}"]
    down, _, _ = operation_across(
        {
            "parameters": [
                {"name": "a", "in": "query", "schema": {"type": "string", "enum": ["x", "y", "x"]}}
            ]
        }
    )
    assert down["parameters"][0]["enum"] == ["x", "y"]


def test_an_example_that_is_a_reference_is_the_example_it_names() -> None:
    components = {"examples": {"E": {"value": {"n": 1}}}}
    for reference in ("#/components/examples/E", "#/components/examples/E/value"):
        content = {"application/json": {"schema": {}, "example": {"$ref": reference}}}
        down, _, _ = operation_across(
            {"responses": {"200": {"description": "d", "content": content}}}, components=components
        )
        assert down["responses"]["200"]["examples"] == {"application/json": {"n": 1}}


def test_the_media_type_of_base64_text_is_reported_when_3_0_drops_it() -> None:
    schema = {"type": "string", "contentEncoding": "base64"}
    assert schema_across(schema, V31, V30) == ({"type": "string", "format": "byte"}, ())
    made, issues = schema_across({**schema, "contentMediaType": "image/png"}, V31, V30)
    assert made == {"type": "string", "format": "byte"}
    assert [issue.path for issue in issues] == ["/components/schemas/S/contentMediaType"]

"""Joining and bundling: each strategy, and that what references meant before they mean after."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.bundle import bundle
from commonplace.openapi.engine.join import Joined, Part, Strategy, join
from commonplace.openapi.model import Family
from commonplace.openapi.service import Access, OpenApiService, Spec

OK = {"200": {"description": "ok"}}


def spec(paths: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": paths, **more}


def using(name: str) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {"get": {"responses": {"200": {"description": "ok", "content": {"application/json": {"schema": schema}}}}}}


def joined(*documents: dict[str, Any], paths: Strategy = "fail", schemas: Strategy = "accept-left") -> Joined:
    before = copy.deepcopy(documents)
    parts = [Part(one, "3.0.3", Family.V30, name) for one, name in zip(documents, ("left.yaml", "right.yaml", "third.yaml"), strict=False)]
    result = join(parts, path_strategy=paths, schema_strategy=schemas)
    assert documents == before
    return result


LEFT = spec({"/a": using("Pet")}, components={"schemas": {"Pet": {"type": "object"}, "Same": {"type": "string"}}}, tags=[{"name": "x"}])
RIGHT = spec(
    {"/b": using("Pet")},
    components={"schemas": {"Pet": {"type": "string"}, "Same": {"type": "string"}}},
    tags=[{"name": "x"}, {"name": "y"}],
)


def test_accept_left_and_accept_right_choose_the_schema_and_say_so() -> None:
    left = joined(LEFT, RIGHT, schemas="accept-left")
    right = joined(LEFT, RIGHT, schemas="accept-right")
    assert left.document["components"]["schemas"]["Pet"] == {"type": "object"}
    assert right.document["components"]["schemas"]["Pet"] == {"type": "string"}
    assert list(left.document["paths"]) == ["/a", "/b"]
    assert (left.collisions, right.collisions) == (1, 1)
    assert "Pet" in left.warnings[0]


@pytest.mark.parametrize("strategy", ["fail", "deduplicate"])
def test_fail_names_the_schema_and_the_strategies(strategy: Strategy) -> None:
    with pytest.raises(CommonplaceError) as raised:
        joined(LEFT, RIGHT, schemas=strategy)
    assert raised.value.code.name == "JOIN_COLLISION"
    assert raised.value.details == {"kind": "schema", "name": "Pet"}
    assert "accept-left" in str(raised.value.hint)


def test_equal_schemas_are_no_collision() -> None:
    same = spec({"/b": using("Same")}, components={"schemas": {"Same": {"type": "string"}}})
    for strategy in ("fail", "deduplicate", "rename-right"):
        result = joined(LEFT, same, schemas=strategy)  # type: ignore[arg-type]
        assert result.collisions == 0
        assert list(result.document["components"]["schemas"]) == ["Pet", "Same"]


@pytest.mark.parametrize("strategy", ["rename-right", "deduplicate-or-rename"])
def test_renaming_the_right_schema_rewrites_the_right_references(strategy: Strategy) -> None:
    made = joined(LEFT, RIGHT, schemas=strategy).document
    assert made["components"]["schemas"] == {"Pet": {"type": "object"}, "Same": {"type": "string"}, "Pet_right": {"type": "string"}}
    assert _schema(made, "/a") == "#/components/schemas/Pet"
    assert _schema(made, "/b") == "#/components/schemas/Pet_right"


def test_renaming_the_left_schema_rewrites_the_left_references() -> None:
    made = joined(LEFT, RIGHT, schemas="rename-left").document
    assert _schema(made, "/a") == "#/components/schemas/Pet_left"
    assert _schema(made, "/b") == "#/components/schemas/Pet"


def _schema(document: dict[str, Any], path: str) -> str:
    return str(document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]["$ref"])


def test_path_strategies() -> None:
    one, other = spec({"/a": {"get": {"summary": "left", "responses": OK}}}), spec({"/a": {"get": {"summary": "right", "responses": OK}}})
    with pytest.raises(CommonplaceError) as raised:
        joined(one, other)
    assert raised.value.details == {"kind": "path", "name": "/a"}
    assert joined(one, other, paths="accept-left").document["paths"]["/a"]["get"]["summary"] == "left"
    assert joined(one, other, paths="accept-right").document["paths"]["/a"]["get"]["summary"] == "right"
    assert joined(one, one).collisions == 0


def test_operations_of_one_path_in_two_documents_come_together() -> None:
    made = joined(spec({"/a": {"get": {"responses": OK}}}), spec({"/a": {"post": {"responses": OK}}}))
    assert set(made.document["paths"]["/a"]) == {"get", "post"}
    assert made.collisions == 0


def test_operation_ids_stay_unique_and_links_follow() -> None:
    one = spec({"/a": {"get": {"operationId": "list", "responses": OK}}})
    link = {"200": {"description": "ok", "links": {"next": {"operationId": "list"}}}}
    other = spec({"/b": {"get": {"operationId": "list", "responses": link}}})
    made = joined(one, other).document
    assert made["paths"]["/b"]["get"]["operationId"] == "list_right"
    assert made["paths"]["/b"]["get"]["responses"]["200"]["links"]["next"]["operationId"] == "list_right"


def test_security_of_the_document_moves_to_the_operations_where_the_others_differ() -> None:
    keys = {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "k"}}}
    one = spec({"/a": {"get": {"responses": OK}}}, security=[{"key": []}], components=keys)
    made = joined(one, spec({"/b": {"get": {"responses": OK}}})).document
    assert made["security"] == [{"key": []}]
    assert "security" not in made["paths"]["/a"]["get"]
    assert made["paths"]["/b"]["get"]["security"] == []


def test_servers_are_united_and_each_path_keeps_its_own() -> None:
    one = spec({"/a": {"get": {"responses": OK}}}, servers=[{"url": "https://one"}])
    other = spec({"/b": {"get": {"responses": OK}}}, servers=[{"url": "https://two"}])
    made = joined(one, other).document
    assert made["servers"] == [{"url": "https://one"}, {"url": "https://two"}]
    assert made["paths"]["/a"]["servers"] == [{"url": "https://one"}]
    assert made["paths"]["/b"]["servers"] == [{"url": "https://two"}]
    assert "servers" not in joined(one, {**other, "servers": [{"url": "https://one"}]}).document["paths"]["/a"]


def test_security_schemes_that_differ_are_renamed_with_their_requirements() -> None:
    one = spec({}, components={"securitySchemes": {"auth": {"type": "http", "scheme": "basic"}}})
    other = spec(
        {"/b": {"get": {"responses": OK, "security": [{"auth": []}]}}},
        components={"securitySchemes": {"auth": {"type": "http", "scheme": "bearer"}}},
    )
    made = joined(one, other).document
    assert made["components"]["securitySchemes"]["auth_right"]["scheme"] == "bearer"
    assert made["paths"]["/b"]["get"]["security"] == [{"auth_right": []}]


def test_tags_are_deduplicated_and_three_documents_join() -> None:
    made = joined(LEFT, RIGHT, spec({"/c": {"get": {"responses": OK}}}, tags=[{"name": "z"}])).document
    assert [tag["name"] for tag in made["tags"]] == ["x", "y", "z"]
    assert list(made["paths"]) == ["/a", "/b", "/c"]


def test_mixed_versions_are_refused_with_the_command_that_helps() -> None:
    parts = [Part(LEFT, "3.0.3", Family.V30, "a"), Part({"swagger": "2.0"}, "2.0", Family.V20, "b")]
    with pytest.raises(CommonplaceError) as raised:
        join(parts)
    assert raised.value.code.name == "MIXED_VERSIONS"
    assert "convert" in str(raised.value.hint)
    assert "3.0" in str(raised.value.hint)


def test_2_0_documents_join_by_their_own_sections() -> None:
    one = {"swagger": "2.0", "info": {"title": "t", "version": "1"}, "host": "a", "paths": {}, "definitions": {"A": {"type": "string"}}}
    other = {**one, "host": "b", "definitions": {"A": {"type": "integer"}, "B": {"$ref": "#/definitions/A"}}}
    made = join([Part(one, "2.0", Family.V20, "l"), Part(other, "2.0", Family.V20, "r")], schema_strategy="rename-right")
    assert made.document["definitions"] == {"A": {"type": "string"}, "A_r": {"type": "integer"}, "B": {"$ref": "#/definitions/A_r"}}
    assert any("host" in warning for warning in made.warnings)


# Bundling
FILES = {
    "root.yaml": """
openapi: 3.0.3
info: {title: t, version: '1'}
paths:
  /a: {$ref: 'paths/a.yaml'}
components:
  schemas:
    Error: {type: object}
    Local: {$ref: 'models.yaml#/Pet'}
""",
    "paths/a.yaml": """
get:
  parameters:
    - $ref: '../parameters.yaml#/limit'
  responses:
    '200':
      description: ok
      content:
        application/json:
          schema: {$ref: '../models.yaml#/Pet'}
    default:
      description: bad
      content:
        application/json:
          schema: {$ref: '../root.yaml#/components/schemas/Error'}
""",
    "models.yaml": """
Pet:
  type: object
  properties:
    friend: {$ref: '#/Pet'}
    error: {$ref: '#/Error'}
Error: {type: string}
""",
    "parameters.yaml": "limit: {name: limit, in: query, schema: {type: integer}}",
}


def test_bundling_brings_all_files_into_one_and_keeps_cycles(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    service = OpenApiService(Access(local=True, working_folder=tmp_path))
    document = service.load(Spec(file=str(tmp_path / "root.yaml")))
    made = bundle(document, service.resolver(document))
    schemas = made.document["components"]["schemas"]
    get = made.document["paths"]["/a"]["get"]
    assert get["parameters"] == [{"$ref": "#/components/parameters/limit"}]
    assert get["responses"]["200"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Local"}
    assert get["responses"]["default"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Error"}
    assert schemas["Local"]["properties"] == {
        "friend": {"$ref": "#/components/schemas/Local"},
        "error": {"$ref": "#/components/schemas/Error2"},
    }
    assert schemas["Error"] == {"type": "object"}
    assert schemas["Error2"] == {"type": "string"}
    assert len(made.files) == 3


PETS = {
    "root.yaml": """
openapi: 3.0.3
info: {title: t, version: '1'}
paths: {}
components:
  schemas:
    Dog: {type: object, properties: {root: {type: string}}}
    Pet:
      oneOf:
        - $ref: 'pets.yaml#/components/schemas/Cat'
        - $ref: '#/components/schemas/Dog'
        - $ref: 'bird.yaml'
      discriminator:
        propertyName: kind
        mapping:
          cat: 'pets.yaml#/components/schemas/Cat'
          dog: Dog
          hound: '#/components/schemas/Dog'
          bird: bird.yaml
          fish: 'pets.yaml#/components/schemas/Fish'
    Owner: {$ref: 'pets.yaml#/components/schemas/Owner'}
""",
    "pets.yaml": """
components:
  schemas:
    Cat: {type: object}
    Dog: {type: object, properties: {other: {type: string}}}
    Fish: {type: object}
    Owner:
      oneOf: [{$ref: '#/components/schemas/Dog'}, {$ref: '#/components/schemas/Cat'}]
      discriminator: {propertyName: kind, mapping: {d: Dog, c: '#/components/schemas/Cat', other: Unknown}}
""",
    "bird.yaml": "type: object",
}


def test_bundling_follows_the_mappings_of_discriminators_as_it_follows_references(tmp_path: Path) -> None:
    for name, text in PETS.items():
        (tmp_path / name).write_text(text)
    service = OpenApiService(Access(local=True, working_folder=tmp_path))
    document = service.load(Spec(file=str(tmp_path / "root.yaml")))
    schemas = bundle(document, service.resolver(document)).document["components"]["schemas"]
    pet, owner = schemas["Pet"], schemas["Owner"]
    start = "#/components/schemas/"
    assert [one["$ref"] for one in pet["oneOf"]] == [f"{start}Cat", f"{start}Dog", f"{start}bird"]
    assert pet["discriminator"]["mapping"] == {
        "cat": f"{start}Cat",
        "dog": "Dog",
        "hound": f"{start}Dog",
        "bird": f"{start}bird",
        "fish": f"{start}Fish",
    }
    assert schemas["Fish"] == {"type": "object"}, "what only a mapping names is brought in too"
    assert owner["discriminator"]["mapping"] == {"d": f"{start}Dog2", "c": f"{start}Cat", "other": "Unknown"}
    assert schemas["Dog2"]["properties"] == {"other": {"type": "string"}}


def test_bundling_a_missing_file_says_which(tmp_path: Path) -> None:
    (tmp_path / "root.yaml").write_text("openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths:\n  /a: {$ref: gone.yaml}\n")
    service = OpenApiService(Access(local=True, working_folder=tmp_path))
    document = service.load(Spec(file=str(tmp_path / "root.yaml")))
    with pytest.raises(CommonplaceError, match=r"gone\.yaml"):
        bundle(document, service.resolver(document))

"""Bundling of a document that is spread over files."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.document.references.bundle import bundle
from commonplace.openapi.model import Spec
from commonplace.openapi.store.access import Access
from commonplace.openapi.store.documents import DocumentStore

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
    store = DocumentStore(Access(local=True, working_folder=tmp_path))
    document = store.load(Spec(file=str(tmp_path / "root.yaml")))
    made = bundle(document, store.resolver(document))
    schemas = made.document["components"]["schemas"]
    get = made.document["paths"]["/a"]["get"]
    assert get["parameters"] == [{"$ref": "#/components/parameters/limit"}]
    assert get["responses"]["200"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/Local"
    }
    assert get["responses"]["default"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/Error"
    }
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
      discriminator:
        propertyName: kind
        mapping: {d: Dog, c: '#/components/schemas/Cat', other: Unknown}
""",
    "bird.yaml": "type: object",
}


def test_bundling_follows_the_mappings_of_discriminators_as_it_follows_references(
    tmp_path: Path,
) -> None:
    for name, text in PETS.items():
        (tmp_path / name).write_text(text)
    store = DocumentStore(Access(local=True, working_folder=tmp_path))
    document = store.load(Spec(file=str(tmp_path / "root.yaml")))
    schemas = bundle(document, store.resolver(document)).document["components"]["schemas"]
    pet, owner = schemas["Pet"], schemas["Owner"]
    start = "#/components/schemas/"
    assert [branch["$ref"] for branch in pet["oneOf"]] == [
        f"{start}Cat",
        f"{start}Dog",
        f"{start}bird",
    ]
    assert pet["discriminator"]["mapping"] == {
        "cat": f"{start}Cat",
        "dog": "Dog",
        "hound": f"{start}Dog",
        "bird": f"{start}bird",
        "fish": f"{start}Fish",
    }
    assert schemas["Fish"] == {"type": "object"}, "what only a mapping names is brought in too"
    assert owner["discriminator"]["mapping"] == {
        "d": f"{start}Dog2",
        "c": f"{start}Cat",
        "other": "Unknown",
    }
    assert schemas["Dog2"]["properties"] == {"other": {"type": "string"}}


def test_bundling_a_missing_file_says_which(tmp_path: Path) -> None:
    (tmp_path / "root.yaml").write_text(
        "openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths:\n  /a: {$ref: gone.yaml}\n"
    )
    store = DocumentStore(Access(local=True, working_folder=tmp_path))
    document = store.load(Spec(file=str(tmp_path / "root.yaml")))
    with pytest.raises(CommonplaceError, match=r"gone\.yaml"):
        bundle(document, store.resolver(document))

"""Small documents to join, and the joining of them."""

from __future__ import annotations

import copy
import json
from typing import Any

from commonplace.openapi.engine.join.documents import JoinedDocument, JoinPart, Strategy, join
from commonplace.openapi.engine.validate.report import validate
from commonplace.openapi.model import Family, Spec
from commonplace.openapi.store.access import Access
from commonplace.openapi.store.documents import DocumentStore

OK = {"200": {"description": "ok"}}


def spec(paths: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": paths, **more}


def joined(
    *documents: dict[str, Any], paths: Strategy = "fail", schemas: Strategy = "accept-left"
) -> JoinedDocument:
    before = copy.deepcopy(documents)
    versions = [str(document.get("openapi") or document["swagger"]) for document in documents]
    parts = [
        JoinPart(one, version, Family(version[:3]), name)
        for one, version, name in zip(
            documents, versions, ("left.yaml", "right.yaml", "third.yaml"), strict=False
        )
    ]
    result = join(parts, path_strategy=paths, schema_strategy=schemas)
    assert documents == before
    store = DocumentStore(Access(local=True))
    document = store.load(Spec(content=json.dumps(result.document)))
    assert validate(document, store.resolver(document)).errors == []
    return result


def plain(**more: Any) -> dict[str, Any]:
    return {"get": {"responses": OK, **more}}


def modern(version: str, **more: Any) -> dict[str, Any]:
    return {"openapi": version, "info": {"title": "t", "version": "1"}, **more}


def swagger(paths: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"swagger": "2.0", "info": {"title": "t", "version": "1"}, "paths": paths, **more}


# Equality
def owner(pet: dict[str, Any]) -> dict[str, Any]:
    schemas = {
        "Pet": pet,
        "Owner": {"type": "object", "properties": {"pet": {"$ref": "#/components/schemas/Pet"}}},
        "House": {
            "type": "object",
            "properties": {"owner": {"$ref": "#/components/schemas/Owner"}},
        },
        "Other": {"type": "string"},
    }
    body = {
        "description": "ok",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/House"}}},
    }
    return {"schemas": schemas, "responses": {"Ok": body}}

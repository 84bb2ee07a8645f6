"""The operations of stored API descriptions on both databases: what is found after each change."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from files_box import Box, MakeBox, Words

from commonplace.bootstrap.sources.api_operations import OperationExtractor
from commonplace.files.extracts.model import Extraction, FoundExtract, extract_partition
from commonplace.files.extracts.search import ExtractSearch
from commonplace.files.store.postgres_embeddings import PostgresEmbeddings, fit_length
from commonplace.files.store.postgres_sides import PostgresLocalSide
from commonplace.kernel.auth import ALL_SCOPES, AuthContext, Tenant
from commonplace.search.semantic.vector import VectorIndex
from commonplace.storage.postgres.database import PostgresDatabase

PETS = """\
openapi: 3.1.0
info: {title: Pet shop, version: "1"}
paths:
  /pets:
    get:
      operationId: listPets
      summary: List the animals that are for sale
      tags: [animals]
      parameters:
        - {name: max_price, in: query, schema: {type: number}}
      responses: {}
    post:
      operationId: addPet
      deprecated: true
      summary: Put an animal on sale
      requestBody:
        content:
          application/json:
            schema: {$ref: '#/components/schemas/NewPet'}
      responses: {}
  /pets/{id}/vaccinations:
    get:
      summary: Vaccinations of an animal
      responses: {}
components:
  schemas:
    NewPet: {type: object, properties: {nickname: {type: string}}}
"""
ORDERS = json.dumps(
    {
        "swagger": "2.0",
        "info": {"title": "Orders", "version": "1"},
        "paths": {"/orders/{id}/refund": {"post": {"summary": "Refund an order", "responses": {}}}},
    }
)


@pytest.fixture
def shop(make_box: MakeBox, extractor: OperationExtractor) -> Box:
    return make_box(extractor=extractor)


@pytest.fixture(scope="module")
def extractor() -> Iterator[OperationExtractor]:
    """One process for the whole module: starting it takes most of the time."""

    class Kept(OperationExtractor):
        def close(self) -> None:
            """Stay for the next test."""

    kept = Kept()
    yield kept
    OperationExtractor.close(kept)


def user(tenant: str = "t1") -> AuthContext:
    return AuthContext(Tenant(tenant), ALL_SCOPES, tenant)


def search(box: Box) -> ExtractSearch:
    found = box.files.service.extracts
    assert found is not None
    return found


def hits(box: Box, query: str, tenant: str = "t1", project: str = "p") -> list[FoundExtract]:
    found = asyncio.run(search(box).search(user(tenant), project, query, 10))
    return list(found.extracts)


def titles(box: Box, query: str, **more: str) -> list[str]:
    return [f"{hit.extract.path} {hit.extract.title}" for hit in hits(box, query, **more)]


def test_an_operation_is_found_by_its_words_with_its_pointer_lines_and_marks(shop: Box) -> None:
    shop.write("/api/pets.yaml", PETS)
    shop.write("/notes.md", f"# Animals for sale\n\n```yaml\n{PETS}```\n")
    shop.index()
    best = hits(shop, "which animals are for sale?")[0]
    assert best.extract.key == "/paths/~1pets/get"
    assert best.extract.title == "GET /pets"
    assert (best.extract.start_line, best.extract.end_line) == (5, 11)
    assert best.extract.facts["operation_id"] == "listPets"
    assert best.extract.facts["deprecated"] is False
    assert 0 < best.score <= 1
    added = hits(shop, "nickname")[0].extract  # a property of the body's schema
    assert (added.title, added.facts["deprecated"]) == ("POST /pets", True)
    assert titles(shop, "max price")[0] == "/api/pets.yaml GET /pets"
    assert titles(shop, "vaccination")[0] == "/api/pets.yaml GET /pets/{id}/vaccinations"
    assert titles(shop, "zeppelin") == []
    assert shop.call("file_index_status")["operations"] == 3


def test_operations_follow_writes_renames_and_deletions_of_their_file(shop: Box) -> None:
    shop.write("/pets.yaml", PETS)
    shop.write("/orders.json", ORDERS)
    shop.index()
    kept = hits(shop, "vaccination")[0].extract.id
    shop.call("file_edit", path="/pets.yaml", old_text="for sale\n", new_text="in the shop\n")
    assert hits(shop, "vaccination")[0].extract.is_stale
    shop.index()
    moved = hits(shop, "vaccination")[0].extract
    assert (moved.id, moved.is_stale) == (kept, False)  # what did not change is not indexed again
    assert titles(shop, "shop")[0] == "/pets.yaml GET /pets"
    shop.call("file_rename", path="/pets.yaml", new_path="/v2/pets.yaml")
    assert titles(shop, "animals") == []
    shop.index()
    assert titles(shop, "vaccination")[0].startswith("/v2/pets.yaml")
    shop.call("file_delete", path="/orders.json")
    assert titles(shop, "refund an order") == []
    shop.index()
    assert shop.call("file_index_status")["operations"] == 3
    shop.write("/v2/pets.yaml", "just: data\n")
    shop.index()
    assert shop.call("file_index_status")["operations"] == 0
    assert shop.rows("SELECT count(*) FROM mcp_file_extracts") == [(0,)]


def test_operations_of_tenants_and_projects_never_meet(shop: Box) -> None:
    shop.write("/pets.yaml", PETS)
    shop.call("file_write", "t2", path="/secret.json", content=ORDERS, mode="TRUNCATE")
    shop.write("/other.json", ORDERS.replace("Refund", "Cancel"), project="q")
    shop.index()
    assert titles(shop, "refund an order") == []
    assert titles(shop, "refund an order", tenant="t2") == ["/secret.json POST /orders/{id}/refund"]
    assert titles(shop, "animals", tenant="t2") == []
    assert titles(shop, "cancel an order", project="q") == ["/other.json POST /orders/{id}/refund"]
    assert asyncio.run(search(shop).projects(user())) == ["p", "q"]
    pointer = "/paths/~1orders~1{id}~1refund/post"
    found = search(shop)
    assert asyncio.run(found.find(user(), "p", "/secret.json", pointer)) is None
    theirs = asyncio.run(found.find(user("t2"), "p", "/secret.json", pointer))
    assert theirs is not None


def test_what_cannot_be_read_is_skipped_and_said_in_the_status(shop: Box) -> None:
    shop.write("/deep.yaml", "openapi: 3.1.0\nx: " + "[" * 3_000 + "]" * 3_000)
    shop.write("/broken.yaml", "openapi: 3.1.0\npaths: [")
    shop.write("/future.json", '{"openapi": "3.9.0", "paths": {}}')
    shop.write("/odd.json", '{"openapi": "3.1.0", "paths": {"/a": {"get": [1]}, "/b": null}}')
    shop.write("/none.json", '{"note": "openapi: 3.1.0"}')
    shop.write("/nul.json", ORDERS.replace("Refund", r"Nul\u0000 refund"))
    shop.index()
    status = shop.call("file_index_status")
    assert [entry["file_path"] for entry in status["skipped_descriptions"]] == [
        "/broken.yaml",
        "/deep.yaml",
        "/future.json",
    ]
    assert "line 2" in status["skipped_descriptions"][0]["error"]
    assert status["up_to_date"]
    assert status["operations"] == 1
    assert titles(shop, "nul refund") == ["/nul.json POST /orders/{id}/refund"]
    shop.write("/broken.yaml", PETS)
    shop.index()
    status = shop.call("file_index_status")
    assert "/broken.yaml" not in str(status["skipped_descriptions"])
    assert status["operations"] == 4


def test_a_large_description_is_indexed_in_steps_and_replaced_as_a_whole(shop: Box) -> None:
    def document(word: str) -> str:
        paths = {
            f"/{word}/{number}": {"get": {"summary": f"Read {word} number {number}"}}
            for number in range(150)
        }
        return json.dumps({"openapi": "3.0.0", "info": {"title": "x" * 40_000}, "paths": paths})

    shop.write("/large.json", document("lamp"))
    shop.index()
    assert shop.call("file_index_status")["operations"] == 150
    assert titles(shop, "lamp number 137")[0] == "/large.json GET /lamp/137"
    shop.write("/large.json", document("chair"))
    shop.index()
    assert shop.call("file_index_status")["operations"] == 150
    assert titles(shop, "lamp") == []


class NextVersion(OperationExtractor):
    version = OperationExtractor.version + 1

    def extract(self, path: str, source: bytes) -> Extraction:
        found = super().extract(path, source)
        extracts = [replace(extract, summary=f"{extract.summary}!") for extract in found.extracts]
        return replace(found, extracts=extracts)


def test_a_new_version_reads_descriptions_again_and_a_rebuild_makes_them_anew(
    shop: Box, make_box: MakeBox
) -> None:
    shop.write("/pets.yaml", PETS)
    shop.write("/readme.txt", "not a description")
    shop.index()
    newer = make_box(extractor=NextVersion())
    assert newer.call("file_index_status")["outdated"] == 1
    newer.index()
    assert newer.call("file_index_status")["outdated"] == 0
    assert hits(newer, "vaccination")[0].extract.summary == "Vaccinations of an animal!"
    asyncio.run(newer.files.service.reindex(user(), "p", rebuild=True))
    assert newer.call("file_index_status")["operations"] == 0
    newer.index()
    assert newer.call("file_index_status")["operations"] == 3
    assert titles(newer, "vaccination") == ["/pets.yaml GET /pets/{id}/vaccinations"]


def test_operations_move_and_go_with_their_tenant(shop: Box) -> None:
    shop.write("/pets.yaml", PETS)
    shop.index()
    service = shop.files.service
    asyncio.run(service.move_tenant(user("t1"), user("t3")))
    shop.index()
    assert titles(shop, "vaccination") == []
    assert titles(shop, "vaccination", tenant="t3") == ["/pets.yaml GET /pets/{id}/vaccinations"]
    asyncio.run(service.delete_tenant(user("t3")))
    assert shop.rows("SELECT count(*) FROM mcp_file_extracts") == [(0,)]
    assert shop.rows("SELECT count(*) FROM search_partition") == [(0,)]


@pytest.fixture
def embedding_shop(
    make_box: MakeBox, tmp_path: Path, extractor: OperationExtractor, request: Any
) -> Iterator[tuple[Box, Words]]:
    model = Words()
    if request.node.callspec.params["make_box"] == "sqlite":
        yield make_box(listener=VectorIndex(tmp_path / "v", model), extractor=extractor), model
        return
    database = PostgresDatabase(request.getfixturevalue("postgres_url"), pool_size=2)
    fit_length(database, model.dimensions)
    side = PostgresLocalSide(model, PostgresEmbeddings(database, model.identity, model.dimensions))
    yield make_box(listener=side, extractor=extractor), model
    database.close()


def test_operations_have_vectors_of_their_own_and_equal_ones_share_them(
    embedding_shop: tuple[Box, Words],
) -> None:
    box, model = embedding_shop
    box.write("/pets.yaml", PETS)
    box.index()
    worker: Any = box.files.indexer._embedding[0]
    listener = worker._listener._listener
    place = extract_partition(user().apikey_hash, "p")
    query = model.embed_query("Vaccinations of an animal")

    def near(partition: Any) -> Any:
        if isinstance(listener, VectorIndex):
            return listener.search(partition, query, 2, "", ())
        return asyncio.run(listener.embeddings.nearest(partition, query, 2, "", ()))

    assert near(place).rows == 3
    before = model.embedded
    box.write("/copy.yaml", PETS, project="q")
    box.index()
    assert model.embedded == before
    assert near(extract_partition(user().apikey_hash, "q")).rows == 3
    box.call("file_delete", path="/pets.yaml")
    box.index()
    assert near(place).rows == 0

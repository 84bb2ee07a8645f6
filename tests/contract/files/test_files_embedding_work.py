"""What is embedded, how often and in which order, on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from files_box import AERO_TEXT, Box, MakeBox, Words

from commonplace.files.store.postgres_embeddings import PostgresEmbeddings
from commonplace.files.store.postgres_sides import PostgresLocalSide
from commonplace.search.semantic.vector import VectorIndex
from commonplace.storage.postgres.database import PostgresDatabase


class Recorded(Words):
    """Remembers the texts in the order they were embedded."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Any:
        self.texts += texts
        return super().embed(texts)


@pytest.fixture
def model() -> Recorded:
    return Recorded()


@pytest.fixture
def box(make_box: MakeBox, tmp_path: Path, request: pytest.FixtureRequest, model: Recorded) -> Box:
    return open_box(make_box, tmp_path, request, model)


def open_box(
    make_box: MakeBox, tmp_path: Path, request: pytest.FixtureRequest, model: Recorded
) -> Box:
    if request.node.callspec.params["make_box"] == "sqlite":
        return make_box(listener=VectorIndex(tmp_path / "vectors", model))
    database = PostgresDatabase(request.getfixturevalue("postgres_url"), pool_size=1)
    request.addfinalizer(database.close)
    embeddings = PostgresEmbeddings(database, model.identity, model.dimensions)
    return make_box(listener=PostgresLocalSide(model, embeddings))


def test_equal_chunks_of_a_tenant_are_embedded_once(box: Box, model: Recorded) -> None:
    box.write("/a.md", AERO_TEXT)
    box.write("/copies/b.md", AERO_TEXT)
    box.write("/other.md", AERO_TEXT, project="branch")
    box.index()
    once = len(model.texts)
    assert once == len(set(model.texts)) > 1
    box.write("/third.md", AERO_TEXT, project="another")
    box.index()
    assert len(model.texts) == once
    for project in ("p", "branch", "another"):
        assert box.call("file_index_status", project=project)["up_to_date"] is True


def test_a_restarted_process_finds_equal_chunks_of_other_projects(
    make_box: MakeBox, tmp_path: Path, request: pytest.FixtureRequest, model: Recorded
) -> None:
    first = open_box(make_box, tmp_path, request, model)
    first.write("/a.md", AERO_TEXT)
    first.index()
    once = len(model.texts)
    second = open_box(make_box, tmp_path, request, model)
    second.write("/b.md", AERO_TEXT + "\n# New\n\n" + "brandnew " * 50, project="branch")
    second.index()
    assert 1 <= len(model.texts) - once <= 2  # the changed end of the text


def test_tenants_never_share_vectors(box: Box, model: Recorded) -> None:
    """An embedding that is not made would tell a tenant what another one stores."""
    box.write("/a.md", AERO_TEXT)
    box.index()
    once = len(model.texts)
    box.write("/a.md", AERO_TEXT, tenant="t2")
    box.index()
    assert len(model.texts) == 2 * once


def test_files_nobody_asks_for_by_meaning_come_last(box: Box, model: Recorded) -> None:
    box.write("/a/package-lock.json", "lockfile")
    box.write("/locale/de/django.po", "catalogue")
    box.write("/b/app.py", "program")
    box.write("/c/readme.md", "manual")
    box.index()
    assert set(model.texts[:2]) == {"program", "manual"}
    assert set(model.texts[2:]) == {"lockfile", "catalogue"}

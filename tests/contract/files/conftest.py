"""Boxes for the contract tests of files.

Every test runs on SQLite and on PostgreSQL, each time on an empty database; tests of search also in
PostgreSQL's transitional mode (tsvector).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from files_box import Box, MakeBox

from commonplace.kernel.settings import FilesSettings

TSVECTOR = "postgresql-tsvector"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "make_box" in metafunc.fixturenames:
        searching = metafunc.module.__name__ == "test_files_search_contract"
        metafunc.parametrize(
            "make_box", ["sqlite", "postgresql", *([TSVECTOR] if searching else [])], indirect=True
        )


@pytest.fixture
def make_box(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[MakeBox]:
    boxes: list[Box] = []
    url = request.getfixturevalue("postgres_url") if request.param != "sqlite" else ""

    def make(settings: FilesSettings | None = None, **options: Any) -> Box:
        if request.param == TSVECTOR:
            settings = settings or FilesSettings()
            settings = settings.replace(search=settings.search.replace(lexical="tsvector"))
        boxes.append(Box(tmp_path, settings, url=url, **options))
        return boxes[-1]

    yield make
    for box in boxes:
        box.close()


@pytest.fixture
def box(make_box: MakeBox) -> Box:
    return make_box()

"""Boxes for the contract tests of files: every test runs on SQLite and on PostgreSQL, each time on a database without rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from files_box import Box, MakeBox

from commonplace.kernel.settings import FilesSettings


@pytest.fixture(params=["sqlite", "postgresql"])
def make_box(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[MakeBox]:
    boxes: list[Box] = []
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""

    def make(settings: FilesSettings | None = None, **options: Any) -> Box:
        boxes.append(Box(tmp_path, settings, url=url, **options))
        return boxes[-1]

    yield make
    for box in boxes:
        box.close()


@pytest.fixture
def box(make_box: MakeBox) -> Box:
    return make_box()

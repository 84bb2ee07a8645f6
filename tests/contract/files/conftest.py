"""Boxes for the contract tests of files: one data folder each, closed afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from files_box import Box, MakeBox

from commonplace.kernel.settings import FilesSettings


@pytest.fixture
def make_box(tmp_path: Path) -> Iterator[MakeBox]:
    boxes: list[Box] = []

    def make(settings: FilesSettings | None = None, **options: Any) -> Box:
        boxes.append(Box(tmp_path, settings, **options))
        return boxes[-1]

    yield make
    for box in boxes:
        box.close()


@pytest.fixture
def box(make_box: MakeBox) -> Box:
    return make_box()

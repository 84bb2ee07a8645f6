"""A missing module is explained by the extra that brings it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from commonplace.kernel.config.extras import EXTRAS, explain_missing_module

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(
    ("module", "extra"),
    [("psycopg", "scale"), ("redis.asyncio", "scale"), ("numpy", "embeddings")],
)
def test_a_missing_module_names_the_extra_and_the_command(module: str, extra: str) -> None:
    error = explain_missing_module(ModuleNotFoundError(name=module))
    assert error is not None
    assert error.details["extra"] == extra
    assert error.hint == f"Run: pip install 'commonplace[{extra}]'"


def test_a_module_of_no_extra_is_not_explained() -> None:
    assert explain_missing_module(ModuleNotFoundError(name="commonplace.nowhere")) is None


def test_every_extra_of_the_project_is_known() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert EXTRAS.keys() == project["optional-dependencies"].keys()

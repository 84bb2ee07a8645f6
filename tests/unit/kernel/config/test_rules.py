"""Conflicts between settings, and limits in the schemas of tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from commonplace.bootstrap.app import build
from commonplace.kernel.config.rules import find_contradictions
from commonplace.kernel.settings import FilesSearch, FilesSettings, McpSettings, Settings


def settings(**files: Any) -> Settings:
    return Settings(data=Path("data"), mcp=McpSettings(files=FilesSettings(**files)))


@pytest.mark.parametrize(
    ("files", "key"),
    [
        ({"search": FilesSearch(limit_default=50, limit_max=20)}, "search.limit_default"),
        ({"list_limit_default": 2000, "list_limit_max": 1000}, "list_limit_default"),
        ({"max_payload_bytes": 3_000_000, "max_file_bytes": 1_000_000}, "max_payload_bytes"),
        (
            {"max_file_bytes": 9_000, "max_payload_bytes": 9_000, "max_project_bytes": 5_000},
            "max_file_bytes",
        ),
        (
            {"search": FilesSearch(limit_max=50, bm25_candidates=10, vector_candidates=10)},
            "search.limit_max",
        ),
    ],
)
def test_a_limit_that_can_never_be_reached_is_refused(files: dict[str, Any], key: str) -> None:
    found = [conflict.key for conflict in find_contradictions(settings(**files))]
    assert f"mcp.files.{key}" in found


@pytest.mark.parametrize(
    "files",
    [{}, {"search": FilesSearch(limit_max=3)}, {"list_limit_max": 10}, {"max_file_bytes": 1000}],
)
def test_a_lower_maximum_lowers_an_unset_default(files: dict[str, Any]) -> None:
    assert list(find_contradictions(settings(**files))) == []


def test_schemas_show_the_configured_limits(tmp_path: Path) -> None:
    search = FilesSearch(limit_default=7, limit_max=33)
    chosen = FilesSettings(
        search=search,
        list_limit_default=11,
        list_limit_max=99,
        max_payload_bytes=5_000,
        max_file_bytes=70_000,
    )
    with build(Settings(data=tmp_path, mcp=McpSettings(files=chosen))) as app:
        tools = {
            tool.name: tool.input.model_json_schema()["properties"]
            for tool in app.registry.listed()
        }
    assert tools["file_search"]["limit"]["default"] == 7
    assert "33" in tools["file_search"]["limit"]["description"]
    assert tools["file_list"]["limit"]["default"] == 11
    assert "99" in tools["file_list"]["limit"]["description"]
    assert "5000 bytes" in tools["file_write"]["content"]["description"]
    assert "70000" in tools["file_write"]["content"]["description"]

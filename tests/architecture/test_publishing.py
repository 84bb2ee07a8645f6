"""What a release publishes is valid by the registry's schema and the official bundle tool."""

from __future__ import annotations

import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tools.publishing import (  # noqa: E402
    bundle_project,
    check_bundle,
    find_problems,
    server_document,
    write_bundle,
)


def make_bundle(folder: Path) -> Path:
    wheel = folder / "commonplace-1.2.3-py3-none-any.whl"
    wheel.write_bytes(b"PK\x05\x06" + bytes(18))  # an empty archive
    return write_bundle(wheel, "1.2.3")


def test_server_json_is_valid_by_the_schema_of_the_registry(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path)
    url = "https://github.com/example/releases/download/v1.2.3/commonplace-1.2.3.mcpb"
    for document in (server_document("1.2.3"), server_document("1.2.3", url, bundle)):
        assert find_problems(document) == []
    assert find_problems({**server_document("1.2.3"), "description": "x" * 101})


def test_the_readme_proves_the_ownership_of_the_registry_name() -> None:
    name = server_document("1.2.3")["name"]
    assert f"<!-- mcp-name: {name} -->" in (ROOT / "README.md").read_text("utf-8")


def test_the_official_tool_accepts_the_bundle(tmp_path: Path) -> None:
    assert check_bundle(make_bundle(tmp_path)) == ""
    broken = tmp_path / "broken.mcpb"
    with zipfile.ZipFile(broken, "w") as archive:
        archive.writestr("manifest.json", "{}")
    assert check_bundle(broken)


def test_a_bundle_depends_on_its_content_alone(tmp_path: Path) -> None:
    first = make_bundle(tmp_path).read_bytes()
    assert make_bundle(tmp_path).read_bytes() == first
    project = tomllib.loads(bundle_project(tmp_path / "a.whl", "1.2.3"))
    assert project["tool"]["uv"]["sources"]["commonplace"] == {"path": "a.whl"}

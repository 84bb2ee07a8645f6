"""Verdicts on the documents of the OpenAPI Initiative and on real documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from oas_calls import Tools

pytestmark = pytest.mark.oracle
SCHEMAS_AS_COUNTED_BY_THE_REFERENCE = {"github-api.json": 44_079}


@pytest.fixture(scope="module")
def tools() -> Tools:
    return Tools()


def test_conformance_documents_get_the_verdict_of_their_folder(data: Path, tools: Tools) -> None:
    wrong, judged = [], 0
    for path in sorted((data / "openapi" / "conformance").glob("3.[012]/*/*.yaml")):
        answer = tools.call("validate", spec={"file": str(path)}, no_warnings=True)
        judged += 1
        if answer["valid"] != (path.parent.name == "pass"):
            wrong.append((str(path.relative_to(data)), answer["errors"]))
    assert wrong == []
    assert judged == 118


def test_3_3_is_refused_by_version(data: Path, tools: Tools) -> None:
    found = sorted((data / "openapi" / "conformance" / "3.3").rglob("*.yaml"))
    assert len(found) == 69
    for path in found:
        assert (
            tools.error("validate", spec={"file": str(path)}).code.name == "UNSUPPORTED_VERSION"
        ), path.name


def test_every_real_document_loads_walks_and_has_no_false_error(data: Path, tools: Tools) -> None:
    """Documents that the official schema accepts have no errors here either, only warnings."""
    for path in sorted((data / "openapi" / "dev").iterdir()):
        spec = {"file": str(path)}
        answer = tools.call("validate", spec=spec, limit=5)
        assert answer["valid"], (path.name, answer["errors"])
        summary = tools.call("parse", spec=spec)
        assert summary["path_count"] > 0
        for kind in (
            "operations",
            "schemas",
            "parameters",
            "responses",
            "headers",
            "security",
            "paths",
            "refs",
        ):
            walked = tools.call(f"walk_{kind}", spec=spec, limit=3)
            assert walked["returned"] == min(walked["matched"], 3)
            detail = tools.call(f"walk_{kind}", spec=spec, limit=3, detail=True, resolve_refs=True)
            assert not detail.get("unresolved_refs")
        wanted = SCHEMAS_AS_COUNTED_BY_THE_REFERENCE.get(path.name)
        if wanted is not None:
            assert tools.call("walk_schemas", spec=spec, limit=1)["total"] == wanted


def test_counts_agree_with_the_corpus_index(data: Path, tools: Tools) -> None:
    rows = [
        line.split("|")
        for line in (data / "openapi" / "INDEX.md").read_text().splitlines()
        if line.startswith("| dev |")
    ]
    assert len(rows) == 15
    for row in rows:
        name, version, paths, operations, schemas = (
            row[position].strip() for position in (2, 5, 7, 8, 9)
        )
        summary = tools.call("parse", spec={"file": str(data / "openapi" / "dev" / name)})
        found = (
            summary["version"],
            summary["path_count"],
            summary["operation_count"],
            summary["schema_count"],
        )
        assert found == (version, int(paths), int(operations), int(schemas)), name

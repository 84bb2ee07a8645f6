"""OpenAPI tools read stored files by reference, for the tenant of the caller only."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace.bootstrap.app import App, build
from commonplace.dispatch.call import Call, Outcome, to_json
from commonplace.kernel.auth import ALL_SCOPES, AuthContext, Tenant, local_user
from commonplace.kernel.settings import Settings

DOCUMENT = json.dumps(
    {"openapi": "3.0.3", "info": {"title": "Stored", "version": "1"}, "paths": {}}
)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with build(Settings(data=tmp_path), environ={}, local=False) as made:
        yield made


def run(app: App, tool: str, arguments: dict[str, Any], auth: AuthContext | None = None) -> Outcome:
    return asyncio.run(app.pipeline.run(Call(tool, arguments, auth or local_user())))


def test_a_stored_file_is_read_by_its_reference(app: App) -> None:
    assert (
        run(app, "file_write", {"project": "my apis", "path": "/a.json", "content": DOCUMENT}).error
        is None
    )
    outcome = run(app, "oas_parse", {"spec": {"ref": "file:my%20apis/a.json"}})
    assert outcome.error is None
    assert outcome.output is not None
    assert to_json(outcome.output)["title"] == "Stored"


@pytest.mark.parametrize(
    "reference",
    [
        "openapi:apis/a.json#/info",
        "openapi:apis/a.json",
        "file:apis/notes.md#L3-L3",
        "file:apis/notes.md#L3",
    ],
)
def test_a_reference_to_lines_or_to_a_part_names_the_document(app: App, reference: str) -> None:
    notes = f"# API\n\u2028still line 2\n{DOCUMENT}\nend\n"
    for path, content in (("/a.json", DOCUMENT), ("/notes.md", notes)):
        run(app, "file_write", {"project": "apis", "path": path, "content": content})
    outcome = run(app, "oas_parse", {"spec": {"ref": reference}})
    assert outcome.output is not None, outcome.error
    assert to_json(outcome.output)["title"] == "Stored"


def test_a_file_of_another_tenant_is_not_found(app: App) -> None:
    run(app, "file_write", {"project": "p", "path": "/a.json", "content": DOCUMENT})
    stranger = AuthContext(Tenant("other"), ALL_SCOPES, "x")
    error = run(app, "oas_parse", {"spec": {"ref": "file:p/a.json"}}, stranger).error
    assert error is not None
    assert error.code.name == "NOT_FOUND"


@pytest.mark.parametrize("reference", ["instruction:x", "file:p", "nonsense"])
def test_a_reference_to_anything_but_a_file_is_refused(app: App, reference: str) -> None:
    error = run(app, "oas_parse", {"spec": {"ref": reference}}).error
    assert error is not None
    assert error.code.name == "INVALID_ARGUMENT"

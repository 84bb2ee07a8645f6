"""The service: one method per use case, which returns frozen values."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import TypeVar

import pytest

from commonplace.kernel.auth import local_user
from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.fix import FixOptions
from commonplace.openapi.engine.walk.operations import OperationFilter
from commonplace.openapi.engine.walk.query import WalkQuery
from commonplace.openapi.engine.walk.refs import RefFilter
from commonplace.openapi.engine.walk.rows import WalkGroup
from commonplace.openapi.model import Delivery, PageRequest, Spec
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.store.access import Access
from commonplace.openapi.store.documents import DocumentStore

T = TypeVar("T")
CALLER = local_user()
PETS = {
    "openapi": "3.0.3",
    "info": {"title": "Pets", "version": "1"},
    "paths": {
        "/pets/{id}": {
            "get": {
                "operationId": "getPet",
                "responses": {
                    "200": {
                        "description": "ok",
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}
                        },
                    }
                },
            }
        }
    },
    "components": {
        "schemas": {
            "Pet": {"type": "object", "properties": {"name": {"type": "string", "nullable": True}}}
        }
    },
}
SPEC = Spec(content=json.dumps(PETS))
OVERLAY = Spec(
    content=json.dumps(
        {
            "overlay": "1.0.0",
            "info": {"title": "Titles", "version": "1"},
            "actions": [{"target": "$.info", "update": {"title": "New"}}],
        }
    )
)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[OpenApiService]:
    service = OpenApiService(DocumentStore(Access(working_folder=tmp_path)))
    yield service
    service.close()


def run(work: Awaitable[T]) -> T:
    async def wait() -> T:
        return await work

    return asyncio.run(wait())


def test_validate_pages_its_findings_and_counts_all(service: OpenApiService) -> None:
    result = run(service.validate(CALLER, SPEC, page=PageRequest(limit=1, offset=5)))
    assert (result.valid, result.error_count, len(result.errors)) == (False, 1, 0)
    assert result.version == "3.0.3"


def test_parse_returns_the_text_only_if_asked(service: OpenApiService) -> None:
    assert run(service.parse(CALLER, SPEC)).full is None
    result = run(service.parse(CALLER, SPEC, full=True, pointer="/info"))
    assert result.summary.title == "Pets"
    assert result.full is not None
    assert json.loads(result.full.text) == PETS["info"]


def test_diff_filters_before_it_counts(service: OpenApiService) -> None:
    revision = Spec(content=json.dumps({**PETS, "paths": {}}))
    everything = run(service.diff(CALLER, SPEC, revision))
    breaking = run(service.diff(CALLER, SPEC, revision, breaking_only=True))
    assert breaking.total == breaking.breaking_count == everything.breaking_count > 0


def test_fix_returns_the_repairs_and_the_remaining_errors(service: OpenApiService) -> None:
    result = run(service.fix(CALLER, SPEC, FixOptions(), Delivery(include=False)))
    assert [fix.type for fix in result.fixes] == ["missing-path-parameter"]
    assert list(result.remaining) == []
    assert result.delivered.text is None


def test_convert_sorts_issues_by_severity_and_declares_the_version(service: OpenApiService) -> None:
    result = run(service.convert(CALLER, SPEC, "3.1.2", Delivery()))
    assert result.document_version == "3.1.2"
    assert result.count("critical") == 0
    assert result.delivered.text is not None


def test_a_document_is_written_and_left_out_of_the_answer(
    service: OpenApiService, tmp_path: Path
) -> None:
    delivery = Delivery(output="out.json", include=False)
    result = run(service.convert(CALLER, SPEC, "3.1", delivery))
    assert result.delivered.written_to == str(tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text())["openapi"] == "3.1.1"
    assert result.delivered.text is None


def test_join_counts_the_parts_of_the_result(service: OpenApiService) -> None:
    other = Spec(content=json.dumps({**PETS, "paths": {"/owners": {}}}))
    result = run(service.join(CALLER, [SPEC, other], Delivery(include=False)))
    assert (result.spec_count, result.path_count, result.operation_count) == (2, 2, 1)
    assert (result.schema_count, result.collision_count) == (1, 0)


def test_bundle_of_a_self_contained_document_imports_nothing(service: OpenApiService) -> None:
    result = run(service.bundle(CALLER, SPEC, Delivery()))
    assert (list(result.files), result.imported_count) == ([], 0)


def test_an_overlay_without_a_delivery_is_a_dry_run(service: OpenApiService) -> None:
    preview = run(service.overlay_apply(CALLER, SPEC, OVERLAY, None))
    applied = run(service.overlay_apply(CALLER, SPEC, OVERLAY, Delivery()))
    assert preview.applied_count == applied.applied_count == 1
    assert preview.delivered.text is None
    assert json.loads(applied.delivered.text or "")["info"]["title"] == "New"
    assert run(service.overlay_validate(CALLER, OVERLAY)).valid


def test_generate_refuses_more_than_an_answer_holds(service: OpenApiService) -> None:
    result = run(service.generate(CALLER, SPEC, None, language="python", client=True))
    assert sorted(result.files) == ["__init__.py", "client.py", "models.py", "runtime.py"]
    with pytest.raises(CommonplaceError, match="an answer holds 10") as caught:
        run(service.generate(CALLER, SPEC, None, most_bytes=10))
    assert caught.value.code.name == "ANSWER_TOO_LARGE"


def test_walks_list_groups_summaries_and_details(service: OpenApiService) -> None:
    where = OperationFilter(method="GET")
    summaries = run(service.walk_operations(CALLER, SPEC, WalkQuery(), where))
    groups = run(service.walk_operations(CALLER, SPEC, WalkQuery(group_by="method"), where))
    details = run(service.walk_refs(CALLER, SPEC, WalkQuery(detail=True), RefFilter()))
    assert (summaries.listing, summaries.rows[0].operation_id) == ("summaries", "getPet")
    assert (groups.listing, groups.groups) == ("groups", [WalkGroup("GET", 1)])
    assert (details.listing, details.rows[0].ref) == ("details", "#/components/schemas/Pet")


USE_CASES: dict[str, Callable[[OpenApiService], Awaitable[object]]] = {
    "validate": lambda service: service.validate(CALLER, SPEC),
    "parse": lambda service: service.parse(CALLER, SPEC),
    "diff": lambda service: service.diff(CALLER, SPEC, SPEC),
    "fix": lambda service: service.fix(CALLER, SPEC, FixOptions(), Delivery()),
    "convert": lambda service: service.convert(CALLER, SPEC, "3.1", Delivery()),
    "join": lambda service: service.join(CALLER, [SPEC, SPEC], Delivery()),
    "bundle": lambda service: service.bundle(CALLER, SPEC, Delivery()),
    "overlay_apply": lambda service: service.overlay_apply(CALLER, SPEC, OVERLAY, Delivery()),
    "overlay_validate": lambda service: service.overlay_validate(CALLER, OVERLAY),
    "generate": lambda service: service.generate(CALLER, SPEC, None),
    "walk_paths": lambda service: service.walk_paths(CALLER, SPEC, WalkQuery(), None),
}


@pytest.mark.parametrize("name", USE_CASES)
def test_results_are_frozen(service: OpenApiService, name: str) -> None:
    result = run(USE_CASES[name](service))
    with pytest.raises(FrozenInstanceError):
        setattr(result, next(iter(result.__slots__)), None)  # type: ignore[attr-defined]


def test_reading_tools_load_without_the_engines_that_write_or_compare() -> None:
    """A first parse, validation or walk does not wait for them."""
    code = (
        "import sys; from commonplace.openapi.toolset import toolset; "
        "from commonplace.openapi.service import OpenApiService; "
        "toolset(OpenApiService).load(); print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    ).stdout.split()
    engines = {
        name.split(".")[3] for name in loaded if name.startswith("commonplace.openapi.engine.")
    }
    assert "document" in engines
    assert not engines & {"convert", "diff", "fix", "generate", "join", "overlay"}

"""`search_all` on both stores: every kind in one order, and nothing that a caller may not see."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commonplace.bootstrap.app import build
from commonplace.dispatch.call import Call, to_json
from commonplace.dispatch.registry import Selection
from commonplace.kernel.settings import (
    FilesSearch,
    FilesSettings,
    GovernanceSettings,
    McpSettings,
    Settings,
)
from context_office import Office, caller, settings_on

REFUNDS = """\
openapi: 3.1.0
info: {title: Shop, version: "1"}
paths:
  /orders/{id}/refund:
    post:
      operationId: refundOrder
      deprecated: true
      summary: Refund an order
"""

EVERY_KIND = {"instruction", "memory", "file", "openapi"}


def refs(found: Any) -> list[str]:
    return [result["ref"] for result in found["results"]]


def kinds(found: Any) -> set[str]:
    return {ref.partition(":")[0] for ref in refs(found)}


def furnish(office: Office) -> str:
    office.add_rule("refunds", "Refunds", "Refund an order only after a person approved it.")
    lesson = office.add_lesson("Refund of an order fails twice", "Retry the refund of an order.")
    office.write("/docs/refunds.md", "# Refunds\n\nHow to refund an order by hand.\n")
    office.write("/api.yaml", REFUNDS)
    office.write("/docs/garden.md", "# Garden\n\nWater the roses in the morning.\n")
    return lesson


def test_one_search_finds_every_kind_with_references_reasons_and_scores(office: Office) -> None:
    lesson = furnish(office)
    found = office.call("search_all", query="refund an order")
    assert {"instruction:refunds", lesson} <= set(refs(found))
    assert kinds(found) == {"instruction", "memory", "file", "openapi"}
    operation = next(result for result in found["results"] if result["ref"].startswith("openapi:"))
    assert operation["ref"] == "openapi:shop/api.yaml#/paths/~1orders~1{id}~1refund/post"
    assert operation["title"] == "POST /orders/{id}/refund"
    assert operation["marks"] == ["deprecated"]
    assert operation["lines"] == [5, 8]
    assert not any(ref.startswith("file:shop/api.yaml") for ref in refs(found))
    scores = [result["score"] for result in found["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert all(result["why"] and result["title"] for result in found["results"])
    assert not any("garden" in ref for ref in refs(found)[:4])
    opened = office.call("open_ref", refs=refs(found), budget=20_000)
    assert all("error" not in item for item in opened["items"])


def test_results_are_limited_by_kind_project_and_number(office: Office) -> None:
    furnish(office)
    office.write("/notes.md", "To refund an order, ask Bert.\n", project="other")
    only = office.call("search_all", query="refund an order", kinds=["file", "openapi"])
    assert kinds(only) == {"file", "openapi"}
    there = office.call("search_all", query="refund an order", project="other")
    assert {ref.partition("/")[0] for ref in refs(there) if ":other" in ref} == {"file:other"}
    assert not any(ref.startswith("openapi:") for ref in refs(there))
    assert len(refs(office.call("search_all", query="refund an order", limit=2))) == 2
    assert office.fail("search_all", query="  ").code.name == "INVALID_ARGUMENT"
    assert office.fail("search_all", query="x", project="\x00").code.name == "INVALID_PATH"


def test_nothing_of_another_tenant_is_found_or_opened(office: Office) -> None:
    furnish(office)
    office.write("/theirs.yaml", REFUNDS, tenant="bert")
    office.write("/theirs.md", "How Bert refunds an order.\n", tenant="bert")
    theirs = office.add_lesson("Refund an order for Bert", "Secret refund.", tenant="bert")
    found = office.call("search_all", query="refund an order", limit=50)
    assert theirs not in refs(found)
    assert not any("theirs" in ref for ref in refs(found))
    other = office.call("search_all", "bert", query="refund an order", limit=50)
    assert kinds(other) == {"instruction", "memory", "file", "openapi"}
    assert set(refs(other)) & set(refs(found)) == {"instruction:refunds"}
    foreign = ["file:shop/theirs.yaml", "openapi:shop/theirs.yaml#/info", theirs]
    missing = ["file:shop/none.yaml", "openapi:shop/none.yaml#/info", "memory:" + "0" * 26]
    errors = [
        [item["error"]["message"].replace(item["ref"], "REF") for item in opened["items"]]
        for opened in (
            office.call("open_ref", refs=foreign),
            office.call("open_ref", refs=missing),
        )
    ]
    assert errors[0] == errors[1]  # what belongs to others looks like what does not exist


def narrowed(office: Office, tool: str, selection: Selection, **arguments: Any) -> Any:
    call = Call(tool, arguments, caller("anna"), selection=selection)
    outcome = asyncio.run(office.app.pipeline.run(call))
    assert outcome.output is not None, outcome.error
    return to_json(outcome.output)


NARROWED = (
    (Selection(toolsets=frozenset({"context", "memory"})), {"memory"}),
    (Selection(toolsets=frozenset({"context", "files"})), {"file"}),
    (Selection(toolsets=frozenset({"context", "openapi"})), set()),
    (Selection(toolsets=frozenset({"context"})), EVERY_KIND),
    (Selection(exclude=frozenset({"instructions/search"})), EVERY_KIND - {"instruction"}),
    (Selection(toolsets=frozenset({"context", "files", "openapi"})), {"file", "openapi"}),
    (Selection(exclude=frozenset({"rekall_search"})), EVERY_KIND - {"memory"}),
    (Selection(tools=frozenset({"search_all"})), EVERY_KIND),
    (Selection(tools=frozenset({"context"}), lists_only=True), EVERY_KIND),
)


def test_a_superseded_rule_is_marked_with_its_successor(office: Office) -> None:
    office.add_rule("locks-old", "Locks", "Database is locked: use flock.")
    office.add_rule("locks", "Locks", "Database is locked: wait.", supersedes="locks-old")
    found = office.call("search_all", query="database is locked", kinds=["instruction"])
    marks = {item["ref"]: item.get("marks") for item in found["results"]}
    assert marks == {
        "instruction:locks-old": ["superseded by instruction:locks"],
        "instruction:locks": None,
    }


def test_a_kind_whose_tools_are_narrowed_away_is_out_and_named(office: Office) -> None:
    furnish(office)
    for selection, left in NARROWED:
        found = narrowed(office, "search_all", selection, query="refund an order")
        assert kinds(found) == left, selection
        assert set(found.get("unavailable", {})) == EVERY_KIND - left


def test_a_reference_whose_tools_are_narrowed_away_cannot_be_read(office: Office) -> None:
    lesson = furnish(office)
    selection = Selection(toolsets=frozenset({"context", "files"}))
    wanted = [lesson, "openapi:shop/api.yaml#/info", "file:shop/api.yaml#L1"]
    opened = narrowed(office, "open_ref", selection, refs=wanted)
    codes = [item.get("error", {}).get("code") for item in opened["items"]]
    assert codes == ["TOOL_EXCLUDED", "TOOL_EXCLUDED", None]
    assert opened["items"][2]["text"] == "openapi: 3.1.0\n"


def test_search_that_is_off_is_named_and_the_rest_is_found(tmp_path: Path) -> None:
    files = FilesSettings(search=FilesSearch(enabled=False))
    settings = Settings(data=tmp_path).replace(mcp=McpSettings(files=files))
    with build(settings, local_user_writes=True) as app:
        lesson = furnish(Office(app))
        found = Office(app).call("search_all", query="refund an order")
    off = "Search is switched off."
    assert found["unavailable"] == {"file": off, "openapi": off}
    assert {"instruction:refunds", lesson} == set(refs(found))


@pytest.fixture(params=["sqlite", "postgresql"])
def restricted(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    settings = settings_on(tmp_path, url).replace(
        governance=GovernanceSettings(restrict_reads=True)
    )
    with build(settings, local_user_writes=True) as app:
        yield Office(app)


def test_restricted_rules_are_neither_found_nor_opened(restricted: Office) -> None:
    author = replace(caller("anna"), may_read=frozenset({"restricted"}))
    entry = {
        "id": "secret",
        "title": "Refund limits",
        "body": "Refund an order up to 90 euros.",
        "classification": "restricted",
    }
    call = Call("instructions_add", {"entry": entry, "lax": True}, author)
    assert asyncio.run(restricted.app.pipeline.run(call)).error is None
    restricted.add_rule("open", "Refunds", "Refund an order politely.")
    found = restricted.call("search_all", query="refund an order")
    assert refs(found) == ["instruction:open"]
    opened = restricted.call("open_ref", refs=["instruction:secret", "instruction:none"])
    assert [item["error"]["code"] for item in opened["items"]] == ["REF_NOT_FOUND"] * 2

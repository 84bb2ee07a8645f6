"""What the listing of tools costs a model, counted by the tokenizer itself (ADR 0330)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpe_openai
import orjson
import pytest

from commonplace.bootstrap.app import App
from commonplace.bootstrap.app import build as build_app
from commonplace.cli.profiles import CORE, PROFILES
from commonplace.dispatch.describe import describe, for_model
from commonplace.dispatch.registry import Selection
from commonplace.kernel.config.loading import load
from commonplace.kernel.tokens import count_tokens

CONTEXT_TOOLS = frozenset({"context", "rules_for", "search_all", "open_ref"})
MOST_FIRST, MOST_CONTEXT, MOST_CORE = 8_500, 1_500, 2_500

# Names that say what they take. Every other argument has a phrase.
CLEAR_NAMES = """
action activation archivedAt audience body breaking_only categories categoriesAll categoriesAny
category changeLog classification client conflictsWith content content_encoding context createdAt
createdByAgent dependencies deprecatedBy description direction errorCode examples excludeCategories
extensions field file fix_duplicate_operationids format hash id ignore_case include_document
includeEdgeTypes language languages lastReviewedAt limit line maxEdges metadata method metrics name
named nextReviewDue no_info no_warnings offset operation_id origin owner owners package_name
primaryCategory priorityMax priorityMin priorityTier priorityTiers prune_paths prune_schemas
rationale repository requirement requirements resolve_refs reviewIntervalDays riskScore
semanticSummary sessionId severity sourceWorkspace status stub_missing_refs success supersedes tag
tags teamIds text title type types url userId version workspaceId
"""


@pytest.fixture(scope="module")
def app() -> Iterator[App]:
    settings = load(data=Path(tempfile.mkdtemp()), environ={}, flags={}).settings
    with build_app(settings, environ={}) as made:
        yield made


@pytest.fixture(scope="module")
def encoding() -> bpe_openai.Encoding:
    return bpe_openai.get_encoding("o200k_base")


def listed(app: App, selection: Selection) -> dict[str, Any]:
    return {tool.name: describe(tool, selection) for tool in app.registry.listed(selection)}


def cost(encoding: bpe_openai.Encoding, described: Any) -> int:
    text = orjson.dumps(for_model(described)).decode()
    return len(encoding.encode(text, disallowed_special=()))


def test_the_listed_tools_stay_within_their_budgets(
    app: App, encoding: bpe_openai.Encoding
) -> None:
    tools = listed(app, Selection())
    first = set(tools) - CONTEXT_TOOLS
    assert len(first) == 45, "a new tool is of tier extended"
    costs = {name: cost(encoding, described) for name, described in tools.items()}
    assert sum(costs[name] for name in first) <= MOST_FIRST
    assert sum(costs[name] for name in set(tools) & CONTEXT_TOOLS) <= MOST_CONTEXT


def test_the_profile_core_stays_within_its_budget(app: App, encoding: bpe_openai.Encoding) -> None:
    tools = listed(app, PROFILES["core"].selection)
    assert set(tools) == CORE
    assert sum(cost(encoding, described) for described in tools.values()) < MOST_CORE
    assert {tool.toolset for tool in app.registry.listed(PROFILES["core"].selection)} == PROFILES[
        "core"
    ].toolsets


def test_the_bound_is_close_to_the_true_cost(app: App, encoding: bpe_openai.Encoding) -> None:
    tools = listed(app, Selection(all_tiers=True))
    bounds = {
        name: count_tokens(orjson.dumps(for_model(described)).decode())
        for name, described in tools.items()
    }
    costs = {name: cost(encoding, described) for name, described in tools.items()}
    assert [name for name in tools if bounds[name] < costs[name]] == []
    assert sum(bounds.values()) < 1.2 * sum(costs.values())


def test_clients_that_defer_tools_load_the_core_at_once(app: App) -> None:
    tools = listed(app, Selection(all_tiers=True))
    at_once = {
        name
        for name, described in tools.items()
        if described.get("_meta", {}).get("anthropic/alwaysLoad")
    }
    assert at_once == CORE
    for name in ("file_read", "oas_walk_schemas", "instructions_get", "rules_for"):
        assert tools[name]["_meta"]["anthropic/maxResultSizeChars"] == 500_000
    assert "_meta" not in tools["health_check"]


def test_an_argument_without_a_phrase_has_a_name_that_explains_itself(app: App) -> None:
    clear = CLEAR_NAMES.split()
    for name, described in listed(app, Selection(all_tiers=True)).items():
        for argument in _unexplained(described["inputSchema"]):
            assert argument in clear, f"{name}: say what {argument} is"


def _unexplained(schema: Any) -> Iterator[str]:
    for name, field in schema.get("properties", {}).items():
        if not field.get("description"):
            yield name
        yield from _unexplained(field)
        yield from _unexplained(field.get("items", {}))

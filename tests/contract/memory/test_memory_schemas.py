"""Schemas of every tool as docs/reference/contracts/memory.md requires: properties, enums,
defaults and bounds.
"""

from __future__ import annotations

from typing import Any

import pytest

from commonplace.dispatch.registry import Selection
from commonplace.dispatch.schema import input_schema, listed_schema, output_schema
from commonplace.memory.model import EntryType, MemoryType, RelationType
from commonplace.memory.toolset import CONTRACT_NAMES, EXTENDED_NAMES
from memory_calls import Calls

TYPES = ["bug", "pattern", "decision", "pitfall", "config", "reference"]
RELATIONS = ["related", "supersedes", "derived_from", "contradicts"]
TEXT: dict[str, Any] = {"type": "string"}

INPUTS: dict[str, tuple[dict[str, dict[str, Any]], list[str]]] = {
    "rekall_help": (
        {
            "topic": {
                **TEXT,
                "enum": ["search", "capture", "links", "citations", "all"],
                "default": "all",
            }
        },
        [],
    ),
    "rekall_search": (
        {
            "query": TEXT,
            "context": TEXT,
            "limit": {"type": "integer", "default": 5, "minimum": 1, "maximum": 20},
            "type": {**TEXT, "enum": TYPES},
            "project": TEXT,
        },
        ["query"],
    ),
    "rekall_add": (
        {
            "type": {**TEXT, "enum": TYPES},
            "title": {**TEXT, "maxLength": 100},
            "content": TEXT,
            "tags": {"type": "array", "items": TEXT},
            "context": TEXT,
            "project": TEXT,
            "confidence": {"type": "integer", "minimum": 0, "maximum": 5, "default": 3},
            "memory_type": {**TEXT, "enum": ["episodic", "semantic"], "default": "episodic"},
        },
        ["type", "title"],
    ),
    "rekall_show": ({"id": TEXT}, ["id"]),
    "rekall_suggest_links": (
        {"limit": {"type": "integer", "default": 10, "minimum": 1, "maximum": 50}},
        [],
    ),
    "rekall_suggest_generalize": (
        {"limit": {"type": "integer", "default": 10, "minimum": 1, "maximum": 50}},
        [],
    ),
    "rekall_link": (
        {
            "source_id": TEXT,
            "target_id": TEXT,
            "relation_type": {**TEXT, "enum": RELATIONS, "default": "related"},
        },
        ["source_id", "target_id"],
    ),
    "rekall_accept_suggestion": ({"suggestion_id": TEXT}, ["suggestion_id"]),
    "rekall_reject_suggestion": ({"suggestion_id": TEXT}, ["suggestion_id"]),
}

OUTPUTS: dict[str, set[str]] = {
    "rekall_help": {"guide", "topics_available"},
    "rekall_search": {"query", "total", "results", "hint"},
    "rekall_add": {
        "id",
        "title",
        "type",
        "created",
        "embeddings_calculated",
        "similar_entries",
        "suggestions_created",
    },
    "rekall_show": {
        "id",
        "type",
        "title",
        "content",
        "tags",
        "project",
        "confidence",
        "status",
        "memory_type",
        "created_at",
        "updated_at",
        "last_accessed",
        "access_count",
        "consolidation_score",
        "embeddings",
        "links",
    },
    "rekall_suggest_links": {"suggestions", "total_pending"},
    "rekall_suggest_generalize": {"suggestions", "total_pending"},
    "rekall_link": {"created", "link_id", "source", "target", "relation_type"},
    "rekall_accept_suggestion": {
        "accepted",
        "suggestion_type",
        "action_taken",
        "link_created",
        "generalize_command",
    },
    "rekall_reject_suggestion": {"rejected", "suggestion_id"},
}


def test_the_default_list_is_the_nine_tools_of_the_contract_in_order(memory: Calls) -> None:
    assert [tool.name for tool in memory.registry.listed()] == list(CONTRACT_NAMES)


def test_extended_tools_are_listed_only_with_all_tiers(memory: Calls) -> None:
    listed = [tool.name for tool in memory.registry.listed(Selection(all_tiers=True))]
    assert listed == [*CONTRACT_NAMES, *EXTENDED_NAMES]


@pytest.mark.parametrize("name", CONTRACT_NAMES)
def test_the_input_schema_has_exactly_the_properties_of_the_contract(
    memory: Calls, name: str
) -> None:
    schema = listed_schema(input_schema(memory.registry.tool(name).input))
    properties, required = INPUTS[name]
    assert schema["type"] == "object"
    assert schema.get("required", []) == required
    for field, expected in properties.items():
        found = {
            key: value for key, value in schema["properties"][field].items() if key != "description"
        }
        assert found == expected, field


@pytest.mark.parametrize("name", [*CONTRACT_NAMES, *EXTENDED_NAMES])
def test_schemas_have_no_references(memory: Calls, name: str) -> None:
    assert "$ref" not in str(input_schema(memory.registry.tool(name).input))


@pytest.mark.parametrize("name", CONTRACT_NAMES)
def test_the_output_schema_has_the_properties_of_the_contract(memory: Calls, name: str) -> None:
    schema = output_schema(memory.registry.tool(name).output)
    assert set(schema["properties"]) >= OUTPUTS[name]
    assert set(schema["required"]) >= OUTPUTS[name]


def test_input_names_and_model_values_agree() -> None:
    assert [item.value for item in EntryType] == TYPES
    assert [item.value for item in RelationType] == RELATIONS
    assert [item.value for item in MemoryType] == ["episodic", "semantic"]


@pytest.mark.parametrize(
    "name", ["rekall_show", "rekall_suggest_links", "rekall_suggest_generalize"]
)
def test_times_are_declared_as_date_time(memory: Calls, name: str) -> None:
    schema = output_schema(memory.registry.tool(name).output)
    items = schema["properties"]
    if "suggestions" in items:
        items = items["suggestions"]["items"]["properties"]
    times = {
        key: value for key, value in items.items() if key.endswith("_at") or key == "last_accessed"
    }
    assert times
    assert all("'format': 'date-time'" in str(value) for value in times.values()), times

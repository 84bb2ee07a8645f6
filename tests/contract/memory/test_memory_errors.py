"""Each error code of the contract, with its status, is raised where the contract says."""

from __future__ import annotations

from typing import Any

import pytest

from commonplace.dispatch.error_table import numbers_of
from commonplace.kernel.errors import CODES as KERNEL_CODES
from commonplace.memory.errors import CODES, CONTRACT_CODES
from memory_calls import Calls

STATUSES = {
    "ENTRY_NOT_FOUND": 404,
    "SUGGESTION_NOT_FOUND": 404,
    "INVALID_ENTRY_TYPE": 400,
    "INVALID_RELATION_TYPE": 400,
    "EMBEDDINGS_DISABLED": 503,
    "MODEL_NOT_AVAILABLE": 503,
    "LINK_ALREADY_EXISTS": 409,
    "SELF_LINK_ERROR": 400,
    "INTERNAL_ERROR": 500,
}
UNKNOWN = "01HX123ABCDEFGHJKMNPQRSTVW"


def test_the_codes_match_the_contract() -> None:
    assert {code.name: code.http_status for code in CONTRACT_CODES} == STATUSES


def test_codes_are_unique_and_differ_from_those_of_the_kernel() -> None:
    names = [code.name for code in (*CODES, *KERNEL_CODES)]
    assert len(names) == len(set(names))


CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("ENTRY_NOT_FOUND", "rekall_show", {"id": UNKNOWN}),
    ("ENTRY_NOT_FOUND", "rekall_show", {"id": "01HX1"}),
    ("ENTRY_NOT_FOUND", "rekall_show", {"id": "01"}),
    ("ENTRY_NOT_FOUND", "rekall_show", {"id": ""}),
    ("ENTRY_NOT_FOUND", "rekall_show", {"id": "' OR 1=1 --"}),
    ("ENTRY_NOT_FOUND", "rekall_show", {"id": "%%%%%"}),
    ("ENTRY_NOT_FOUND", "rekall_link", {"source_id": UNKNOWN, "target_id": "{first}"}),
    ("ENTRY_NOT_FOUND", "rekall_link", {"source_id": "{first}", "target_id": UNKNOWN}),
    ("SELF_LINK_ERROR", "rekall_link", {"source_id": "{first}", "target_id": "{first}"}),
    (
        "INVALID_RELATION_TYPE",
        "rekall_link",
        {"source_id": "{first}", "target_id": "{second}", "relation_type": "likes"},
    ),
    ("INVALID_ENTRY_TYPE", "rekall_add", {"type": "poem", "title": "x"}),
    ("INVALID_ENTRY_TYPE", "rekall_search", {"query": "x", "type": "poem"}),
    ("INVALID_ARGUMENT", "rekall_add", {"type": "bug", "title": "x" * 101}),
    ("INVALID_ARGUMENT", "rekall_add", {"type": "bug", "title": "x", "confidence": 6}),
    ("INVALID_ARGUMENT", "rekall_add", {"type": "bug", "title": "x", "confidence": -1}),
    ("INVALID_ARGUMENT", "rekall_add", {"type": "bug", "title": "x", "memory_type": "short"}),
    ("INVALID_ARGUMENT", "rekall_add", {"type": "bug"}),
    ("INVALID_ARGUMENT", "rekall_search", {}),
    ("INVALID_ARGUMENT", "rekall_search", {"query": "x", "limit": 0}),
    ("INVALID_ARGUMENT", "rekall_search", {"query": "x", "limit": 21}),
    ("INVALID_ARGUMENT", "rekall_suggest_links", {"limit": 0}),
    ("INVALID_ARGUMENT", "rekall_suggest_links", {"limit": 51}),
    ("INVALID_ARGUMENT", "rekall_suggest_generalize", {"limit": 51}),
    ("INVALID_ARGUMENT", "rekall_help", {"topic": "everything"}),
    ("INVALID_ARGUMENT", "rekall_help", {"colour": "red"}),
    ("SUGGESTION_NOT_FOUND", "rekall_accept_suggestion", {"suggestion_id": UNKNOWN}),
    ("SUGGESTION_NOT_FOUND", "rekall_reject_suggestion", {"suggestion_id": "nothing"}),
    ("ENTRY_TOO_LARGE", "rekall_add", {"type": "bug", "title": "x", "content": "y" * 1_000_001}),
    (
        "ENTRY_TOO_LARGE",
        "rekall_add",
        {"type": "bug", "title": "x", "tags": [f"tag-{n}" for n in range(101)]},
    ),
    ("ENTRY_NOT_FOUND", "memory_update", {"id": UNKNOWN, "title": "x"}),
    ("ENTRY_NOT_FOUND", "memory_delete", {"id": UNKNOWN}),
    ("ENTRY_NOT_FOUND", "memory_related", {"id": UNKNOWN}),
]


@pytest.mark.parametrize(("code", "tool", "arguments"), CASES)
def test_an_invalid_call_raises_its_code_with_a_hint(
    memory: Calls, code: str, tool: str, arguments: dict[str, Any]
) -> None:
    ids = {"first": memory.add("First entry"), "second": memory.add("Second entry")}
    filled = {
        key: value.format(**ids) if isinstance(value, str) and value[:1] == "{" else value
        for key, value in arguments.items()
    }
    error = memory.error(tool, **filled)
    assert error.code.name == code
    assert error.hint
    if code in STATUSES:
        assert numbers_of(error).http_status == STATUSES[code]


@pytest.mark.parametrize("limit", [1, 20])
def test_the_bounds_of_a_search_are_inclusive(memory: Calls, limit: int) -> None:
    assert memory("rekall_search", query="x", limit=limit)["results"] == []


@pytest.mark.parametrize("limit", [1, 50])
def test_the_bounds_of_suggestions_are_inclusive(memory: Calls, limit: int) -> None:
    assert memory("rekall_suggest_links", limit=limit) == {"suggestions": [], "total_pending": 0}


@pytest.mark.parametrize("confidence", [0, 5])
def test_the_bounds_of_confidence_are_inclusive(memory: Calls, confidence: int) -> None:
    assert (
        memory("rekall_add", type="bug", title="x" * 100, confidence=confidence)["created"] is True
    )


def test_linking_twice_is_a_conflict_unless_the_relation_differs(memory: Calls) -> None:
    first, second = memory.add("First entry"), memory.add("Second entry")
    made = memory("rekall_link", source_id=first, target_id=second)
    error = memory.error("rekall_link", source_id=first, target_id=second)
    assert error.code.name == "LINK_ALREADY_EXISTS"
    assert error.details["link_id"] == made["link_id"]
    assert (
        memory("rekall_link", source_id=first, target_id=second, relation_type="contradicts")[
            "created"
        ]
        is True
    )
    assert memory("rekall_link", source_id=second, target_id=first)["created"] is True


def test_an_ambiguous_prefix_lists_its_candidates(memory: Calls) -> None:
    first, second = memory.add("First entry"), memory.add("Second entry")
    common = first[:8]
    assert second.startswith(common)
    error = memory.error("rekall_show", id=common)
    assert error.code.name == "ENTRY_NOT_FOUND"
    assert [candidate["id"] for candidate in error.details["candidates"]] == [first, second]
    assert error.hint == f"Give more characters: {first} (First entry), {second} (Second entry)"


def test_a_prefix_of_5_characters_finds_its_only_entry_in_any_case(memory: Calls) -> None:
    entry = memory.add("Alone")
    assert memory("rekall_show", id=entry[:5])["id"] == entry
    assert memory("rekall_show", id=entry[:7].lower())["id"] == entry
    assert memory.error("rekall_show", id=entry[:4]).code.name == "ENTRY_NOT_FOUND"


def test_a_second_decision_is_refused_and_names_the_first(memory: Calls) -> None:
    memory.add(
        "Gateway closes idle connections", "The gateway closes idle connections after 30 seconds."
    )
    memory.add(
        "Idle connections of the gateway",
        "The gateway closes idle connections after 30 seconds, always.",
    )
    [suggestion] = memory("rekall_suggest_links")["suggestions"]
    memory("rekall_reject_suggestion", suggestion_id=suggestion["id"])
    for tool in ("rekall_accept_suggestion", "rekall_reject_suggestion"):
        error = memory.error(tool, suggestion_id=suggestion["id"])
        assert (error.code.name, error.details["status"]) == ("SUGGESTION_NOT_FOUND", "rejected")


def test_a_defect_is_reported_as_internal_error(memory: Calls) -> None:
    memory.service.close()  # the database is closed under the service
    error = memory.error("rekall_add", type="bug", title="x")
    assert error.code.name == "INTERNAL_ERROR"
    assert error.details["trace_id"]

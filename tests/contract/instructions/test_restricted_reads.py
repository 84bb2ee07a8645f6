"""With `governance.restrict_reads`, restricted instructions leave no trace for other keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson
import pytest

from commonplace.dispatch.call import to_json
from commonplace.dispatch.registry import Selection
from commonplace.kernel.auth import AuthContext, Tenant, local_user, scopes_up_to
from commonplace.kernel.auth import Scope as KeyScope

MARK = "zebrafish"  # in every field of the restricted instruction
SECRET = f"{MARK}-rule"
VOLATILE = (
    "timestamp",
    "generatedAt",
    "uptime",
    "performanceMs",
    "elapsedMs",
    "averageResponseTime",
    "availableSpace",
)
ENTRY: Mapping[str, Any] = {
    "id": SECRET,
    "title": f"{MARK} title",
    "body": f"Never tell anybody about the {MARK}.",
    "categories": [f"{MARK}-category", "shared"],
    "owner": f"{MARK}-team",
    "tags": [MARK],
    "priority": 5,
    "classification": "restricted",
    "dependencies": ["plain-rule"],
}
READS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("instructions_list", {"full": True}),
    ("instructions_list", {"expectId": SECRET}),
    ("instructions_list", {"category": "shared"}),
    ("instructions_list_scoped", {}),
    ("instructions_get", {"id": SECRET}),
    ("instructions_get_enhanced", {"id": SECRET}),
    ("instructions_search", {"q": MARK}),
    ("instructions_search", {"q": "shared plain"}),
    ("instructions_query", {"filters": {"classification": ["restricted"]}}),
    ("instructions_query", {"filters": {"text": MARK}}),
    ("instructions_query", {"filters": {}, "limit": 100}),
    ("instructions_categories", {}),
    ("instructions_diff", {"clientHash": "0" * 64}),
    ("instructions_diff", {"known": [{"id": SECRET, "sourceHash": "0" * 64}]}),
    ("instructions_export", {}),
    ("instructions_export", {"ids": [SECRET]}),
    ("instructions_governance_hash", {"includeItems": True}),
    ("instructions_reviews", {"before": "2999-01-01T00:00:00Z"}),
    ("instructions_health", {}),
    ("instructions_inspect", {"scope": "catalog"}),
    ("instructions_inspect", {"scope": "instruction", "id": SECRET}),
    ("instructions_inspect", {"scope": "governance"}),
    ("instructions_inspect", {"scope": "usage"}),
    ("instructions_capabilities", {}),
    ("instructions_history", {"id": SECRET}),
    ("graph_export", {"format": "mermaid", "enrich": True, "includeUsage": True}),
    ("graph_export", {"format": "json", "enrich": True, "includeCategoryNodes": True}),
    ("integrity_verify", {}),
    ("gates_evaluate", {}),
    ("usage_hotset", {}),
    ("instructions_groom", {"mode": {"dryRun": True, "mergeDuplicates": True}}),
    ("instructions_dispatch", {"action": "get", "id": SECRET}),
    ("instructions_batch", {"operations": [{"action": "list"}, {"action": "export"}]}),
)
"""Reads that answer from several instructions, or that name the restricted one."""


def caller(label: str, *, may_read: bool, scope: KeyScope = KeyScope.ADMIN) -> AuthContext:
    opened = frozenset({"restricted"}) if may_read else frozenset()
    return AuthContext(Tenant("team"), scopes_up_to(scope), label, may_read=opened)


OUTSIDER = caller("olga", may_read=False)
INSIDER = caller("ivan", may_read=True)


@pytest.fixture
def guarded(desks: Callable[..., Any]) -> Any:
    desk = desks(governance={"restrict_reads": True})
    desk.add("plain-rule", "A plain shared rule.", categories=["shared"])
    desk.add("other-rule", "Another rule.", categories=["other"], dependencies=["plain-rule"])
    desk.file("gates.json", {"gates": [{"id": "few", "type": "count", "op": "<=", "value": 2}]})
    return desk


def answer(desk: Any, tool: str, arguments: Mapping[str, Any], auth: AuthContext) -> str:
    outcome = desk.outcome(tool, arguments, auth)
    value = outcome.error.as_dict() if outcome.error else to_json(outcome.output)
    return orjson.dumps(_without_volatile(value), option=orjson.OPT_SORT_KEYS).decode()


def _without_volatile(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_volatile(v) for name, v in value.items() if name not in VOLATILE}
    return [_without_volatile(v) for v in value] if isinstance(value, list) else value


def store_secret(desk: Any) -> None:
    """Create the restricted instruction, use it and change it, so that it is in every record."""
    added = desk.outcome("instructions_add", {"entry": ENTRY, "lax": True}, INSIDER)
    assert added.error is None
    assert to_json(added.output)["created"]
    for _ in range(2):
        assert desk.outcome("usage_track", {"id": SECRET}, INSIDER).error is None
    changed = {"entry": {"id": SECRET, "body": f"Changed {MARK}."}, "overwrite": True, "lax": True}
    assert desk.outcome("instructions_add", changed, INSIDER).error is None


def test_no_answer_changes_for_others_when_a_restricted_instruction_comes(guarded: Any) -> None:
    before = [answer(guarded, tool, arguments, OUTSIDER) for tool, arguments in READS]
    store_secret(guarded)
    for (tool, arguments), earlier in zip(READS, before, strict=True):
        told = answer(guarded, tool, arguments, OUTSIDER)
        assert told == earlier, (tool, arguments)
        asked = orjson.dumps(arguments).decode()
        assert MARK in asked or MARK not in told, (tool, arguments)


def test_a_key_that_may_read_restricted_sees_everything(guarded: Any) -> None:
    store_secret(guarded)
    for tool, arguments in READS:
        if tool not in ("gates_evaluate", "instructions_capabilities", "instructions_health"):
            told = answer(guarded, tool, arguments, INSIDER)
            counted = "count" in told or "hash" in told
            assert MARK in told or counted, (tool, arguments)
    assert guarded.outcome("instructions_list", {}, INSIDER).output["count"] == 3
    assert guarded.outcome("instructions_list", {}, local_user()).output["count"] == 3
    assert guarded.outcome("instructions_list", {}, OUTSIDER).output["count"] == 2


def _other_tools(desk: Any) -> Iterator[str]:
    known = {tool for tool, _ in READS}
    for tool in desk.registry.listed(Selection(all_tiers=True)):
        if tool.name not in known and tool.read_only:
            yield tool.name


def test_no_other_reading_tool_names_it(guarded: Any) -> None:
    store_secret(guarded)
    names = list(_other_tools(guarded))
    assert names
    for name in names:
        for arguments in ({}, {"full": True}, {"kind": "archived"}, {"prompt": "a zebra"}):
            assert MARK not in answer(guarded, name, arguments, OUTSIDER), name


def test_a_hidden_instruction_cannot_be_changed(guarded: Any) -> None:
    store_secret(guarded)
    stored = guarded.stored(SECRET)

    def do(tool: str, **arguments: Any) -> Any:
        outcome = guarded.outcome(tool, arguments, OUTSIDER)
        return outcome.error.code.name if outcome.error else to_json(outcome.output)

    overwrite = {"entry": {"id": SECRET, "body": "mine"}, "lax": True, "overwrite": True}
    assert do("instructions_add", **overwrite) == "ID_NOT_AVAILABLE"
    assert do("instructions_remove", ids=[SECRET])["missing"] == [SECRET]
    assert do("instructions_governance_update", id=SECRET, patch={"owner": "me"})["notFound"]
    assert do("instructions_restore", id=SECRET) == "CHANGE_NOT_FOUND"
    assert do("usage_track", id=SECRET)["notFound"]
    imported = do("instructions_import", entries=[{"id": SECRET, "body": "x"}], mode="overwrite")
    assert imported == "ID_NOT_AVAILABLE"
    do("instructions_groom", mode={"mergeDuplicates": True, "removeDeprecated": True})
    do("instructions_repair")
    do("instructions_enrich")
    assert guarded.stored(SECRET) == stored
    assert guarded.outcome("usage_hotset", {}, INSIDER).output["items"][0]["usageCount"] == 2


def test_a_key_cannot_write_what_it_could_not_read(guarded: Any) -> None:
    made = guarded.outcome(
        "instructions_add",
        {"entry": {"id": "mine", "body": "x", "classification": "restricted"}, "lax": True},
        OUTSIDER,
    )
    assert made.error.code.name == "SCOPE_REQUIRED"
    patch = {"id": "plain-rule", "patch": {"classification": "restricted"}}
    outcome = guarded.outcome("instructions_governance_update", patch, OUTSIDER)
    assert outcome.error.code.name == "SCOPE_REQUIRED"
    assert "--may-read restricted" in outcome.error.hint
    assert sorted(guarded.files.names())[-1] != "mine.json"


def test_the_restricted_past_of_an_open_instruction_stays_hidden(guarded: Any) -> None:
    store_secret(guarded)
    opened = {"id": SECRET, "patch": {"classification": "internal"}}
    assert guarded.outcome("instructions_governance_update", opened, INSIDER).error is None
    edit = {"entry": {"id": SECRET, "body": "Open text."}, "overwrite": True, "lax": True}
    assert guarded.outcome("instructions_add", edit, INSIDER).error is None
    told = to_json(guarded.outcome("instructions_history", {"id": SECRET}, OUTSIDER).output)
    assert [change["action"] for change in told["changes"]] == ["overwrite"]
    assert "Never tell" not in str(told)
    every = to_json(guarded.outcome("instructions_history", {"id": SECRET}, INSIDER).output)
    assert len(every["changes"]) == 4


def test_a_classification_in_capitals_is_restricted_too(guarded: Any) -> None:
    guarded.file("loud.json", {"id": "loud", "body": MARK, "classification": " Restricted"})
    guarded.call("instructions_reload")
    told = to_json(guarded.outcome("instructions_list", {"full": True}, OUTSIDER).output)
    assert told["count"] == 2
    whole = to_json(guarded.outcome("instructions_get", {"id": "loud"}, INSIDER).output)
    assert whole["item"]["classification"] == "restricted"


def test_without_the_setting_everybody_reads_everything(desk: Any) -> None:
    desk.add("quiet", "Restricted, but the setting is off.", classification="restricted")
    assert desk.outcome("instructions_list", {}, OUTSIDER).output["count"] == 1

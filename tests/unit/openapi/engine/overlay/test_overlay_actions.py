"""Overlays: the official sets, and each rule of merging, copying and removing."""

from __future__ import annotations

import copy
import time
from pathlib import Path
from typing import Any

import pytest

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.document.load import parse_text
from commonplace.openapi.engine.overlay.apply import apply_overlay
from commonplace.openapi.engine.overlay.validate import validate_overlay


def read(path: Path) -> Any:
    return parse_text(path.read_bytes()).data


def overlay(*actions: dict[str, Any], version: str = "1.1.0") -> dict[str, Any]:
    return {"overlay": version, "info": {"title": "t", "version": "1"}, "actions": list(actions)}


def applied(
    document: dict[str, Any], *actions: dict[str, Any], version: str = "1.1.0"
) -> dict[str, Any]:
    before = copy.deepcopy(document)
    result = apply_overlay(document, overlay(*actions, version=version))
    assert document == before
    return result.document


@pytest.mark.oracle
def test_every_official_set_gives_the_official_output(data: Path) -> None:
    sets = sorted((data / "openapi/overlay/compliant-sets").iterdir())
    assert len(sets) == 8
    for folder in sets:
        result = apply_overlay(read(folder / "openapi.yaml"), read(folder / "overlay.yaml"))
        assert result.document == read(folder / "output.yaml"), folder.name
        assert result.warnings == []


@pytest.mark.oracle
@pytest.mark.parametrize("version", ["v1.0", "v1.1"])
def test_every_official_overlay_is_valid_or_invalid_as_its_folder_says(
    data: Path, version: str
) -> None:
    judged = 0
    for path in sorted((data / "openapi/overlay/tests" / version).glob("*/*.yaml")):
        document = read(path)
        try:
            valid = validate_overlay(document).valid
        except CommonplaceError as error:
            assert error.code.name == "UNSUPPORTED_VERSION"  # noqa: PT017
            valid = False
        assert valid is (path.parent.name == "pass"), path.name
        judged += 1
    assert judged == {"v1.0": 32, "v1.1": 35}[version]


@pytest.mark.oracle
def test_overlay_1_2_is_refused_by_its_version(data: Path) -> None:
    refused = 0
    for path in sorted((data / "openapi/overlay/tests/v1.2-dev/pass").glob("*.yaml")):
        with pytest.raises(CommonplaceError) as raised:
            validate_overlay(read(path))
        assert raised.value.code.name == "UNSUPPORTED_VERSION"
        assert "1.2.0" in raised.value.message
        assert "1.1" in str(raised.value.hint)
        refused += 1
    assert refused == 13


def test_objects_merge_lists_join_and_plain_values_are_replaced() -> None:
    document = {"info": {"title": "old", "contact": {"name": "n"}}, "tags": [{"name": "a"}]}
    update = {
        "info": {"title": "new", "contact": {"email": "e"}},
        "tags": [{"name": "b"}],
        "x": [1],
    }
    assert applied(document, {"target": "$", "update": update}) == {
        "info": {"title": "new", "contact": {"name": "n", "email": "e"}},
        "tags": [{"name": "a"}, {"name": "b"}],
        "x": [1],
    }


def test_an_array_target_takes_an_entry_and_in_1_1_also_a_list() -> None:
    document = {"tags": [{"name": "a"}]}
    assert applied(document, {"target": "$.tags", "update": {"name": "b"}}) == {
        "tags": [{"name": "a"}, {"name": "b"}]
    }
    assert applied(document, {"target": "$.tags", "update": [{"name": "b"}]}) == {
        "tags": [{"name": "a"}, {"name": "b"}]
    }
    assert applied(document, {"target": "$.tags", "update": [1]}, version="1.0.0") == {
        "tags": [{"name": "a"}, [1]]
    }


def test_several_matches_get_their_own_copies() -> None:
    made = applied(
        {"a": {}, "b": {}},
        {"target": "$.*", "update": {"x": {"y": 1}}},
        {"target": "$.a.x", "update": {"z": 2}},
    )
    assert made == {"a": {"x": {"y": 1, "z": 2}}, "b": {"x": {"y": 1}}}


def test_removing_list_items_keeps_the_others() -> None:
    document = {"servers": [{"d": "Dev"}, {"d": "Prod"}, {"d": "Dev"}]}
    assert applied(document, {"target": "$.servers[?@.d == 'Dev']", "remove": True}) == {
        "servers": [{"d": "Prod"}]
    }


def test_remove_wins_over_update_and_copy() -> None:
    assert applied(
        {"a": {"b": 1}, "c": {}},
        {"target": "$.a", "remove": True, "update": {"z": 1}, "copy": "$.c"},
    ) == {"c": {}}


def test_removing_a_parent_and_its_child_in_one_action_is_fine() -> None:
    assert applied({"a": {"x": {"x": {}}}}, {"target": "$..x", "remove": True}) == {"a": {}}


def test_copy_merges_one_node_into_the_targets() -> None:
    document = {"paths": {"/foo": {"get": {"summary": "s"}}, "/bar": {"put": {}}}}
    made = applied(document, {"target": "$.paths['/bar']", "copy": "$.paths['/foo']"})
    assert made["paths"]["/bar"] == {"put": {}, "get": {"summary": "s"}}


def test_copy_of_several_nodes_is_an_error() -> None:
    with pytest.raises(CommonplaceError, match="selects 2"):
        apply_overlay({"a": {}, "b": {}}, overlay({"target": "$.a", "copy": "$.*"}))


def test_actions_see_what_earlier_ones_did_and_counts_say_how_much() -> None:
    result = apply_overlay(
        {"a": {}},
        overlay(
            {"target": "$.a", "update": {"b": {}}},
            {"target": "$.a.b", "update": {"c": 1}},
            {"target": "$.zzz", "remove": True},
        ),
    )
    assert [(change.operation, change.match_count) for change in result.changes] == [
        ("update", 1),
        ("update", 1),
        ("remove", 0),
    ]
    assert (result.applied, result.skipped) == (2, 1)
    assert len(result.warnings) == 1


def test_strict_fails_where_a_target_matches_nothing() -> None:
    with pytest.raises(CommonplaceError) as raised:
        apply_overlay({}, overlay({"target": "$.zzz", "remove": True}), strict=True)
    assert raised.value.code.name == "OVERLAY_TARGET_UNMATCHED"
    assert raised.value.details["action_index"] == 0


def test_a_plain_value_is_replaced_in_1_1_and_refused_an_object() -> None:
    assert applied({"a": "x"}, {"target": "$.a", "update": "y"}) == {"a": "y"}
    with pytest.raises(CommonplaceError, match="plain value"):
        apply_overlay({"a": "x"}, overlay({"target": "$.a", "update": {}}))
    with pytest.raises(CommonplaceError, match="an object"):
        apply_overlay({"a": {}}, overlay({"target": "$.a", "update": "y"}))


def test_extension_names_without_brackets_are_accepted_with_a_warning() -> None:
    document = {"paths": {"/a": {"get": {"x-traits": {"paged": True}}}}}
    target = "$.paths.*.get[?@.paged].x-none"
    verdict = validate_overlay(overlay({"target": "$.paths.*[?@.x-traits.paged]", "update": {}}))
    assert verdict.valid
    assert "['x-traits']" in verdict.warnings[0].message
    made = applied(document, {"target": "$.paths.*[?@.x-traits.paged]", "update": {"found": True}})
    assert made["paths"]["/a"]["get"]["found"] is True
    assert apply_overlay(document, overlay({"target": target, "remove": True})).skipped == 1


def test_a_target_that_is_not_a_json_path_is_an_error_when_applied() -> None:
    with pytest.raises(CommonplaceError) as raised:
        apply_overlay({}, overlay({"target": "$[?(", "remove": True}))
    assert raised.value.code.name == "INVALID_OVERLAY"
    assert raised.value.details["action_index"] == 0


def test_a_target_that_is_not_a_json_path_is_an_error_when_validated() -> None:
    verdict = validate_overlay(overlay({"target": "$.a[", "update": {}}))
    assert [finding.path for finding in verdict.errors] == ["/actions/0/target"]


def test_the_whole_document_cannot_be_removed() -> None:
    with pytest.raises(CommonplaceError, match="whole document"):
        apply_overlay({"a": 1}, overlay({"target": "$", "remove": True}))


def test_findings_have_a_place() -> None:
    verdict = validate_overlay(
        {"overlay": "1.0.0", "info": {"title": 1}, "actions": [{"remove": "yes"}, 5], "zzz": 1}
    )
    assert [finding.path for finding in verdict.errors] == [
        "/zzz",
        "/info/title",
        "/info",
        "/actions/0/target",
        "/actions/0/remove",
        "/actions/1",
    ]
    assert (verdict.version, verdict.action_count) == ("1.0.0", 2)


def test_the_root_is_the_document_in_nested_filters_too() -> None:
    document = {"wanted": "x", "a": [{"b": [{"c": "x"}]}, {"b": [{"c": "y"}]}]}
    made = applied(document, {"target": "$.a[?@.b[?@.c == $.wanted]]", "update": {"found": True}})
    assert [item.get("found") for item in made["a"]] == [True, None]


def test_a_query_from_the_root_runs_once_and_not_per_node() -> None:
    document = {"paths": {f"/p{number}": {"get": {"a": {}}} for number in range(1000)}}

    def seconds(target: str) -> float:
        begun = time.thread_time()
        applied(document, {"target": target, "update": {"x-many": True}})
        return time.thread_time() - begun

    assert seconds("$.paths[?count($..a) > 1]") < 100 * seconds(
        "$..a"
    )  # a thousand times if each evaluates the target again


@pytest.mark.timeout(20)
def test_no_pattern_takes_exponential_time() -> None:
    document = {"a": [{"n": "a" * 5000 + "b"}, {"n": "aaa"}]}
    made = applied(
        document, {"target": "$.a[?search(@.n, '^(a|aa)+$')]", "update": {"found": True}}
    )
    assert [item.get("found") for item in made["a"]] == [None, True]


@pytest.mark.parametrize(
    ("function", "pattern", "found"),
    [
        ("match", "a.c", ["abc"]),
        ("search", "b[c.]", ["abc", "xabcx"]),
        ("match", "[.]", ["."]),
        ("search", "\\\\.", ["."]),
        ("match", "\\\\p{Lu}", ["Ä"]),
        ("match", "(", []),
    ],
)
def test_patterns_are_i_regexps(function: str, pattern: str, found: list[str]) -> None:
    words = ["abc", "a\nc", "xabcx", ".", "Ä", 5]
    made = applied({"w": words}, {"target": f"$.w[?{function}(@, '{pattern}')]", "update": "found"})
    assert [old for old, new in zip(words, made["w"], strict=True) if new == "found"] == found


def test_targets_are_found_however_deep_a_document_may_be() -> None:
    document: dict[str, Any] = {"deep": True}
    for _ in range(300):
        document = {"a": document}
    made = applied(document, {"target": "$..[?@.deep]", "update": {"found": True}})
    for _ in range(300):
        made = made["a"]
    assert made == {"deep": True, "found": True}


def test_copies_of_copies_are_bounded() -> None:
    with pytest.raises(CommonplaceError, match="more than 2000000 values") as caught:
        apply_overlay(
            {"tags": [{"name": "a"}]}, overlay(*[{"target": "$.tags", "copy": "$.tags"}] * 60)
        )
    assert caught.value.code.name == "INVALID_OVERLAY"

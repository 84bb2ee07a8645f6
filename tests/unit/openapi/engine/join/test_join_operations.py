"""Joined documents: operation ids stay unique, and links follow."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from join_cases import OK, joined, modern, plain, spec

from commonplace.kernel.errors import CommonplaceError


def test_operation_ids_stay_unique_and_links_follow() -> None:
    one = spec({"/a": {"get": {"operationId": "list", "responses": OK}}})
    link = {"200": {"description": "ok", "links": {"next": {"operationId": "list"}}}}
    other = spec({"/b": {"get": {"operationId": "list", "responses": link}}})
    made = joined(one, other).document
    assert made["paths"]["/b"]["get"]["operationId"] == "list_right"
    assert (
        made["paths"]["/b"]["get"]["responses"]["200"]["links"]["next"]["operationId"]
        == "list_right"
    )


def test_a_shared_link_to_another_operation_is_another_link() -> None:
    def linking(path: str) -> dict[str, Any]:
        response = {
            "200": {"description": "ok", "links": {"next": {"$ref": "#/components/links/Next"}}}
        }
        return spec(
            {path: plain(operationId="list", responses=response)},
            components={"links": {"Next": {"operationId": "list"}}},
        )

    made = joined(linking("/a"), linking("/b"), schemas="rename-right").document
    assert made["components"]["links"] == {
        "Next": {"operationId": "list"},
        "Next_right": {"operationId": "list_right"},
    }
    assert made["paths"]["/b"]["get"]["responses"]["200"]["links"]["next"] == {
        "$ref": "#/components/links/Next_right"
    }


# Webhooks and operation ids
def test_webhooks_that_differ_follow_the_path_strategy() -> None:
    left, right = (
        modern("3.1.0", webhooks={"new": {"post": {"summary": name, "responses": OK}}})
        for name in ("left", "right")
    )
    with pytest.raises(CommonplaceError) as raised:
        joined(left, right)
    assert raised.value.details == {"kind": "webhook", "name": "new"}
    for strategy, side in (("accept-left", "left"), ("accept-right", "right")):
        result = joined(left, right, paths=strategy)  # type: ignore[arg-type]
        assert result.document["webhooks"]["new"]["post"]["summary"] == side
        assert (result.collisions, result.warnings) == (
            1,
            [f"webhook 'new' differs between the documents: the {side} one was kept."],
        )
    assert joined(left, copy.deepcopy(left)).collisions == 0


def test_operation_ids_of_webhooks_callbacks_and_additional_operations_are_unique_too() -> None:
    def all_places(name: str) -> dict[str, Any]:
        callback = {"{$request.query.url}": {"post": {"operationId": "called", "responses": OK}}}
        return modern(
            "3.2.0",
            paths={
                f"/{name}": {
                    **plain(callbacks={"done": callback}),
                    "additionalOperations": {"COPY": {"operationId": "copy", "responses": OK}},
                }
            },
            webhooks={name: {"post": {"operationId": "hooked", "responses": OK}}},
        )

    made = joined(all_places("a"), all_places("b")).document
    item = made["paths"]["/b"]
    assert item["additionalOperations"]["COPY"]["operationId"] == "copy_right"
    assert (
        item["get"]["callbacks"]["done"]["{$request.query.url}"]["post"]["operationId"]
        == "called_right"
    )
    assert made["webhooks"]["b"]["post"]["operationId"] == "hooked_right"


def test_operation_ids_are_unique_and_links_follow_whichever_side_is_kept() -> None:
    link = {"200": {"description": "ok", "links": {"first": {"operationId": "opA"}}}}
    one = spec({"/a": plain(operationId="opA"), "/b": plain(operationId="opB", responses=link)})
    other = spec({"/a": plain(operationId="opB")})
    right = joined(one, other, paths="accept-right").document["paths"]
    assert (right["/a"]["get"]["operationId"], right["/b"]["get"]["operationId"]) == (
        "opB_right",
        "opB",
    )
    assert right["/b"]["get"]["responses"]["200"]["links"]["first"] == {"operationId": "opB_right"}
    left = joined(one, other, paths="accept-left").document["paths"]
    assert (left["/a"]["get"]["operationId"], left["/b"]["get"]["operationId"]) == ("opA", "opB")


def test_an_operation_id_in_an_example_is_ignored() -> None:
    one = spec({"/a": plain(operationId="list")})
    example = {
        "200": {
            "description": "ok",
            "content": {"application/json": {"example": {"operationId": "list"}}},
        }
    }
    made = joined(one, spec({"/b": plain(operationId="list", responses=example)})).document[
        "paths"
    ]["/b"]["get"]
    assert made["operationId"] == "list_right"
    assert made["responses"] == example

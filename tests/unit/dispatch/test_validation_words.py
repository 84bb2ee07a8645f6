"""What callers are told about arguments that do not fit."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator

from commonplace.dispatch.tool import Tool
from commonplace.dispatch.validation import validate
from commonplace.kernel.errors import CommonplaceError


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")

    deep: int = 1


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: Annotated[str, Field(min_length=1, max_length=3)]
    limit: Annotated[int, Field(ge=1, le=9)] = 1
    mode: Literal["skip", "merge"] = "skip"
    tags: Annotated[list[str], Field(max_length=2)] = []
    inner: Inner | None = None
    exact: bool = False
    share: float = 0.5

    @field_validator("mode")
    @classmethod
    def not_merge(cls, value: str) -> str:
        if value == "merge":
            raise ValueError("merge is not for today")
        return value


TOOL = Tool(
    name="find",
    toolset="t",
    title="Find",
    description="Find.",
    input=Arguments,
    output=Inner,
    handler=lambda *_: {},
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "query: is missing"),
        ({"query": 5}, "query: must be a string"),
        ({"query": ""}, "query: must have at least 1 character"),
        ({"query": "abcd"}, "query: must have at most 3 characters"),
        ({"query": "a", "limit": 0}, "limit: must be at least 1"),
        ({"query": "a", "limit": 10}, "limit: must be at most 9"),
        ({"query": "a", "limit": "many"}, "limit: must be a whole number"),
        ({"query": "a", "limit": 1.5}, "limit: must be a whole number"),
        ({"query": "a", "mode": "zap"}, "mode: must be 'skip' or 'merge'"),
        ({"query": "a", "mode": "merge"}, "mode: merge is not for today"),
        ({"query": "a", "tags": "b"}, "tags: must be a list"),
        ({"query": "a", "tags": ["b", "c", "d"]}, "tags: must have at most 2 items, not 3"),
        ({"query": "a", "inner": "b"}, "inner: must be an object"),
        ({"query": "a", "inner": {"deap": 1}}, "inner.deap: is not known here"),
        ({"query": "a", "exact": "perhaps"}, "exact: must be true or false"),
        ({"query": "a", "share": []}, "share: must be a number"),
        ({"query": "a", "limt": 3}, "limt: is not an argument; did you mean limit?"),
        ({"query": "a", "zebra": 3}, "zebra: is not an argument"),
    ],
)
def test_a_bad_argument_is_explained_in_json_terms(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(CommonplaceError) as refused:
        validate(TOOL, arguments)
    assert refused.value.message == message
    takes = "find takes: exact, inner, limit, mode, query, share, tags."
    is_inside = message.startswith("inner")
    assert refused.value.hint == ("An object in inner takes: deep." if is_inside else takes)


def test_several_bad_arguments_are_reported_together() -> None:
    with pytest.raises(CommonplaceError) as refused:
        validate(TOOL, {"limit": 0, "tags": 3})
    assert (
        refused.value.message
        == "query: is missing; limit: must be at least 1; tags: must be a list"
    )
    assert [field["field"] for field in refused.value.details["fields"]] == [
        "query",
        "limit",
        "tags",
    ]

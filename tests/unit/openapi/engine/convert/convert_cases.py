"""Small documents of each version, and their conversion."""

from __future__ import annotations

import copy
from typing import Any

from commonplace.openapi.engine.convert.chain import LADDER, Conversion, convert
from commonplace.openapi.engine.convert.issues import ConversionIssue
from commonplace.openapi.model import Family

V20, V30, V31, V32 = LADDER


def spec(version: Family, **more: Any) -> dict[str, Any]:
    head = (
        {"swagger": "2.0"}
        if version is V20
        else {"openapi": {V30: "3.0.3", V31: "3.1.0", V32: "3.2.0"}[version]}
    )
    return {**head, "info": {"title": "t", "version": "1"}, "paths": {}, **more}


def converted(document: dict[str, Any], source: Family, target: Family) -> Conversion:
    before = copy.deepcopy(document)
    result = convert(document, source, target)
    assert document == before, "the source must not change"
    return result


def schema_across(
    schema: dict[str, Any], source: Family, target: Family
) -> tuple[Any, tuple[ConversionIssue, ...]]:
    document = (
        spec(source, definitions={"S": schema})
        if source is V20
        else spec(source, components={"schemas": {"S": schema}})
    )
    result = converted(document, source, target)
    made = (
        result.document["definitions"]
        if target is V20
        else result.document["components"]["schemas"]
    )
    return made["S"], result.issues

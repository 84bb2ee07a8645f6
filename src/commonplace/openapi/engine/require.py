"""Checks for operations that cannot work on a document of the wrong shape."""

from __future__ import annotations

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonArray, JsonObject
from commonplace.openapi.errors import INVALID_SPEC


def require_object(value: Json, pointer: str) -> JsonObject:
    """Return an object; an empty one for an empty or missing value.

    Raises INVALID_SPEC for anything else.
    """
    if not value:
        return {}
    if not isinstance(value, dict):
        raise refuse(pointer, "must be an object")
    return value


def require_list(value: Json, pointer: str) -> JsonArray:
    """Return a list; an empty one for an empty or missing value.

    Raises INVALID_SPEC for anything else.
    """
    if not value:
        return []
    if not isinstance(value, list):
        raise refuse(pointer, "must be a list")
    return value


def refuse(pointer: str, message: str) -> CommonplaceError:
    """Return the error for a document that is too broken at a place."""
    return CommonplaceError(
        INVALID_SPEC,
        f"The document is too broken for this: {pointer or '/'}: {message}.",
        hint="oas_validate lists everything that is wrong.",
        details={"errors": [{"path": pointer, "message": f"{message}."}]},
    )

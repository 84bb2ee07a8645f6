"""Application of overlays to documents."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.json_values import clone
from commonplace.openapi.engine.overlay.targets import Location, compile_path, find_locations
from commonplace.openapi.errors import INVALID_OVERLAY, OVERLAY_TARGET_UNMATCHED

MAX_ADDED = 2_000_000  # values: a copy of what was copied before doubles it


@dataclass(frozen=True, slots=True)
class OverlayChange:
    """What one action did."""

    action_index: int
    target: str
    operation: str  # update, copy, remove or none
    match_count: int
    description: str = ""


@dataclass(slots=True)
class AppliedOverlay:
    """The changed document and what each action did."""

    document: JsonObject
    changes: list[OverlayChange]
    warnings: list[str]
    added: int = 0

    @property
    def applied(self) -> int:
        """Return how many actions changed something."""
        return sum(change.match_count > 0 and change.operation != "none" for change in self.changes)

    @property
    def skipped(self) -> int:
        """Return how many actions changed nothing."""
        return len(self.changes) - self.applied


def apply_overlay(
    document: JsonObject, overlay: JsonObject, *, strict: bool = False
) -> AppliedOverlay:
    """Apply all actions in order and return the result; the document is not changed."""
    newer = not str(overlay.get("overlay", "")).startswith("1.0")
    result = AppliedOverlay(clone(document), [], [])
    for index, action in enumerate(overlay.get("actions") or []):
        change = _apply(result, action, index, newer=newer)
        result.changes.append(change)
        if change.match_count == 0:
            message = f"Action {index}: target {action['target']!r} matches nothing."
            if strict:
                raise CommonplaceError(
                    OVERLAY_TARGET_UNMATCHED,
                    message,
                    hint="Correct the target, or leave strict out to skip it.",
                    details={"action_index": index, "target": action["target"]},
                )
            result.warnings.append(message)
    return result


def _apply(result: AppliedOverlay, action: JsonObject, index: int, *, newer: bool) -> OverlayChange:
    target = action["target"]
    operation = (
        "remove"
        if action.get("remove") is True
        else "copy"
        if newer and "copy" in action
        else "update"
        if "update" in action
        else "none"
    )
    locations = find_locations(result.document, compile_path(target, index), index)
    change = OverlayChange(
        index, target, operation, len(locations), str(action.get("description") or "")
    )
    if operation == "remove":
        # From the back, so that indices of earlier siblings stay true and children go before their
        # parents.
        for location in sorted(
            locations,
            key=lambda location: [(isinstance(token, int), token) for token in location],
            reverse=True,
        ):
            _remove(result, location, index)
    elif operation != "none":
        value = (
            action.get("update")
            if operation == "update"
            else _copy_source(result.document, action["copy"], index)
        )
        result.added += _count_values(value) * len(locations)
        if result.added > MAX_ADDED:
            raise CommonplaceError(
                INVALID_OVERLAY,
                f"Action {index} makes the overlay add more than {MAX_ADDED} values.",
            )
        for location in locations:
            _update(result, location, value, index, newer=newer)
    return change


def _count_values(value: Json) -> int:
    pending, count = [value], 0
    while pending:
        node = pending.pop()
        count += 1
        pending.extend(
            node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        )
    return count


def _copy_source(document: JsonObject, path: str, index: int) -> Json:
    nodes = find_locations(document, compile_path(path, index), index)
    if len(nodes) != 1:
        raise CommonplaceError(
            INVALID_OVERLAY,
            f"Action {index}: `copy` must select one place; {path[:200]!r} selects {len(nodes)}.",
            details={"action_index": index, "match_count": len(nodes)},
        )
    return clone(_lookup(document, nodes[0]))


def _lookup(document: Json, location: Location) -> Json:
    for token in location:
        document = document[token]
    return document


def _remove(result: AppliedOverlay, location: Location, index: int) -> None:
    if not location:
        raise CommonplaceError(
            INVALID_OVERLAY,
            f"Action {index} would remove the whole document.",
            details={"action_index": index},
        )
    try:
        del _lookup(result.document, location[:-1])[location[-1]]
    except (KeyError, IndexError, TypeError):
        return  # its parent went first


def _update(
    result: AppliedOverlay, location: Location, value: Json, index: int, *, newer: bool
) -> None:
    try:
        node = _lookup(result.document, location)
    except (KeyError, IndexError, TypeError):
        return  # an earlier match of this action replaced its parent
    if isinstance(node, dict):
        if not isinstance(value, dict):
            raise _mismatch(index, "an object", value)
        _merge(node, value)
    elif isinstance(node, list):
        node.extend(clone(value) if isinstance(value, list) and newer else [clone(value)])
    elif isinstance(value, (dict, list)) and newer:
        raise _mismatch(index, "a plain value", value)
    else:
        if not newer:
            result.warnings.append(
                f"Action {index}: Overlay 1.0 updates objects and lists only; the plain value "
                f"was replaced."
            )
        parent = _lookup(result.document, location[:-1])
        parent[location[-1]] = clone(value)


def _mismatch(index: int, what: str, value: Json) -> CommonplaceError:
    kind = (
        "an object"
        if isinstance(value, dict)
        else "a list"
        if isinstance(value, list)
        else "a plain value"
    )
    return CommonplaceError(
        INVALID_OVERLAY,
        f"Action {index}: the target is {what}, but the update is {kind}.",
        hint="To replace a value, target the object that holds it and give the new value under "
        "its name.",
        details={"action_index": index},
    )


def _merge(node: JsonObject, update: JsonObject) -> None:
    """Merge an update: objects by member, lists by appending; other values are replaced."""
    for key, value in update.items():
        known = node.get(key)
        if isinstance(known, dict) and isinstance(value, dict):
            _merge(known, value)
        elif isinstance(known, list) and isinstance(value, list):
            known.extend(clone(value))
        else:
            node[key] = clone(value)

"""Overlay 1.0 and 1.1: validation, and application to a document.

Targets are JSONPath by RFC 9535.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.json_path import PATHS, JSONPathError, JSONPathQuery
from commonplace.openapi.engine.json_values import clone
from commonplace.openapi.errors import (
    INVALID_OVERLAY,
    OVERLAY_TARGET_UNMATCHED,
    UNSUPPORTED_VERSION,
)

SUPPORTED = ("1.0", "1.1")
MAX_ACTIONS = 10_000
MAX_MATCHES = 1_000_000
MAX_ADDED = 2_000_000  # values: a copy of what was copied before doubles it
_VERSION = re.compile(r"(\d+)\.(\d+)\.\d+")
_DASHED = re.compile(r"\.([A-Za-z_][\w]*(?:-[\w]+)+)")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")


@dataclass(frozen=True, slots=True)
class OverlayFinding:
    """An error or warning in an overlay."""

    path: str  # JSON pointer into the overlay
    message: str


@dataclass(slots=True)
class OverlayReport:
    """The errors and warnings of an overlay."""

    version: str = ""
    title: str = ""
    action_count: int = 0
    errors: list[OverlayFinding] = field(default_factory=list)
    warnings: list[OverlayFinding] = field(default_factory=list)

    @property
    def valid(self) -> bool:
        """Tell whether there are no errors."""
        return not self.errors


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


def validate_overlay(overlay: Json) -> OverlayReport:
    """Check an overlay against the rules of the official schema.

    Raises UNSUPPORTED_VERSION for versions other than 1.0 and 1.1.
    """
    verdict = OverlayReport()
    if not isinstance(overlay, dict):
        verdict.errors.append(OverlayFinding("", "The overlay must be an object."))
        return verdict
    version = overlay.get("overlay")
    verdict.version = str(version) if version is not None else ""
    match = _VERSION.fullmatch(version) if isinstance(version, str) else None
    if version is None:
        verdict.errors.append(OverlayFinding("", "`overlay`, the version, is missing."))
    elif (
        isinstance(version, str)
        and re.fullmatch(r"\d+(\.\d+)*", version)
        and version[:3] not in SUPPORTED
    ):
        raise unsupported_version(version)
    elif match is None:
        verdict.errors.append(
            OverlayFinding("/overlay", "`overlay` must be a version such as 1.0.0 or 1.1.0.")
        )
    newer = match is not None and match[2] != "0"
    _check_keys(verdict, overlay, "", ("overlay", "info", "extends", "actions"))
    if "extends" in overlay and not isinstance(overlay["extends"], str):
        verdict.errors.append(OverlayFinding("/extends", "`extends` must be a string."))
    _check_info(verdict, overlay, newer=newer)
    actions = overlay.get("actions")
    if not isinstance(actions, list):
        verdict.errors.append(
            OverlayFinding(
                "/actions",
                "`actions` must be a list." if "actions" in overlay else "`actions` is missing.",
            )
        )
        return verdict
    verdict.action_count = len(actions)
    if not actions:
        verdict.errors.append(OverlayFinding("/actions", "There must be at least one action."))
    if len(actions) > MAX_ACTIONS:
        verdict.errors.append(OverlayFinding("/actions", f"More than {MAX_ACTIONS} actions."))
        return verdict
    for index, action in enumerate(actions):
        _check_action(verdict, action, f"/actions/{index}", newer=newer)
        if action in actions[:index] if len(actions) <= 500 else False:
            verdict.errors.append(
                OverlayFinding(f"/actions/{index}", "The same action appears twice.")
            )
    return verdict


def require_valid_overlay(overlay: Json) -> None:
    """Raise INVALID_OVERLAY with the first errors if an overlay breaks its specification."""
    errors = validate_overlay(overlay).errors
    if errors:
        raise CommonplaceError(
            INVALID_OVERLAY,
            f"The overlay is not valid: {errors[0].path or '/'}: {errors[0].message}",
            hint="oas_overlay_validate lists everything that is wrong.",
            details={
                "errors": [
                    {"path": finding.path, "message": finding.message} for finding in errors[:20]
                ]
            },
        )


def unsupported_version(version: str) -> CommonplaceError:
    """Return the error for an unsupported version."""
    return CommonplaceError(
        UNSUPPORTED_VERSION,
        f"Overlay version {version[:40]!r} is not supported.",
        hint="Supported: overlay 1.0.x and 1.1.x.",
        details={"version": version[:40], "supported": list(SUPPORTED)},
    )


def _check_keys(
    verdict: OverlayReport, node: JsonObject, path: str, known: tuple[str, ...]
) -> None:
    for key in node:
        if key not in known and not key.startswith("x-"):
            verdict.errors.append(
                OverlayFinding(
                    f"{path}/{key}", f"{key!r} is not a field here; extensions start with `x-`."
                )
            )


def _check_info(verdict: OverlayReport, overlay: JsonObject, *, newer: bool) -> None:
    info = overlay.get("info")
    if not isinstance(info, dict):
        verdict.errors.append(
            OverlayFinding(
                "/info", "`info` must be an object." if "info" in overlay else "`info` is missing."
            )
        )
        return
    for name in ("title", "version"):
        if name not in info:
            verdict.errors.append(OverlayFinding("/info", f"`{name}` is missing."))
        elif not isinstance(info[name], str):
            verdict.errors.append(OverlayFinding(f"/info/{name}", f"`{name}` must be a string."))
    if isinstance(info.get("title"), str):
        verdict.title = info["title"]
    if newer and "description" in info and not isinstance(info["description"], str):
        verdict.errors.append(
            OverlayFinding("/info/description", "`description` must be a string.")
        )
    _check_keys(
        verdict,
        info,
        "/info",
        ("title", "version", "description") if newer else ("title", "version"),
    )


def _check_action(verdict: OverlayReport, action: Json, path: str, *, newer: bool) -> None:
    if not isinstance(action, dict):
        verdict.errors.append(OverlayFinding(path, "An action must be an object."))
        return
    target = action.get("target")
    if not isinstance(target, str):
        verdict.errors.append(
            OverlayFinding(
                f"{path}/target",
                "`target` must be a string." if "target" in action else "`target` is missing.",
            )
        )
    elif not target.startswith("$"):
        verdict.errors.append(
            OverlayFinding(f"{path}/target", "`target` must be a JSONPath: it starts with `$`.")
        )
    if "description" in action and not isinstance(action["description"], str):
        verdict.errors.append(
            OverlayFinding(f"{path}/description", "`description` must be a string.")
        )
    if "remove" in action and not isinstance(action["remove"], bool):
        verdict.errors.append(OverlayFinding(f"{path}/remove", "`remove` must be true or false."))
    if newer and "copy" in action and not isinstance(action["copy"], str):
        verdict.errors.append(OverlayFinding(f"{path}/copy", "`copy` must be a JSONPath."))
    _check_keys(
        verdict,
        action,
        path,
        ("target", "description", "update", "remove", *(("copy",) if newer else ())),
    )
    for name in ("target", "copy"):
        text = action.get(name)
        if isinstance(text, str) and text.startswith("$"):
            _check_path(verdict, text, f"{path}/{name}")
    if not action.keys() & {"update", "remove", "copy"}:
        verdict.warnings.append(
            OverlayFinding(
                path, "The action has neither `update` nor `remove`, so it does nothing."
            )
        )


def _check_path(verdict: OverlayReport, text: str, path: str) -> None:
    try:
        PATHS.compile(text)
    except (JSONPathError, RecursionError) as error:
        repaired = _repair(text)
        if repaired is not None:
            verdict.warnings.append(
                OverlayFinding(
                    path, f"Not RFC 9535: {_first_line(error)}. It is read as {repaired}."
                )
            )
        else:
            verdict.errors.append(
                OverlayFinding(path, f"Not a JSONPath by RFC 9535: {_first_line(error)}.")
            )


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]


def _repair(text: str) -> str | None:
    """Put `.x-name` in brackets, as RFC 9535 requires; None if that does not help.

    It is common in overlays, and in the examples of the specification.
    """
    quoted: list[str] = []

    def hide(found: re.Match[str]) -> str:
        quoted.append(found.group())
        return f"\0{len(quoted) - 1}\0"

    hidden = _DASHED.sub(r"['\1']", _QUOTED.sub(hide, text))
    repaired = re.sub(r"\0(\d+)\0", lambda found: quoted[int(found.group(1))], hidden)
    if repaired == text:
        return None
    try:
        PATHS.compile(repaired)
    except (JSONPathError, RecursionError):
        return None
    return repaired


def _compile(text: str, index: int) -> JSONPathQuery:
    try:
        return PATHS.compile(text)
    except (JSONPathError, RecursionError) as error:
        repaired = _repair(text)
        if repaired is not None:
            return PATHS.compile(repaired)
        raise CommonplaceError(
            INVALID_OVERLAY,
            f"Action {index}: {text[:200]!r} is not a JSONPath by RFC 9535: {_first_line(error)}.",
            hint="Put names with other signs than letters, digits and _ in brackets: ['x-name'].",
            details={"action_index": index, "target": text[:500]},
        ) from None


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
    locations = _find_locations(result.document, _compile(target, index), index)
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


def _find_locations(
    document: JsonObject, query: JSONPathQuery, index: int
) -> list[tuple[int | str, ...]]:
    found: dict[tuple[int | str, ...], None] = {}
    try:
        for node in query.finditer(document):
            found[tuple(node.location)] = None
            if len(found) > MAX_MATCHES:
                raise CommonplaceError(
                    INVALID_OVERLAY, f"Action {index} matches more than {MAX_MATCHES} places."
                )
    except (JSONPathError, RecursionError) as error:
        raise CommonplaceError(
            INVALID_OVERLAY,
            f"Action {index}: the target cannot be evaluated: {_first_line(error)}.",
        ) from None
    return list(found)


def _copy_source(document: JsonObject, path: str, index: int) -> Json:
    nodes = _find_locations(document, _compile(path, index), index)
    if len(nodes) != 1:
        raise CommonplaceError(
            INVALID_OVERLAY,
            f"Action {index}: `copy` must select one place; {path[:200]!r} selects {len(nodes)}.",
            details={"action_index": index, "match_count": len(nodes)},
        )
    return clone(_lookup(document, nodes[0]))


def _lookup(document: Json, location: tuple[int | str, ...]) -> Json:
    for token in location:
        document = document[token]
    return document


def _remove(result: AppliedOverlay, location: tuple[int | str, ...], index: int) -> None:
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
    result: AppliedOverlay, location: tuple[int | str, ...], value: Json, index: int, *, newer: bool
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

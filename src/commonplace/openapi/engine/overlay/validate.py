"""The rules of the official schemas of Overlay 1.0 and 1.1."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.overlay.json_path import PATHS, JSONPathError
from commonplace.openapi.engine.overlay.targets import first_line, repair_path
from commonplace.openapi.errors import INVALID_OVERLAY, UNSUPPORTED_VERSION

SUPPORTED = ("1.0", "1.1")
MAX_ACTIONS = 10_000
MAX_COMPARED_ACTIONS = 500
_VERSION = re.compile(r"(\d+)\.(\d+)\.\d+")


@dataclass(frozen=True, slots=True)
class OverlayFinding:
    """An error or warning in an overlay."""

    path: str  # JSON pointer into the overlay
    message: str


@dataclass(frozen=True, slots=True)
class OverlayReport:
    """What an overlay declares, with its errors and warnings."""

    version: str = ""
    title: str = ""
    action_count: int = 0
    errors: list[OverlayFinding] = field(default_factory=list)
    warnings: list[OverlayFinding] = field(default_factory=list)

    @property
    def valid(self) -> bool:
        """Tell whether there are no errors."""
        return not self.errors


def validate_overlay(overlay: Json) -> OverlayReport:
    """Check an overlay against the rules of the official schema.

    Raises UNSUPPORTED_VERSION for versions other than 1.0 and 1.1.
    """
    if not isinstance(overlay, dict):
        return OverlayReport(errors=[OverlayFinding("", "The overlay must be an object.")])
    version, info, actions = overlay.get("overlay"), overlay.get("info"), overlay.get("actions")
    title = info.get("title") if isinstance(info, dict) else None
    report = OverlayReport(
        str(version) if version is not None else "",
        title if isinstance(title, str) else "",
        len(actions) if isinstance(actions, list) else 0,
    )
    newer = _check_version(report, version)
    _check_keys(report, overlay, "", ("overlay", "info", "extends", "actions"))
    if "extends" in overlay and not isinstance(overlay["extends"], str):
        report.errors.append(OverlayFinding("/extends", "`extends` must be a string."))
    _check_info(report, overlay, newer=newer)
    _check_actions(report, overlay, newer=newer)
    return report


def _check_version(report: OverlayReport, version: Json) -> bool:
    """Check the declared version; tell whether it is newer than 1.0."""
    match = _VERSION.fullmatch(version) if isinstance(version, str) else None
    if version is None:
        report.errors.append(OverlayFinding("", "`overlay`, the version, is missing."))
    elif (
        isinstance(version, str)
        and re.fullmatch(r"\d+(\.\d+)*", version)
        and version[:3] not in SUPPORTED
    ):
        raise unsupported_version(version)
    elif match is None:
        report.errors.append(
            OverlayFinding("/overlay", "`overlay` must be a version such as 1.0.0 or 1.1.0.")
        )
    return match is not None and match[2] != "0"


def _check_actions(report: OverlayReport, overlay: JsonObject, *, newer: bool) -> None:
    actions = overlay.get("actions")
    if not isinstance(actions, list):
        message = "`actions` must be a list." if "actions" in overlay else "`actions` is missing."
        report.errors.append(OverlayFinding("/actions", message))
        return
    if not actions:
        report.errors.append(OverlayFinding("/actions", "There must be at least one action."))
    if len(actions) > MAX_ACTIONS:
        report.errors.append(OverlayFinding("/actions", f"More than {MAX_ACTIONS} actions."))
        return
    for index, action in enumerate(actions):
        _check_action(report, action, f"/actions/{index}", newer=newer)
        # Comparing each action with all before it takes quadratic time.
        if len(actions) <= MAX_COMPARED_ACTIONS and action in actions[:index]:
            report.errors.append(
                OverlayFinding(f"/actions/{index}", "The same action appears twice.")
            )


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


def _check_keys(report: OverlayReport, node: JsonObject, path: str, known: tuple[str, ...]) -> None:
    for key in node:
        if key not in known and not key.startswith("x-"):
            report.errors.append(
                OverlayFinding(
                    f"{path}/{key}", f"{key!r} is not a field here; extensions start with `x-`."
                )
            )


def _check_info(report: OverlayReport, overlay: JsonObject, *, newer: bool) -> None:
    info = overlay.get("info")
    if not isinstance(info, dict):
        report.errors.append(
            OverlayFinding(
                "/info", "`info` must be an object." if "info" in overlay else "`info` is missing."
            )
        )
        return
    for name in ("title", "version"):
        if name not in info:
            report.errors.append(OverlayFinding("/info", f"`{name}` is missing."))
        elif not isinstance(info[name], str):
            report.errors.append(OverlayFinding(f"/info/{name}", f"`{name}` must be a string."))
    if newer and "description" in info and not isinstance(info["description"], str):
        report.errors.append(OverlayFinding("/info/description", "`description` must be a string."))
    _check_keys(
        report,
        info,
        "/info",
        ("title", "version", "description") if newer else ("title", "version"),
    )


def _check_action(report: OverlayReport, action: Json, path: str, *, newer: bool) -> None:
    if not isinstance(action, dict):
        report.errors.append(OverlayFinding(path, "An action must be an object."))
        return
    target = action.get("target")
    if not isinstance(target, str):
        report.errors.append(
            OverlayFinding(
                f"{path}/target",
                "`target` must be a string." if "target" in action else "`target` is missing.",
            )
        )
    elif not target.startswith("$"):
        report.errors.append(
            OverlayFinding(f"{path}/target", "`target` must be a JSONPath: it starts with `$`.")
        )
    if "description" in action and not isinstance(action["description"], str):
        report.errors.append(
            OverlayFinding(f"{path}/description", "`description` must be a string.")
        )
    if "remove" in action and not isinstance(action["remove"], bool):
        report.errors.append(OverlayFinding(f"{path}/remove", "`remove` must be true or false."))
    if newer and "copy" in action and not isinstance(action["copy"], str):
        report.errors.append(OverlayFinding(f"{path}/copy", "`copy` must be a JSONPath."))
    _check_keys(
        report,
        action,
        path,
        ("target", "description", "update", "remove", *(("copy",) if newer else ())),
    )
    for name in ("target", "copy"):
        text = action.get(name)
        if isinstance(text, str) and text.startswith("$"):
            _check_path(report, text, f"{path}/{name}")
    if not action.keys() & {"update", "remove", "copy"}:
        report.warnings.append(
            OverlayFinding(
                path, "The action has neither `update` nor `remove`, so it does nothing."
            )
        )


def _check_path(report: OverlayReport, text: str, path: str) -> None:
    try:
        PATHS.compile(text)
    except (JSONPathError, RecursionError) as error:
        repaired = repair_path(text)
        if repaired is not None:
            report.warnings.append(
                OverlayFinding(
                    path, f"Not RFC 9535: {first_line(error)}. It is read as {repaired}."
                )
            )
        else:
            report.errors.append(
                OverlayFinding(path, f"Not a JSONPath by RFC 9535: {first_line(error)}.")
            )

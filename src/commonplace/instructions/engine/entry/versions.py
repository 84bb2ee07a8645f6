"""Versions of an instruction: order, increments, and the change log that records them."""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.instructions.engine.entry.checks import EntryRefused
from commonplace.instructions.engine.hashing import hash_body
from commonplace.instructions.engine.normalise import repair_change_log
from commonplace.instructions.fields import SEMVER
from commonplace.instructions.model import Instruction
from commonplace.kernel.json_types import Json, JsonObject


def version_key(version: str) -> tuple[int, int, int]:
    """Return the parts of a valid version, which sort in order."""
    match = SEMVER.fullmatch(version)
    assert match is not None
    return int(match[1]), int(match[2]), int(match[3])


def bump(version: str, part: str) -> str:
    """Increment one part of a version: major, minor or patch."""
    major, minor, patch = version_key(version)
    if part == "major":
        return f"{major + 1}.0.0"
    return f"{major}.{minor + 1}.0" if part == "minor" else f"{major}.{minor}.{patch + 1}"


def assign_version(
    document: JsonObject, given: Mapping[str, Json], existing: Instruction | None, now: str
) -> None:
    """Set version and change log; a changed body without a new version is a patch.

    Raises EntryRefused for a version below the stored one.
    """
    summary = "initial import"
    if existing is not None:
        before = existing.document["version"]
        changed = hash_body(document["body"]) != existing.source_hash
        version = given.get("version", before)
        if version_key(version) < version_key(before):
            raise EntryRefused(
                "version_not_bumped",
                f"The stored version is {before}; give a higher one or omit it.",
            )
        if changed and version == before:
            version = bump(before, "patch")
        document["version"] = version
        summary = "body changed" if changed else f"version {version}"
    document.setdefault("version", "1.0.0")
    log = repair_change_log(
        document.get("changeLog"),
        document["version"] if existing is None else existing.document["version"],
        now,
    )
    if not any(line["version"] == document["version"] for line in log):
        log.append({"version": document["version"], "changedAt": now, "summary": summary})
    document["changeLog"] = log

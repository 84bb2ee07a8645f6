"""From a document as it was written to an instruction as it is served: defaults, derived fields,
and salvage of what is nearly right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from commonplace.instructions.engine.hashing import (
    fingerprint,
    fits_claim,
    governance_line,
    hash_body,
    hash_governance,
)
from commonplace.instructions.model import (
    AUDIENCES,
    CATEGORY,
    CLASSIFICATIONS,
    MAX_BODY_CHARS,
    MAX_CATEGORIES,
    MAX_SUMMARY_CHARS,
    MAX_TITLE_CHARS,
    REQUIREMENTS,
    SCHEMA_VERSION,
    SEMVER,
    STATUSES,
    TIERS,
    UNCATEGORIZED,
    UNOWNED,
    Body,
    Instruction,
    document_of,
    is_valid_id,
)
from commonplace.kernel.clock import iso

REVIEW_DAYS = {"P1": 30, "P2": 60, "P3": 90, "P4": 120}
RISK = {"mandatory": 50, "critical": 60, "recommended": 20, "optional": 5, "deprecated": -30}
SUMMARY_CHARS = 160

# What people write instead of the closed sets.
REQUIREMENT_WORDS = {
    "must": "mandatory",
    "required": "mandatory",
    "shall": "mandatory",
    "should": "recommended",
    "suggested": "recommended",
    "may": "optional",
    "could": "optional",
    "obsolete": "deprecated",
}
STATUS_WORDS = {
    "active": "approved",
    "published": "approved",
    "reviewed": "approved",
    "in-review": "review",
    "archived": "deprecated",
}
AUDIENCE_WORDS = {
    "everyone": "all",
    "team": "group",
    "teams": "group",
    "user": "individual",
    "developer": "individual",
}
UTC_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z")
TEXT_FIELDS = (
    "rationale",
    "description",
    "workspaceId",
    "userId",
    "deprecatedBy",
    "supersedes",
    "sourceWorkspace",
    "createdByAgent",
    "archivedAt",
)
LIST_FIELDS = ("tags", "examples", "dependencies", "teamIds")


class NotAnInstruction(ValueError):
    """The document cannot be salvaged; the reason is short and stable, the detail is for people."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


OwnerOf = Callable[[str], str | None]  # first pattern that matches the id


def _nobody(id_: str) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Rules:
    """What the configuration says about reading documents."""

    canonical: bool = True
    owners: Callable[[], OwnerOf] = lambda: _nobody  # owners.json as it is now

    def owner_of(self, id_: str) -> str | None:
        return self.owners()(id_)

    def settled(self) -> Rules:
        """The same for one sweep over many files: what the configuration says is asked for once."""
        owner_of = self.owners()
        return Rules(self.canonical, lambda: owner_of)


def parse_time(value: object) -> float | None:
    """Seconds since 1970 of an ISO 8601 text, or None."""
    return _seconds(value) if isinstance(value, str) and 8 <= len(value) <= 40 else None


@lru_cache(maxsize=256)  # one instruction asks for the same moment several times
def _seconds(value: str) -> float | None:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (OverflowError, ValueError):
        return None


def in_utc(value: str) -> str:
    """A time that parses, in UTC."""
    if UTC_TIME.fullmatch(value):
        return value
    seconds = parse_time(value)
    assert seconds is not None
    try:
        return iso(datetime.fromtimestamp(seconds, UTC))
    except (OverflowError, ValueError):
        return value


def tier_of(priority: int, requirement: str) -> str:
    if priority <= 20 or requirement in ("mandatory", "critical"):
        return "P1"
    return "P2" if priority <= 40 else "P3" if priority <= 70 else "P4"


def summary_of(body: str) -> str:
    first = body.lstrip().split("\n", 1)[0].strip()
    return first if len(first) <= SUMMARY_CHARS else first[: SUMMARY_CHARS - 3] + "..."


def split_categories(raw: object) -> tuple[list[str], dict[str, Any], int]:
    """Categories lower-cased, unique and sorted; `scope:*` tokens taken out of them; how many
    tokens were unusable.
    """
    kept: set[str] = set()
    scopes: dict[str, Any] = {}
    bad = 0
    for item in raw if isinstance(raw, list) else ():
        token = item.strip().lower() if isinstance(item, str) else ""
        if token.startswith("scope:"):
            kind, _, name = token[6:].partition(":")
            if kind in ("workspace", "user") and name:
                scopes.setdefault(f"{kind}Id", name)
            elif kind == "team" and name:
                scopes.setdefault("teamIds", []).append(name)
            else:
                bad += 1
        elif CATEGORY.fullmatch(token):
            kept.add(token)
        else:
            bad += 1
    ordered = sorted(kept)
    return ordered[:MAX_CATEGORIES], scopes, bad + max(0, len(ordered) - MAX_CATEGORIES)


def identify(raw: Mapping[str, Any], id_: str) -> Body:
    """Return the body of the instruction in a document.

    Raises NotAnInstruction where neither id nor body can be had; nothing else in a document makes
    it unreadable.
    """
    if raw.get("id") != id_:
        raise NotAnInstruction(
            "id-mismatch", f"the id {str(raw.get('id'))[:130]!r} does not match the file's name"
        )
    if not is_valid_id(id_):
        raise NotAnInstruction(
            "schema",
            "the id may hold lower-case letters, digits, - _ and single inner dots (1 to 120)",
        )
    body = raw.get("body")
    if not isinstance(body, str) or not body.strip():
        raise NotAnInstruction("schema", "body is missing or empty")
    if len(body) > MAX_BODY_CHARS:
        raise NotAnInstruction(
            "schema", f"body has {len(body)} characters; the most is {MAX_BODY_CHARS}"
        )
    claimed = raw.get("sourceHash")
    if not isinstance(claimed, str) or not claimed:
        claimed = None
    hashed = hash_body(body)
    return Body(
        body,
        hashed,
        claimed,
        claimed is not None and claimed != hashed and not fits_claim(body, claimed),
    )


def fingerprint_of(raw: Mapping[str, Any], id_: str, rules: Rules) -> str:
    """Hash everything that callers see of a document, without working it out.

    An owner rule counts where the document names no owner. The time of a file that has no times
    does not: it changes with every checkout and copy, and the hash must not.
    """
    owner = raw.get("owner")
    return fingerprint(
        raw, rules.owner_of(id_) if not isinstance(owner, str) or not owner.strip() else None
    )


def normalise(
    raw: Mapping[str, Any], id_: str, modified_at: float, rules: Rules, known: str | None = None
) -> Instruction:
    """Return the instruction in a document.

    Raises NotAnInstruction. `known` is its fingerprint, where the caller has it.

    Defaults depend on the document alone (and the file's time, in seconds, where it has none), so
    hashes survive a restart.
    """
    document, body, mended = completed(raw, id_, modified_at, rules)
    mark = fingerprint_of(raw, id_, rules) if known is None else known
    return Instruction(
        id_,
        document_of(document),
        body.hash,
        document["governanceHash"],
        body.claimed,
        mended,
        mark,
        drifted=body.drifted,
    )


def completed(
    raw: Mapping[str, Any], id_: str, modified_at: float, rules: Rules
) -> tuple[dict[str, Any], Body, tuple[str, ...]]:
    """Return a document with everything that callers see, its body with the hashes, and the
    fields that had to be mended.
    """
    body = identify(raw, id_)
    document: dict[str, Any] = dict(raw)
    mended: list[str] = []
    _mend_text(document, id_, mended)
    _mend_closed_sets(document, mended)
    _mend_categories(document, mended)
    _mend_governance(document, id_, modified_at, mended, rules)
    document["sourceHash"] = body.hash
    document["schemaVersion"] = str(raw.get("schemaVersion") or SCHEMA_VERSION)
    for computed in ("usageCount", "firstSeenTs", "lastUsedAt"):
        document.pop(computed, None)
    document["governanceHash"] = hash_governance(governance_line(document))
    return document, body, tuple(mended)


def title_of(raw: Mapping[str, Any], id_: str) -> str:
    title = raw.get("title")
    return (title.strip()[:MAX_TITLE_CHARS] if isinstance(title, str) else "") or id_


def _mend_text(document: dict[str, Any], id_: str, mended: list[str]) -> None:
    title = document.get("title")
    if isinstance(title, str) and len(title.strip()) > MAX_TITLE_CHARS:
        mended.append("title")
    document["title"] = title_of(document, id_)
    for field in TEXT_FIELDS:
        if (
            field in document
            and not isinstance(document[field], str)
            and document.pop(field) is not None
        ):
            mended.append(field)
    for field in LIST_FIELDS:
        if field in document:
            value = document[field]
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                document[field] = (
                    [item for item in value if isinstance(item, str)]
                    if isinstance(value, list)
                    else []
                )
                mended.append(field)
            if not document[field]:
                del document[field]
    if "extensions" in document and not isinstance(document["extensions"], dict):
        del document["extensions"]
        mended.append("extensions")


def _is_one_of(value: object, allowed: frozenset[str]) -> bool:
    return isinstance(value, str) and value in allowed  # a list has no hash to look for


def _member(value: object, allowed: frozenset[str], words: Mapping[str, str]) -> str | None:
    word = value.strip().lower() if isinstance(value, str) else ""
    return word if word in allowed else words.get(word)


def _mend_closed_sets(document: dict[str, Any], mended: list[str]) -> None:
    for field, allowed, words, absent, wrong in (
        ("audience", AUDIENCES, AUDIENCE_WORDS, "all", "all"),
        ("requirement", REQUIREMENTS, REQUIREMENT_WORDS, "optional", "recommended"),
    ):
        value = document.get(field)
        if not _is_one_of(value, allowed):
            document[field] = absent if value is None else _member(value, allowed, words) or wrong
            if value is not None:
                mended.append(field)
    priority = document.get("priority", 50)
    if isinstance(priority, float) and priority.is_integer():
        priority = int(priority)
    if not isinstance(priority, int) or isinstance(priority, bool) or not 1 <= priority <= 100:
        priority = 50
        mended.append("priority")
    document["priority"] = priority
    if not _is_one_of(document.get("priorityTier"), TIERS):
        if document.get("priorityTier") is not None:
            mended.append("priorityTier")
        document["priorityTier"] = tier_of(priority, document["requirement"])
    status = document.get("status")
    if not _is_one_of(status, STATUSES):
        default = "deprecated" if document["requirement"] == "deprecated" else "approved"
        document["status"] = (
            default if status is None else _member(status, STATUSES, STATUS_WORDS) or default
        )
        if status is not None:
            mended.append("status")
    if not _is_one_of(document.get("classification"), CLASSIFICATIONS):
        if document.get("classification") is not None:
            mended.append("classification")
        document["classification"] = "internal"


def _mend_categories(document: dict[str, Any], mended: list[str]) -> None:
    raw = document.get("categories")
    categories, scopes, bad = split_categories(raw)
    if bad or (raw is not None and not isinstance(raw, list)):
        mended.append("categories")
    for field in ("workspaceId", "userId"):
        if field in scopes:
            document.setdefault(field, scopes[field])
    if "teamIds" in scopes:
        document["teamIds"] = list(
            dict.fromkeys([*document.get("teamIds", ()), *scopes["teamIds"]])
        )
    document["categories"] = categories = categories or [UNCATEGORIZED]
    primary = document.get("primaryCategory")
    primary = primary.strip().lower() if isinstance(primary, str) else None
    document["primaryCategory"] = primary if primary in categories else categories[0]


def _mend_governance(
    document: dict[str, Any], id_: str, modified_at: float, mended: list[str], rules: Rules
) -> None:
    version = document.get("version")
    if not isinstance(version, str) or not SEMVER.fullmatch(version):
        if version is not None:
            mended.append("version")
        document["version"] = "1.0.0"
    owner = document.get("owner")
    if not isinstance(owner, str) or not owner.strip():
        document["owner"] = rules.owner_of(id_) or UNOWNED
    known_since = next(
        (
            document[field]
            for field in ("lastReviewedAt", "updatedAt", "createdAt")
            if parse_time(document.get(field))
        ),
        None,
    )
    for field in ("createdAt", "updatedAt"):
        if parse_time(document.get(field)) is None:
            if document.get(field) is not None:
                mended.append(field)
            document[field] = known_since or iso(datetime.fromtimestamp(modified_at, UTC))
    interval = document.get("reviewIntervalDays")
    if isinstance(interval, float) and interval.is_integer():
        interval = document["reviewIntervalDays"] = int(interval)
    if not isinstance(interval, int) or isinstance(interval, bool) or not 1 <= interval <= 365:
        if interval is not None:
            mended.append("reviewIntervalDays")
        interval = document["reviewIntervalDays"] = REVIEW_DAYS[document["priorityTier"]]
    for field in ("lastReviewedAt", "nextReviewDue"):
        if (
            field in document
            and parse_time(document[field]) is None
            and document.pop(field) is not None
        ):
            mended.append(field)
    if "nextReviewDue" not in document and known_since is not None:
        document["nextReviewDue"] = due_after(known_since, interval)
    summary = document.get("semanticSummary")
    if not isinstance(summary, str) or not summary.strip():
        document["semanticSummary"] = summary_of(document["body"])
    elif len(summary) > MAX_SUMMARY_CHARS:
        document["semanticSummary"] = summary[:MAX_SUMMARY_CHARS]
        mended.append("semanticSummary")
    document["changeLog"] = mend_change_log(
        document.get("changeLog"), document["version"], document["createdAt"], mended
    )
    risk = document.get("riskScore")
    if not isinstance(risk, int | float) or isinstance(risk, bool):
        document["riskScore"] = risk_of(document["priority"], document["requirement"])


def risk_of(priority: int, requirement: str) -> int:
    return 100 - priority + RISK[requirement]


def next_review(document: Mapping[str, Any], now: str) -> str:
    """When a document with this interval is due: counted from its last review, or from now."""
    reviewed = document.get("lastReviewedAt")
    return due_after(
        reviewed if parse_time(reviewed) is not None else now, document["reviewIntervalDays"]
    )


@lru_cache(maxsize=256)
def due_after(moment: str, days: int) -> str:
    seconds = parse_time(moment)
    assert seconds is not None  # callers pass times that parse
    try:
        return iso(datetime.fromtimestamp(seconds, UTC) + timedelta(days=days))
    except (OverflowError, ValueError):
        return moment


def mend_change_log(
    raw: object, version: str, at: str, mended: list[str] | None = None
) -> list[dict[str, Any]]:
    """A change log that is well formed and ends with the present version."""
    kept: list[dict[str, Any]] = []
    for line in raw if isinstance(raw, list) else ():
        if (
            isinstance(line, dict)
            and isinstance(line.get("version"), str)
            and isinstance(line.get("summary"), str)
            and line["summary"].strip()
        ):
            changed_at = line.get("changedAt")
            kept.append(
                {**line, "changedAt": changed_at if parse_time(changed_at) is not None else at}
            )
    if not kept:
        kept.append({"version": version, "changedAt": at, "summary": "initial import"})
    elif not any(line["version"] == version for line in kept):
        kept.append({"version": version, "changedAt": at, "summary": f"version {version}"})
    if mended is not None and raw is not None and kept != raw:
        mended.append("changeLog")
    return kept

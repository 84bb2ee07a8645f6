"""Turn a document as written into an instruction: defaults, derived fields, repaired values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from commonplace.instructions.engine.hashing import (
    fingerprint,
    fits_claim,
    governance_line,
    hash_body,
    hash_governance,
)
from commonplace.instructions.engine.scope.checks import repair_scope
from commonplace.instructions.engine.times import (
    REVIEW_DAYS,
    due_after,
    from_timestamp,
    parse_time,
)
from commonplace.instructions.fields import (
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
    is_archived,
    is_restricted,
    is_valid_id,
)
from commonplace.instructions.model import Instruction, InstructionBody, document_of
from commonplace.kernel.auth import RESTRICTED
from commonplace.kernel.json_types import Json, JsonObject

RISK = {"mandatory": 50, "critical": 60, "recommended": 20, "optional": 5, "deprecated": -30}
SUMMARY_CHARS = 160

# Words that people write instead of the values of closed sets.
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
LIST_FIELDS = ("tags", "examples", "dependencies", "conflictsWith", "teamIds")


class NotAnInstruction(ValueError):
    """The document cannot be served; `reason` is a stable word, `detail` is for people."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


OwnerOf = Callable[[str], str | None]  # owner of an id by the rules of owners.json


def _no_owner(id_: str) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class ReadingRules:
    """Settings that affect how documents are read."""

    canonical: bool = True  # normalise line breaks of bodies
    owners: Callable[[], OwnerOf] = lambda: _no_owner  # reads owners.json as it is now

    def owner_of(self, id_: str) -> str | None:
        """Return the owner that a rule gives to an id."""
        return self.owners()(id_)

    def frozen(self) -> ReadingRules:
        """Return rules that read owners.json once, for a scan of many files."""
        owner_of = self.owners()
        return ReadingRules(self.canonical, lambda: owner_of)


def tier_of(priority: int, requirement: str) -> str:
    """Derive the priority tier."""
    if priority <= 20 or requirement in ("mandatory", "critical"):
        return "P1"
    return "P2" if priority <= 40 else "P3" if priority <= 70 else "P4"


def summary_of(body: str) -> str:
    """Derive the summary: the first line of the body, shortened."""
    first = body.lstrip().split("\n", 1)[0].strip()
    return first if len(first) <= SUMMARY_CHARS else first[: SUMMARY_CHARS - 3] + "..."


def split_categories(raw: object) -> tuple[list[str], JsonObject, int]:
    """Return sorted categories, fields set by `scope:*` tokens, and the number of bad tokens."""
    kept: set[str] = set()
    scopes: JsonObject = {}
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


def identify(raw: Mapping[str, Json], id_: str) -> InstructionBody:
    """Check id and body, and return the body with its hashes.

    Raises NotAnInstruction. Nothing else in a document makes it unreadable.
    """
    if raw.get("id") != id_:
        raise NotAnInstruction(
            "id-mismatch", f"the id {str(raw.get('id'))[:130]!r} does not match the file's name"
        )
    if not is_valid_id(id_):
        raise NotAnInstruction(
            "schema",
            "an id has 1 to 120 lower-case letters, digits, - _ and single inner dots",
        )
    body = raw.get("body")
    if not isinstance(body, str) or not body.strip():
        raise NotAnInstruction("schema", "body is missing or empty")
    if len(body) > MAX_BODY_CHARS:
        raise NotAnInstruction(
            "schema", f"body has {len(body)} characters; at most {MAX_BODY_CHARS} are allowed"
        )
    claimed = raw.get("sourceHash")
    if not isinstance(claimed, str) or not claimed:
        claimed = None
    hashed = hash_body(body)
    return InstructionBody(
        body,
        hashed,
        claimed,
        claimed is not None and claimed != hashed and not fits_claim(body, claimed),
    )


def fingerprint_of(raw: Mapping[str, Json], id_: str, rules: ReadingRules) -> str:
    """Hash everything that callers see of a document, without normalising it.

    An owner rule counts if the document names no owner. The modification time of the file does
    not count: it changes with every checkout and copy.
    """
    owner = raw.get("owner")
    return fingerprint(
        raw, rules.owner_of(id_) if not isinstance(owner, str) or not owner.strip() else None
    )


def normalise(
    raw: Mapping[str, Json],
    id_: str,
    modified_at: float,
    rules: ReadingRules,
    known_fingerprint: str | None = None,
) -> Instruction:
    """Return the instruction in a document. Raises NotAnInstruction.

    Defaults depend only on the document (and on `modified_at`, in seconds, if it has no times), so
    hashes survive a restart.
    """
    document, body, repaired = complete(raw, id_, modified_at, rules)
    if known_fingerprint is None:
        known_fingerprint = fingerprint_of(raw, id_, rules)
    return Instruction(
        id_,
        document_of(document),
        body.hash,
        document["governanceHash"],
        body.claimed,
        repaired,
        known_fingerprint,
        drifted=body.drifted,
        restricted=is_restricted(document),
        archived=is_archived(document),
    )


def complete(
    raw: Mapping[str, Json], id_: str, modified_at: float, rules: ReadingRules
) -> tuple[JsonObject, InstructionBody, tuple[str, ...]]:
    """Return the complete document, its body with hashes, and the names of repaired fields."""
    body = identify(raw, id_)
    document: JsonObject = dict(raw)
    repaired: list[str] = []
    _repair_text(document, id_, repaired)
    _repair_closed_sets(document, repaired)
    _repair_categories(document, repaired)
    repair_scope(document, repaired)
    _repair_governance(document, id_, modified_at, repaired, rules)
    document["sourceHash"] = body.hash
    document["schemaVersion"] = str(raw.get("schemaVersion") or SCHEMA_VERSION)
    for computed in ("usageCount", "firstSeenTs", "lastUsedAt"):
        document.pop(computed, None)
    document["governanceHash"] = hash_governance(governance_line(document))
    return document, body, tuple(repaired)


def title_of(raw: Mapping[str, Json], id_: str) -> str:
    """Return the title of a document, or its id."""
    title = raw.get("title")
    return (title.strip()[:MAX_TITLE_CHARS] if isinstance(title, str) else "") or id_


def _repair_text(document: JsonObject, id_: str, repaired: list[str]) -> None:
    title = document.get("title")
    if isinstance(title, str) and len(title.strip()) > MAX_TITLE_CHARS:
        repaired.append("title")
    document["title"] = title_of(document, id_)
    for field in TEXT_FIELDS:
        if (
            field in document
            and not isinstance(document[field], str)
            and document.pop(field) is not None
        ):
            repaired.append(field)
    for field in LIST_FIELDS:
        if field in document:
            value = document[field]
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                document[field] = (
                    [item for item in value if isinstance(item, str)]
                    if isinstance(value, list)
                    else []
                )
                repaired.append(field)
            if not document[field]:
                del document[field]
    if "extensions" in document and not isinstance(document["extensions"], dict):
        del document["extensions"]
        repaired.append("extensions")


def _is_one_of(value: object, allowed: frozenset[str]) -> bool:
    return isinstance(value, str) and value in allowed  # a list is not hashable


def _member(value: object, allowed: frozenset[str], words: Mapping[str, str]) -> str | None:
    word = value.strip().lower() if isinstance(value, str) else ""
    return word if word in allowed else words.get(word)


def read_status(document: Mapping[str, Json]) -> str:
    """Return the status of a document as written: deprecated if its requirement is."""
    requirement = _member(document.get("requirement"), REQUIREMENTS, REQUIREMENT_WORDS)
    default = "deprecated" if requirement == "deprecated" else "approved"
    status = document.get("status")
    return default if status is None else _member(status, STATUSES, STATUS_WORDS) or default


def _repair_closed_sets(document: JsonObject, repaired: list[str]) -> None:
    for field, allowed, words, absent, wrong in (
        ("audience", AUDIENCES, AUDIENCE_WORDS, "all", "all"),
        ("requirement", REQUIREMENTS, REQUIREMENT_WORDS, "optional", "recommended"),
    ):
        value = document.get(field)
        if not _is_one_of(value, allowed):
            document[field] = absent if value is None else _member(value, allowed, words) or wrong
            if value is not None:
                repaired.append(field)
    priority = document.get("priority", 50)
    if isinstance(priority, float) and priority.is_integer():
        priority = int(priority)
    if not isinstance(priority, int) or isinstance(priority, bool) or not 1 <= priority <= 100:
        priority = 50
        repaired.append("priority")
    document["priority"] = priority
    if not _is_one_of(document.get("priorityTier"), TIERS):
        if document.get("priorityTier") is not None:
            repaired.append("priorityTier")
        document["priorityTier"] = tier_of(priority, document["requirement"])
    status = document.get("status")
    if not _is_one_of(status, STATUSES):
        document["status"] = read_status(document)
        if status is not None:
            repaired.append("status")
    if not _is_one_of(document.get("classification"), CLASSIFICATIONS):
        if document.get("classification") is not None:
            repaired.append("classification")
        document["classification"] = RESTRICTED if is_restricted(document) else "internal"


def _repair_categories(document: JsonObject, repaired: list[str]) -> None:
    raw = document.get("categories")
    categories, scopes, bad = split_categories(raw)
    if bad or (raw is not None and not isinstance(raw, list)):
        repaired.append("categories")
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


def _repair_governance(
    document: JsonObject, id_: str, modified_at: float, repaired: list[str], rules: ReadingRules
) -> None:
    version = document.get("version")
    if not isinstance(version, str) or not SEMVER.fullmatch(version):
        if version is not None:
            repaired.append("version")
        document["version"] = "1.0.0"
    owner = document.get("owner")
    if not isinstance(owner, str) or not owner.strip():
        document["owner"] = rules.owner_of(id_) or UNOWNED
    _repair_times(document, modified_at, repaired)
    summary = document.get("semanticSummary")
    if not isinstance(summary, str) or not summary.strip():
        document["semanticSummary"] = summary_of(document["body"])
    elif len(summary) > MAX_SUMMARY_CHARS:
        document["semanticSummary"] = summary[:MAX_SUMMARY_CHARS]
        repaired.append("semanticSummary")
    document["changeLog"] = repair_change_log(
        document.get("changeLog"), document["version"], document["createdAt"], repaired
    )
    risk = document.get("riskScore")
    if not isinstance(risk, int | float) or isinstance(risk, bool):
        document["riskScore"] = risk_of(document["priority"], document["requirement"])


def _repair_times(document: JsonObject, modified_at: float, repaired: list[str]) -> None:
    """Fill in times of writing and the dates of reviews."""
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
                repaired.append(field)
            document[field] = known_since or from_timestamp(modified_at)
    interval = document.get("reviewIntervalDays")
    if isinstance(interval, float) and interval.is_integer():
        interval = document["reviewIntervalDays"] = int(interval)
    if not isinstance(interval, int) or isinstance(interval, bool) or not 1 <= interval <= 365:
        if interval is not None:
            repaired.append("reviewIntervalDays")
        interval = document["reviewIntervalDays"] = REVIEW_DAYS[document["priorityTier"]]
    for field in ("lastReviewedAt", "nextReviewDue"):
        if (
            field in document
            and parse_time(document[field]) is None
            and document.pop(field) is not None
        ):
            repaired.append(field)
    if "nextReviewDue" not in document and known_since is not None:
        document["nextReviewDue"] = due_after(known_since, interval)


def risk_of(priority: int, requirement: str) -> int:
    """Derive the risk score."""
    return 100 - priority + RISK[requirement]


def repair_change_log(
    raw: object, version: str, at: str, repaired: list[str] | None = None
) -> list[JsonObject]:
    """Return a well-formed change log that contains the current version."""
    kept: list[JsonObject] = []
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
    if repaired is not None and raw is not None and kept != raw:
        repaired.append("changeLog")
    return kept

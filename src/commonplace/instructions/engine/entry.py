"""An entry as a caller sends it: checked against one schema and the governance rules, and
composed into a whole document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from commonplace.instructions.engine.hashing import hash_body, normalise_body
from commonplace.instructions.engine.normalise import (
    REVIEW_DAYS,
    Rules,
    in_utc,
    mend_change_log,
    next_review,
    parse_time,
    risk_of,
    split_categories,
    summary_of,
    tier_of,
)
from commonplace.instructions.engine.problems import did_you_mean, problem_of, shown
from commonplace.instructions.model import (
    COMPUTED,
    KNOWN_FIELDS,
    MAX_BODY_CHARS,
    MAX_CATEGORIES,
    MAX_ID_CHARS,
    MAX_LEVELS,
    MAX_SUMMARY_CHARS,
    MAX_TITLE_CHARS,
    SCHEMA_VERSION,
    SEMVER,
    STRICT_SEMVER,
    UNOWNED,
    Instruction,
    is_reserved_id,
    is_valid_id,
    stored_form,
)

STRICT_FIELDS = (
    "id",
    "body",
    "priority",
    "requirement",
    "categories",
)  # what both contracts require of an entry
LAX_DEFAULTS: Mapping[str, Any] = {
    "priority": 50,
    "audience": "all",
    "requirement": "optional",
    "categories": [],
}
MOMENTS = ("lastReviewedAt", "nextReviewDue", "createdAt", "archivedAt")
SYSTEM_FIELDS = COMPUTED | {
    "sourceHash",
    "schemaVersion",
    "updatedAt",
}  # ours to set; what a caller sends back is ignored


def _text(description: str, maximum: int = 20_000) -> dict[str, Any]:
    return {"type": "string", "maxLength": maximum, "description": description}


def _texts(description: str, maximum: int = 100) -> dict[str, Any]:
    return {
        "type": "array",
        "items": {"type": "string", "maxLength": 20_000},
        "maxItems": maximum,
        "description": description,
    }


ENTRY_PROPERTIES: dict[str, Any] = {
    "id": {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_ID_CHARS,
        "description": "Stable identifier and file name: lower-case letters, digits, - _ and single inner "
        "dots.",
    },
    "title": {
        "type": "string",
        "maxLength": MAX_TITLE_CHARS,
        "description": "Short title; the id when absent.",
    },
    "body": {
        "type": "string",
        "maxLength": MAX_BODY_CHARS,
        "description": "The instruction itself, Markdown or plain text.",
    },
    "description": _text("Longer description."),
    "rationale": _text("Why the instruction exists."),
    "priority": {
        "type": "integer",
        "minimum": 1,
        "maximum": 100,
        "description": "1 is the most important, 100 the least.",
    },
    "audience": {"enum": ["individual", "group", "all"], "description": "Whom it addresses."},
    "requirement": {
        "enum": ["mandatory", "critical", "recommended", "optional", "deprecated"],
        "description": "How binding it is.",
    },
    "categories": {
        "type": "array",
        "items": {"type": "string", "maxLength": 200},
        "maxItems": 50,
        "description": "Topics, lower-cased and sorted; scope:workspace:X, scope:user:X and scope:team:X "
        "set the scope.",
    },
    "primaryCategory": _text("The main one of the categories.", 200),
    "contentType": _text(
        "What the body is: instruction, template, workflow, reference, example, agent.", 40
    ),
    "tags": _texts("More labels."),
    "version": _text("MAJOR.MINOR.PATCH; 1.0.0 when absent.", 60),
    "status": {
        "enum": ["draft", "review", "approved", "deprecated"],
        "description": "Where it stands in its review.",
    },
    "owner": _text("Who answers for it.", 200),
    "classification": {
        "enum": ["public", "internal", "restricted"],
        "description": "Who may read it.",
    },
    "priorityTier": {
        "enum": ["P1", "P2", "P3", "P4"],
        "description": "Derived from priority and requirement when absent.",
    },
    "workspaceId": _text("Only for this workspace.", 200),
    "userId": _text("Only for this user.", 200),
    "teamIds": _texts("Only for these teams."),
    "reviewIntervalDays": {
        "type": "integer",
        "minimum": 1,
        "maximum": 365,
        "description": "Days between reviews.",
    },
    "lastReviewedAt": _text("ISO 8601.", 40),
    "nextReviewDue": _text("ISO 8601.", 40),
    "deprecatedBy": _text("Id of the instruction that replaces it.", MAX_ID_CHARS),
    "supersedes": _text("Id of the instruction it replaces.", MAX_ID_CHARS),
    "dependencies": _texts("Ids of instructions it builds on.", 500),
    "examples": _texts("Examples of use."),
    "semanticSummary": _text(
        "One short sentence; the first line of the body when absent.", MAX_SUMMARY_CHARS
    ),
    "riskScore": {
        "type": "number",
        "description": "Derived from priority and requirement when absent.",
    },
    "changeLog": {
        "type": "array",
        "maxItems": 1000,
        "items": {"type": "object"},
        "description": "Versions with changedAt and summary; repaired where malformed.",
    },
    "createdAt": _text("ISO 8601; now when absent.", 40),
    "archivedAt": _text("ISO 8601.", 40),
    "sourceWorkspace": _text("Where it came from.", 200),
    "createdByAgent": _text("Which agent wrote it.", 200),
    "extensions": {
        "type": "object",
        "description": "Anything else you need to keep with the entry.",
    },
}
# The change log is repaired rather than refused, so its schema stays loose.
_LOOSE: dict[str, Any] = {"changeLog": {}, "version": {}, "createdAt": {}}
ENTRY_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "The instruction, wrapped in `entry`. id and body are always needed; `lax` fills the "
    "rest.",
    "properties": ENTRY_PROPERTIES,
    "required": ["id"],
}
EXPECTED_HASH = (
    "Refuse with -32003 unless this is the entry's present governanceHash (it changes with every "
    "field) or the catalogue hash. "
    "Its sourceHash is enough where only the body changes."
)
ADD_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "entry": ENTRY_SCHEMA,
        "overwrite": {
            "type": "boolean",
            "description": "Replace an existing instruction; omitted fields keep their stored values.",
        },
        "lax": {
            "type": "boolean",
            "description": "Fill missing fields: title = id, priority 50, audience all, requirement "
            "optional.",
        },
        "expectedHash": {"type": "string", "description": EXPECTED_HASH},
    },
    "required": ["entry"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an entry was refused: a short machine-readable error, and what to do."""

    error: str
    hint: str
    validation: list[dict[str, str]] = field(default_factory=list)
    structural: bool = False  # the shape of the call is wrong: the answer carries the schema


class Refused(ValueError):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.error)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Origin:
    """What the server knows about the one who writes."""

    now: str
    agent: str | None = None
    workspace: str | None = None


def check_id(entry: Mapping[str, Any]) -> str:
    """The entry's id, or the reason why it cannot be one. Never skipped: an id is a file name."""
    id_ = entry.get("id")
    if not isinstance(id_, str) or not id_.strip():
        raise Refused(
            Problem(
                "missing id",
                "Give entry.id: lower-case letters, digits, - _ and single inner dots.",
                structural=True,
            )
        )
    if not is_valid_id(id_):
        hint = (
            "Ids: 1 to 120 lower-case letters, digits, - _ and single inner dots; the first "
            "and the last are letters or digits."
        )
        raise Refused(Problem("invalid_id", hint, [{"field": "id", "problem": "not a valid id"}]))
    if is_reserved_id(id_):
        raise Refused(
            Problem(
                "reserved_id",
                f"{id_}.json configures the folder; choose another id.",
                [{"field": "id", "problem": "reserved"}],
            )
        )
    return id_


def compose(
    entry: Mapping[str, Any],
    existing: Instruction | None,
    *,
    lax: bool,
    origin: Origin,
    rules: Rules,
    keep_omitted: bool,
    checked: bool = True,
) -> dict[str, Any]:
    """The document to store for this entry.

    Raises Refused. `checked=False` trusts the entry's values, never its id.
    """
    id_ = check_id(entry)
    _check_depth(entry)
    given = {
        key: value
        for key, value in entry.items()
        if value is not None and key not in SYSTEM_FIELDS and key != "lax"
    }
    if lax:
        given = _unknown_to_extensions(given)
    merged = stored_form(existing.document) if existing and keep_omitted else {}
    if existing:
        if not keep_omitted:
            merged = {
                "createdAt": existing.document["createdAt"],
                "changeLog": existing.document["changeLog"],
            }
            merged["version"] = existing.document["version"]
        _forget_derived(merged, given)
    for key, value in entry.items():
        if value is None and key not in ("id", "body"):
            merged.pop(key, None)
    merged.update(given)
    if rules.canonical and isinstance(given.get("body"), str):
        merged["body"] = normalise_body(given["body"])
    if lax:
        merged = {**LAX_DEFAULTS, **merged}
    if not isinstance(merged.get("title"), str) or not merged["title"].strip():
        merged["title"] = id_
    if checked:
        _check_present(merged)
        _check_schema({**given, "id": id_})
    elif not isinstance(merged.get("body"), str) or not merged["body"].strip():
        raise Refused(
            Problem(
                "missing required fields",
                "Give entry.body.",
                [{"field": "body", "problem": "is missing"}],
                structural=True,
            )
        )
    _check_version(given.get("version"), existing)
    _settle_owner(merged, id_, rules)
    if checked:
        check_rules(merged)
    _settle_version(merged, given, existing, origin.now, rules)
    return _complete(merged, given, existing, origin)


def warnings_of(
    entry: Mapping[str, Any], existing: Instruction | None, *, lax: bool, rules: Rules
) -> list[str]:
    """Return what a write changed of the entry it was given, in words."""
    found = []
    body = entry.get("body")
    if rules.canonical and isinstance(body, str) and normalise_body(body) != body:
        found.append(
            "The body was normalised: line breaks are LF, and blank lines at its start and end "
            "were removed."
        )
    for name in sorted(entry.keys() - KNOWN_FIELDS - {"lax"}) if lax else ():
        found.append(
            f"{name[:80]} is no field of an instruction and was kept under "
            f"extensions.{did_you_mean(name, KNOWN_FIELDS)}"
        )
    if existing is not None and (
        reread := [name for name in existing.salvaged if name not in entry]
    ):
        found.append(
            f"The file held values that cannot be read for {', '.join(reread)}; what was shown "
            f"instead is stored now."
        )
    return found


def _check_depth(entry: Mapping[str, Any]) -> None:
    """Neither the schema nor the encoder goes deeper.

    Level by level, so that no depth is too much to look at.
    """
    for name, value in entry.items():
        level, deeper = 0, [value] if isinstance(value, dict | list) else []
        while deeper:
            level += 1
            if level > MAX_LEVELS:
                hint = (
                    f"{name} is nested deeper than {MAX_LEVELS} levels; flatten it, or keep "
                    f"it as text."
                )
                raise Refused(
                    Problem(
                        "invalid_fields", hint, [{"field": str(name), "problem": "nested too deep"}]
                    )
                )
            inside = (
                item
                for holder in deeper
                for item in (holder.values() if isinstance(holder, dict) else holder)
            )
            deeper = [item for item in inside if isinstance(item, dict | list)]


def _unknown_to_extensions(given: dict[str, Any]) -> dict[str, Any]:
    unknown = {key: value for key, value in given.items() if key not in KNOWN_FIELDS}
    if not unknown:
        return given
    kept = {key: value for key, value in given.items() if key in KNOWN_FIELDS}
    extensions = kept.get("extensions")
    kept["extensions"] = {**(extensions if isinstance(extensions, dict) else {}), **unknown}
    return kept


def _forget_derived(merged: dict[str, Any], given: Mapping[str, Any]) -> None:
    """What was derived from a field that changes is derived anew; what somebody set stays."""
    if "body" in given and given["body"] != merged.get("body"):
        merged.pop("semanticSummary", None)
    changed = {
        name
        for name in ("priority", "requirement", "priorityTier")
        if name in given and given[name] != merged.get(name)
    }
    if not changed or not {"priority", "requirement"} <= merged.keys():
        return
    if merged.get("reviewIntervalDays") == REVIEW_DAYS.get(merged.get("priorityTier", "")):
        merged.pop("reviewIntervalDays", None)
    if merged.get("priorityTier") == tier_of(merged["priority"], merged["requirement"]):
        del merged["priorityTier"]
    if merged.get("riskScore") == risk_of(merged["priority"], merged["requirement"]):
        del merged["riskScore"]


def _check_present(merged: Mapping[str, Any]) -> None:
    missing = [name for name in STRICT_FIELDS if merged.get(name) is None]
    if isinstance(merged.get("body"), str) and not merged["body"].strip():
        missing.append("body")
    if missing:
        hint = f"Give {', '.join(missing)}" + (
            " or set lax: true." if missing != ["body"] else "; lax does not fill it."
        )
        raise Refused(
            Problem(
                "missing required fields",
                hint,
                [{"field": name, "problem": "is missing"} for name in missing],
                structural=True,
            )
        )


@lru_cache(maxsize=1)
def _validator() -> Any:
    import jsonschema_rs  # 10 ms of import that only writers need

    return jsonschema_rs.validator_for(
        {
            **ENTRY_SCHEMA,
            "properties": {**ENTRY_PROPERTIES, **_LOOSE},
            "additionalProperties": False,
        },
    )


def _check_schema(given: Mapping[str, Any]) -> None:
    unknown = sorted(given.keys() - ENTRY_PROPERTIES.keys())
    problems = [
        {
            "field": name[:80],
            "problem": f"is no field of an instruction.{did_you_mean(name, KNOWN_FIELDS)}",
        }
        for name in unknown
    ]
    for error in _validator().iter_errors(
        {name: value for name, value in given.items() if name in ENTRY_PROPERTIES}
    ):
        place = ".".join(str(part) for part in error.instance_path) or "entry"
        *path, keyword = error.schema_path
        problems.append(
            {
                "field": place,
                "problem": problem_of(path, str(keyword), ENTRY_SCHEMA, error.instance),
            }
        )
        if len(problems) >= 20:
            break
    for moment in MOMENTS:
        if moment in given and parse_time(given[moment]) is None:
            problems.append(
                {
                    "field": moment,
                    "problem": f"is not an ISO 8601 time; it is {shown(given[moment])}",
                }
            )
    categories, _, bad = split_categories(given.get("categories"))
    if bad or len(categories) > MAX_CATEGORIES:
        problems.append(
            {
                "field": "categories",
                "problem": "each is 1 to 49 letters, digits, - or _; at most 25",
            }
        )
    if problems:
        error_name = (
            "unknown_fields" if unknown and len(unknown) == len(problems) else "invalid_fields"
        )
        hint = "; ".join(f"{problem['field']}: {problem['problem']}" for problem in problems[:3])
        raise Refused(
            Problem(
                error_name,
                hint + (" (lax: true keeps unknown fields under extensions)" if unknown else ""),
                problems,
            )
        )


def _check_version(version: object, existing: Instruction | None) -> None:
    if version is None or (existing is not None and version == existing.document["version"]):
        return
    if not isinstance(version, str) or not STRICT_SEMVER.fullmatch(version):
        raise Refused(
            Problem(
                "invalid_semver",
                "Supply MAJOR.MINOR.PATCH such as 1.0.0, or leave version out and the server "
                "assigns it.",
                [{"field": "version", "problem": "is not MAJOR.MINOR.PATCH"}],
            )
        )


def _settle_owner(merged: dict[str, Any], id_: str, rules: Rules) -> None:
    owner = merged.get("owner")
    if not isinstance(owner, str) or not owner.strip() or owner == UNOWNED:
        merged["owner"] = rules.owner_of(id_) or UNOWNED


def check_rules(merged: Mapping[str, Any]) -> None:
    owned = merged["owner"] != UNOWNED
    if merged.get("requirement") in ("mandatory", "critical") and not owned:
        raise Refused(
            Problem(
                "mandatory/critical require owner",
                "Give entry.owner, or a pattern for this id in owners.json.",
            )
        )
    raised = (
        merged.get("priorityTier") == "P1"
        and tier_of(merged.get("priority", 50), merged.get("requirement", "optional")) != "P1"
    )
    if raised and not (
        owned and merged.get("categories")
    ):  # where P1 follows from the priority, an export can be imported again
        raise Refused(
            Problem(
                "P1 requires category & owner",
                "Give entry.owner and at least one category, or leave priorityTier out.",
            )
        )
    if merged.get("requirement") == "deprecated" and not merged.get("deprecatedBy"):
        raise Refused(
            Problem(
                "deprecated requires deprecatedBy",
                "Name the instruction that replaces it in entry.deprecatedBy.",
            )
        )


def version_key(version: str) -> tuple[int, int, int]:
    match = SEMVER.fullmatch(version)
    assert match is not None
    return int(match[1]), int(match[2]), int(match[3])


def bump(version: str, part: str) -> str:
    major, minor, patch = version_key(version)
    if part == "major":
        return f"{major + 1}.0.0"
    return f"{major}.{minor + 1}.0" if part == "minor" else f"{major}.{minor}.{patch + 1}"


def _settle_version(
    merged: dict[str, Any],
    given: Mapping[str, Any],
    existing: Instruction | None,
    now: str,
    rules: Rules,
) -> None:
    """The version rule of contract 000: a changed body under the old version, or under none, is
    a patch.
    """
    summary = "initial import"
    if existing is not None:
        before = existing.document["version"]
        changed = hash_body(merged["body"]) != existing.source_hash
        version = given.get("version", before)
        if version_key(version) < version_key(before):
            raise Refused(
                Problem(
                    "version_not_bumped",
                    f"The stored version is {before}; give a higher one or leave it out.",
                )
            )
        if changed and version == before:
            version = bump(before, "patch")
        merged["version"] = version
        summary = "body changed" if changed else f"version {version}"
    merged.setdefault("version", "1.0.0")
    log = mend_change_log(
        merged.get("changeLog"),
        merged["version"] if existing is None else existing.document["version"],
        now,
    )
    if not any(line["version"] == merged["version"] for line in log):
        log.append({"version": merged["version"], "changedAt": now, "summary": summary})
    merged["changeLog"] = log


def _complete(
    merged: dict[str, Any], given: Mapping[str, Any], existing: Instruction | None, origin: Origin
) -> dict[str, Any]:
    for moment in MOMENTS:
        if moment in merged and parse_time(merged[moment]) is not None:
            merged[moment] = in_utc(merged[moment])
    categories, scopes, _ = split_categories(merged.get("categories"))
    merged["categories"] = categories or ["uncategorized"]
    for name, value in scopes.items():
        merged.setdefault(name, value)
    priority, requirement = (
        merged.setdefault("priority", 50),
        merged.setdefault("requirement", "optional"),
    )
    merged.setdefault("audience", "all")
    if isinstance(priority, int) and isinstance(requirement, str):
        merged.setdefault("priorityTier", tier_of(priority, requirement))
        if requirement in ("mandatory", "critical", "recommended", "optional", "deprecated"):
            merged.setdefault("riskScore", risk_of(priority, requirement))
    merged.setdefault("status", "deprecated" if requirement == "deprecated" else "approved")
    merged.setdefault("classification", "internal")
    merged.setdefault("semanticSummary", summary_of(merged["body"]))
    merged.setdefault("reviewIntervalDays", REVIEW_DAYS.get(str(merged.get("priorityTier")), 120))
    if (
        isinstance(merged["reviewIntervalDays"], float)
        and merged["reviewIntervalDays"].is_integer()
    ):
        merged["reviewIntervalDays"] = int(merged["reviewIntervalDays"])
    if isinstance(merged["reviewIntervalDays"], int):
        moved = existing is not None and any(
            merged.get(n) != existing.document.get(n)
            for n in ("reviewIntervalDays", "lastReviewedAt")
        )
        if "nextReviewDue" not in merged or (moved and "nextReviewDue" not in given):
            merged["nextReviewDue"] = next_review(merged, origin.now)
    merged.setdefault("createdAt", origin.now)
    merged["updatedAt"] = origin.now
    merged["schemaVersion"] = SCHEMA_VERSION
    if existing is None:
        if origin.workspace:
            merged.setdefault("sourceWorkspace", origin.workspace)
        if origin.agent:
            merged.setdefault("createdByAgent", origin.agent)
    return merged

"""Checks of an entry: id, nesting, required fields, schema, version and governance rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from commonplace.instructions.engine.entry.problems import describe_violation, did_you_mean, shown
from commonplace.instructions.engine.entry.schema import (
    ENTRY_PROPERTIES,
    ENTRY_SCHEMA,
    UNCHECKED_PROPERTIES,
)
from commonplace.instructions.engine.normalise import split_categories, tier_of
from commonplace.instructions.engine.scope.checks import activation_problem, scope_problems
from commonplace.instructions.engine.times import parse_time
from commonplace.instructions.fields import (
    KNOWN_FIELDS,
    MAX_CATEGORIES,
    MAX_LEVELS,
    STRICT_SEMVER,
    UNOWNED,
    is_reserved_id,
    is_valid_id,
)
from commonplace.instructions.model import Instruction
from commonplace.kernel.json_types import Json

if TYPE_CHECKING:
    from jsonschema_rs import Validator

REQUIRED_FIELDS = (
    "id",
    "body",
    "priority",
    "requirement",
    "categories",
)  # docs/reference/contracts/instructions.md
TIME_FIELDS = ("lastReviewedAt", "nextReviewDue", "createdAt", "archivedAt")
MAX_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """A field of an entry and the rule that it breaks."""

    field: str
    problem: str


@dataclass(frozen=True, slots=True)
class EntryProblem:
    """Why an entry was refused: a machine-readable error, and what to do about it.

    `structural` means that the shape of the call is wrong; the answer then contains the schema.
    """

    error: str
    hint: str
    fields: tuple[FieldProblem, ...] = ()
    structural: bool = False


class EntryRefused(ValueError):
    """The entry cannot be stored."""

    def __init__(
        self, error: str, hint: str, *fields: FieldProblem, structural: bool = False
    ) -> None:
        super().__init__(error)
        self.problem = EntryProblem(error, hint, fields, structural)


def check_id(entry: Mapping[str, Json]) -> str:
    """Return the entry's id. Never skipped: an id is a file name. Raises EntryRefused."""
    id_ = entry.get("id")
    if not isinstance(id_, str) or not id_.strip():
        raise EntryRefused(
            "missing id",
            "Give entry.id: lower-case letters, digits, - _ and single inner dots.",
            structural=True,
        )
    if not is_valid_id(id_):
        raise EntryRefused(
            "invalid_id",
            "Use 1 to 120 lower-case letters, digits, - _ and single inner dots; begin and end "
            "with a letter or digit.",
            FieldProblem("id", "not a valid id"),
        )
    if is_reserved_id(id_):
        raise EntryRefused(
            "reserved_id",
            f"{id_}.json is a configuration file; choose another id.",
            FieldProblem("id", "reserved"),
        )
    return id_


def check_depth(entry: Mapping[str, Json]) -> None:
    """Refuse nesting that the schema validator and the encoder cannot handle.

    Walks level by level, so any depth can be checked.
    """
    for name, value in entry.items():
        level, containers = 0, [value] if isinstance(value, dict | list) else []
        while containers:
            level += 1
            if level > MAX_LEVELS:
                raise EntryRefused(
                    "invalid_fields",
                    f"{name} is nested deeper than {MAX_LEVELS} levels; flatten it, or send it "
                    f"as text.",
                    FieldProblem(str(name), "nested too deep"),
                )
            items = (
                item
                for container in containers
                for item in (container.values() if isinstance(container, dict) else container)
            )
            containers = [item for item in items if isinstance(item, dict | list)]


def check_required(document: Mapping[str, Json]) -> None:
    """Refuse a document without the fields that both contracts require."""
    missing = [name for name in REQUIRED_FIELDS if document.get(name) is None]
    if isinstance(document.get("body"), str) and not document["body"].strip():
        missing.append("body")
    if missing:
        hint = f"Give {', '.join(missing)}" + (
            " or set lax: true." if missing != ["body"] else "; lax does not fill it."
        )
        raise EntryRefused(
            "missing required fields",
            hint,
            *(FieldProblem(name, "is missing") for name in missing),
            structural=True,
        )


def check_body(document: Mapping[str, Json]) -> None:
    """Refuse a document without a body."""
    body = document.get("body")
    if not isinstance(body, str) or not body.strip():
        raise EntryRefused(
            "missing required fields",
            "Give entry.body.",
            FieldProblem("body", "is missing"),
            structural=True,
        )


@lru_cache(maxsize=1)
def _validator() -> Validator:
    import jsonschema_rs  # takes 10 ms to import, and only writers need it

    return jsonschema_rs.validator_for(
        {
            **ENTRY_SCHEMA,
            "properties": {**ENTRY_PROPERTIES, **UNCHECKED_PROPERTIES},
            "additionalProperties": False,
        },
    )


def check_schema(given: Mapping[str, Json]) -> None:
    """Refuse unknown fields and values that break the schema."""
    unknown = sorted(given.keys() - ENTRY_PROPERTIES.keys())
    problems = [
        FieldProblem(
            name[:80], f"is not a field of an instruction.{did_you_mean(name, KNOWN_FIELDS)}"
        )
        for name in unknown
    ]
    known = {name: value for name, value in given.items() if name in ENTRY_PROPERTIES}
    for violation in _validator().iter_errors(known):
        place = ".".join(str(part) for part in violation.instance_path) or "entry"
        *path, keyword = violation.schema_path
        text = describe_violation(path, str(keyword), ENTRY_SCHEMA, violation.instance)
        problems.append(FieldProblem(place, text))
        if len(problems) >= MAX_PROBLEMS:
            break
    problems += _time_and_category_problems(given)
    problems += [FieldProblem(*problem) for problem in scope_problems(given)]
    problems = list(dict.fromkeys(problems))  # the schema and the rules of scopes may agree
    if problems:
        only_unknown = unknown and len(unknown) == len(problems)
        hint = "; ".join(f"{problem.field}: {problem.problem}" for problem in problems[:3])
        raise EntryRefused(
            "unknown_fields" if only_unknown else "invalid_fields",
            hint + (" (lax: true keeps unknown fields under extensions)" if unknown else ""),
            *problems,
        )


def _time_and_category_problems(given: Mapping[str, Json]) -> list[FieldProblem]:
    problems = [
        FieldProblem(name, f"is not an ISO 8601 time; it is {shown(given[name])}")
        for name in TIME_FIELDS
        if name in given and parse_time(given[name]) is None
    ]
    categories, _, bad = split_categories(given.get("categories"))
    if bad or len(categories) > MAX_CATEGORIES:
        problems.append(
            FieldProblem(
                "categories",
                f"each has 1 to 49 letters, digits, - or _; at most {MAX_CATEGORIES} are allowed",
            )
        )
    return problems


def check_version(version: object, existing: Instruction | None) -> None:
    """Refuse a version that is not MAJOR.MINOR.PATCH."""
    if version is None or (existing is not None and version == existing.document["version"]):
        return
    if not isinstance(version, str) or not STRICT_SEMVER.fullmatch(version):
        raise EntryRefused(
            "invalid_semver",
            "Give MAJOR.MINOR.PATCH such as 1.0.0, or omit version and the server assigns it.",
            FieldProblem("version", "is not MAJOR.MINOR.PATCH"),
        )


def check_activation(document: Mapping[str, Json]) -> None:
    """Refuse an activation that lacks what it needs."""
    problem = activation_problem(document)
    if problem is not None:
        raise EntryRefused(
            "invalid_fields",
            "Give appliesTo or languages, or another activation.",
            FieldProblem("activation", problem),
        )


def check_governance(document: Mapping[str, Json]) -> None:
    """Refuse a document that breaks the rules on owners, tiers and deprecation."""
    owned = document["owner"] != UNOWNED
    if document.get("requirement") in ("mandatory", "critical") and not owned:
        raise EntryRefused(
            "mandatory/critical require owner",
            "Give entry.owner, or a pattern for this id in owners.json.",
        )
    # A tier that follows from the priority is accepted, so that an export can be imported again.
    raised = (
        document.get("priorityTier") == "P1"
        and tier_of(document.get("priority", 50), document.get("requirement", "optional")) != "P1"
    )
    if raised and not (owned and document.get("categories")):
        raise EntryRefused(
            "P1 requires category & owner",
            "Give entry.owner and at least one category, or omit priorityTier.",
        )
    if document.get("requirement") == "deprecated" and not document.get("deprecatedBy"):
        raise EntryRefused(
            "deprecated requires deprecatedBy",
            "Name the instruction that replaces it in entry.deprecatedBy.",
        )

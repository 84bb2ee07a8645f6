"""What a client's files lose of a rule: found by reading again what would be written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commonplace.instructions.adapters.reading import read_rule_file
from commonplace.instructions.adapters.rule import PortableRule, RuleActivation
from commonplace.instructions.adapters.writing import ClientExport, ExportedRule, join_sections
from commonplace.instructions.clients.copilot import EVERYTHING
from commonplace.kernel.json_types import Json

CATALOGUE_FIELDS: Mapping[str, Json] = {
    "rationale": None,
    "priority": 50,
    "audience": "all",
    "requirement": "optional",
    "categories": ["uncategorized"],
    "contentType": None,
    "tags": None,
    "languages": None,
    "status": "approved",
    "owner": "unowned",
    "classification": "internal",
    "workspaceId": None,
    "userId": None,
    "teamIds": None,
    "deprecatedBy": None,
    "supersedes": None,
    "dependencies": None,
    "examples": None,
}
"""Fields that no rule file has, with the value that an import gives them."""

BOOKKEEPING = (
    "version",
    "changeLog",
    "priorityTier",
    "reviewIntervalDays",
    "lastReviewedAt",
    "nextReviewDue",
    "semanticSummary",
    "riskScore",
    "createdAt",
    "updatedAt",
    "archivedAt",
    "sourceWorkspace",
    "createdByAgent",
    "extensions",
)
"""Fields that only the catalogue has; said once for a whole export."""


@dataclass(frozen=True, slots=True)
class FieldLoss:
    """A field of a rule that does not come back: its value here and there, and why."""

    id: str
    field: str
    before: Json
    after: Json
    why: str


def find_losses(
    export: ClientExport,
    rules: Sequence[ExportedRule],
    documents: Mapping[str, Mapping[str, Json]],
    client: str,
) -> list[FieldLoss]:
    """Read the export again and list every field that is not as it was."""
    read_back = read_export(export)
    losses = []
    for exported in rules:
        again = read_back.get(exported.id)
        if again is None:
            why = export.unwritten.get(exported.id, "it cannot be read back")
            losses.append(FieldLoss(exported.id, "rule", exported.rule.title, None, why))
            continue
        losses += compare_rules(exported.id, exported.rule, again, client)
        document = documents.get(exported.id, {})
        for name, default in CATALOGUE_FIELDS.items():
            value = document.get(name)
            if value is not None and value != default:
                why = "rule files have no such field"
                losses.append(FieldLoss(exported.id, name, value, default, why))
    return losses


def read_export(export: ClientExport) -> dict[str, PortableRule]:
    """Read the files of an export as an import would; copies in several folders are one rule."""
    contents = {**export.files}
    contents |= {path: join_sections(parts) for path, parts in export.sections.items()}
    rules: dict[str, PortableRule] = {}
    for path, content in contents.items():
        for found in read_rule_file(path, content.encode("utf-8", "replace")).rules:
            if found.id is None:
                continue
            other = rules.get(found.id)
            if other is not None and other.text == found.rule.text:
                globs = tuple(dict.fromkeys((*other.globs, *found.rule.globs)))
                rules[found.id] = PortableRule(
                    other.text, other.activation, globs, other.title, other.description
                )
            else:
                rules[found.id] = found.rule
    return rules


def compare_rules(
    id_: str, before: PortableRule, after: PortableRule, client: str
) -> list[FieldLoss]:
    """List the fields in which a rule that was written and read again differs."""
    losses = []

    def lose(name: str, old: Json, new: Json, why: str) -> None:
        if old != new:
            losses.append(FieldLoss(id_, name, old, new, why))

    lose("body", before.text, after.text, f"{client} cannot hold this text as it is")
    lose("activation", before.activation.value, after.activation.value, _why_flattened(before))
    if not (_applies_to_all(before) and _applies_to_all(after)):
        lose("appliesTo", list(before.globs), list(after.globs), _why_globs(before, after))
    lose("title", before.title, after.title, "read from the heading or the file's name")
    why = (
        f"{client} has no description" if not after.description else "cut, or taken from the title"
    )
    lose("description", before.description, after.description, why)
    for key, value in before.header.items():
        lose(f"header.{key}", value, after.header.get(key), f"{client} has no such field")
    return losses


def _applies_to_all(rule: PortableRule) -> bool:
    """Tell whether a rule always applies, and its globs, if any, say the same."""
    everything = not rule.globs or bool(EVERYTHING.intersection(rule.globs))
    return rule.activation is RuleActivation.ALWAYS and everything


def _why_flattened(before: PortableRule) -> str:
    if before.activation is RuleActivation.GLOB:
        return "the client has no globs here: the rule is no longer tied to its files"
    if before.activation is RuleActivation.DESCRIPTION:
        return "the client does not choose rules by a description"
    return "the client has no such mode"


def _why_globs(before: PortableRule, after: PortableRule) -> str:
    if after.globs and after.activation is before.activation:
        return "written in another way"
    return "the client has no globs here"

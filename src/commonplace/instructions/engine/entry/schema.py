"""JSON schema of an entry and of the arguments of `add`."""

from __future__ import annotations

from commonplace.instructions.engine.scope.rule_scope import (
    MAX_GLOB_CHARS,
    MAX_GLOBS,
    MAX_LANGUAGES,
)
from commonplace.instructions.fields import (
    MAX_BODY_CHARS,
    MAX_ID_CHARS,
    MAX_PATH_CHARS,
    MAX_SUMMARY_CHARS,
    MAX_TITLE_CHARS,
)
from commonplace.kernel.json_types import JsonObject


def _text(description: str, maximum: int = 20_000) -> JsonObject:
    return {"type": "string", "maxLength": maximum, "description": description}


def _texts(description: str, maximum: int = 100) -> JsonObject:
    return {
        "type": "array",
        "items": {"type": "string", "maxLength": 20_000},
        "maxItems": maximum,
        "description": description,
    }


ENTRY_PROPERTIES: JsonObject = {
    "id": {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_ID_CHARS,
        "description": "Lower-case letters, digits, - _ and single inner dots. Stable identifier "
        "and file name.",
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
        "description": "1 is highest, 100 lowest.",
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
        "description": "Topics. Lower-cased and sorted; scope:workspace:X, scope:user:X and "
        "scope:team:X set the scope.",
    },
    "primaryCategory": _text("The main one of the categories.", 200),
    "contentType": _text(
        "Such as instruction, template, workflow. Also reference, example, agent.", 40
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
    "appliesTo": {
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": MAX_GLOB_CHARS},
        "maxItems": MAX_GLOBS,
        "description": "Globs over repository paths, ! excludes. Such as src/**/*.py.",
    },
    "languages": {
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": 40},
        "maxItems": MAX_LANGUAGES,
        "description": "Only for files of these languages, such as python.",
    },
    "activation": {
        "enum": ["always", "glob", "description", "manual"],
        "description": "Default glob with appliesTo or languages, else always. When it "
        "applies: always, to matching paths, if its description fits the task, or when named.",
    },
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
    "conflictsWith": _texts("Ids of instructions that it contradicts.", 100),
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
    "origin": {
        "type": "object",
        "description": "The file that it was imported from.",
        "properties": {
            "file": {"type": "string", "minLength": 1, "maxLength": MAX_PATH_CHARS},
            "line": {"type": "integer", "minimum": 1},
            "client": {"type": "string", "maxLength": 40},
            "hash": {"type": "string", "maxLength": 128},
            "repository": {"type": "string", "maxLength": 200},
        },
        "required": ["file"],
        "additionalProperties": False,
    },
    "extensions": {
        "type": "object",
        "description": "Anything else you need to keep with the entry.",
    },
}
# Repaired or checked elsewhere, so the validator accepts any value.
UNCHECKED_PROPERTIES: JsonObject = {"changeLog": {}, "version": {}, "createdAt": {}}
ENTRY_SCHEMA: JsonObject = {
    "type": "object",
    "description": "id and body are always needed. The instruction, wrapped in `entry`; `lax` "
    "fills the rest.",
    "properties": ENTRY_PROPERTIES,
    "required": ["id"],
}
EXPECTED_HASH = (
    "Present governanceHash or catalogue hash, else -32003. The governanceHash changes with every "
    "field; the sourceHash of the entry is enough where only the body changes."
)
ADD_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "entry": ENTRY_SCHEMA,
        "overwrite": {
            "type": "boolean",
            "description": "Change an existing one. Omitted fields keep their stored values.",
        },
        "lax": {
            "type": "boolean",
            "description": "Fill missing fields. title = id, priority 50, audience all, "
            "requirement optional.",
        },
        "expectedHash": {"type": "string", "description": EXPECTED_HASH},
    },
    "required": ["entry"],
    "additionalProperties": False,
}

"""Stable error codes of the instruction catalogue."""

from __future__ import annotations

from commonplace.kernel.errors import Code, Kind

INVALID_INSTRUCTION = Code(
    "INVALID_INSTRUCTION",
    Kind.INVALID_DATA,
    "The entry breaks a rule of the instruction model; `details.validation` names it.",
)
INSTRUCTION_NOT_FOUND = Code("INSTRUCTION_NOT_FOUND", Kind.NOT_FOUND, "No instruction has this id.")
UNKNOWN_ACTION = Code(
    "UNKNOWN_ACTION",
    Kind.UNKNOWN_METHOD,
    "The dispatcher has no such action; `details.action` repeats it.",
)
MISSING_ACTION = Code(
    "MISSING_ACTION", Kind.INVALID_ARGUMENT, "The dispatcher was called without an action."
)
CONFIRMATION_REQUIRED = Code(
    "CONFIRMATION_REQUIRED",
    Kind.INVALID_ARGUMENT,
    "Removing more than 10 instructions needs `confirm: true`.",
)
REMOVE_MISSING = Code(
    "REMOVE_MISSING",
    Kind.INVALID_ARGUMENT,
    "Strict removal: some ids do not exist, so nothing was removed.",
)
CATALOGUE_LIMIT = Code(
    "CATALOGUE_LIMIT",
    Kind.LIMIT,
    "Above a limit that `capabilities.limits` states: batch size, query results or file size.",
)
HASH_MISMATCH = Code(
    "HASH_MISMATCH",
    Kind.INTEGRITY,
    "`expectedHash` is not the current hash: the entry or the catalogue changed.",
)
ID_NOT_AVAILABLE = Code(
    "ID_NOT_AVAILABLE", Kind.CONFLICT, "The id belongs to something that this caller cannot use."
)
CATALOGUE_BUSY = Code(
    "CATALOGUE_BUSY",
    Kind.UNAVAILABLE,
    "Another process or server is writing to the catalogue; try again.",
)
CATALOGUE_UNWRITABLE = Code(
    "CATALOGUE_UNWRITABLE",
    Kind.UNAVAILABLE,
    "The instruction folder could not be written; nothing was acknowledged.",
)
INVALID_GATES = Code("INVALID_GATES", Kind.INVALID_DATA, "gates.json is not a valid list of gates.")
INVALID_CRITERIA = Code(
    "INVALID_CRITERIA", Kind.INVALID_DATA, "PROMPT-CRITERIA.json is not a valid set of rules."
)
INVALID_CURSOR = Code(
    "INVALID_CURSOR", Kind.INVALID_ARGUMENT, "The cursor is not one that this query returned."
)
CHANGE_NOT_FOUND = Code(
    "CHANGE_NOT_FOUND", Kind.NOT_FOUND, "The history holds no such change of this instruction."
)
INVALID_RULE_PATH = Code(
    "INVALID_RULE_PATH",
    Kind.INVALID_ARGUMENT,
    "A path is not one inside the repository; `details.field` names the argument.",
)
REPOSITORY_NOT_ALLOWED = Code(
    "REPOSITORY_NOT_ALLOWED",
    Kind.PERMISSION,
    "The folder is outside those whose rule files this server may read.",
)

REVIEW_NOT_FOUND = Code(
    "REVIEW_NOT_FOUND", Kind.NOT_FOUND, "Nothing of this instruction waits for a review."
)
REVIEW_REQUIRED = Code(
    "REVIEW_REQUIRED",
    Kind.PERMISSION,
    "The change takes effect only through a review, or only a person may make it.",
)
OWN_CHANGE = Code(
    "OWN_CHANGE", Kind.PERMISSION, "Four eyes: somebody other than the author must approve it."
)
BACKUP_NOT_FOUND = Code("BACKUP_NOT_FOUND", Kind.NOT_FOUND, "No backup has this name.")
NO_EMBEDDING_MODEL = Code(
    "NO_EMBEDDING_MODEL",
    Kind.UNAVAILABLE,
    "No embedding model is installed; instructions are searched by words.",
)

CODES: tuple[Code, ...] = (
    INVALID_INSTRUCTION,
    INSTRUCTION_NOT_FOUND,
    UNKNOWN_ACTION,
    MISSING_ACTION,
    CONFIRMATION_REQUIRED,
    REMOVE_MISSING,
    CATALOGUE_LIMIT,
    HASH_MISMATCH,
    ID_NOT_AVAILABLE,
    CATALOGUE_BUSY,
    CATALOGUE_UNWRITABLE,
    INVALID_GATES,
    INVALID_CRITERIA,
    INVALID_CURSOR,
    CHANGE_NOT_FOUND,
    REVIEW_NOT_FOUND,
    REVIEW_REQUIRED,
    OWN_CHANGE,
    BACKUP_NOT_FOUND,
    INVALID_RULE_PATH,
    REPOSITORY_NOT_ALLOWED,
    NO_EMBEDDING_MODEL,
)

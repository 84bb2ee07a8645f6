"""Arguments and results that several file tools share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.files.errors import INVALID_OFFSET, INVALID_PATH, INVALID_QUERY, RATE_LIMITED
from commonplace.files.model import FileEntry, name_of
from commonplace.kernel.clock import iso

ZERO_TIME = "0001-01-01T00:00:00Z"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Lengths and characters are checked by the domain, whose messages suggest a legal name.
ProjectName = Annotated[
    str,
    Field(
        description="Isolated file root. 1 to 128 characters.",
        json_schema_extra={"minLength": 1, "maxLength": 128},
    ),
]
PathName = Annotated[
    str,
    Field(
        description='Such as /notes/a.md; "" is the root. Letters, digits and / _ - . only.',
        json_schema_extra={"maxLength": 512},
    ),
]
PathPrefix = Annotated[
    str,
    Field(
        description="Start of paths. Any string, such as /docs/ or /docs/api.",
        json_schema_extra={"maxLength": 512},
    ),
]
IfMatch = Annotated[
    str | None,
    Field(description='Present content_hash; "" if there is no file. Otherwise nothing changes.'),
]

FIELD_CODES = {
    "project": INVALID_PATH,
    "path": INVALID_PATH,
    "new_path": INVALID_PATH,
    "source_path": INVALID_PATH,
    "offset": INVALID_OFFSET,
    "query": INVALID_QUERY,
    "pattern": INVALID_QUERY,
}
COMMON_ERRORS = (INVALID_PATH, RATE_LIMITED)


class FileEntryOutput(TypedDict):
    name: str
    path: str
    type: str
    size: int
    created_at: str
    updated_at: str
    content_hash: NotRequired[str]
    source_path: NotRequired[str]


def moment(microseconds: int | None) -> str:
    """Return a time of the store as the contract writes it; None is the zero time."""
    return ZERO_TIME if microseconds is None else iso(_EPOCH + timedelta(microseconds=microseconds))


def entry_out(entry: FileEntry) -> FileEntryOutput:
    answer: FileEntryOutput = {
        "name": name_of(entry.path),
        "path": entry.path,
        "type": entry.type.value,
        "size": entry.size,
        "created_at": moment(entry.created_at),
        "updated_at": moment(entry.updated_at),
    }
    if entry.content_hash is not None:
        answer["content_hash"] = entry.content_hash
    if entry.source_path is not None:
        answer["source_path"] = entry.source_path
    return answer

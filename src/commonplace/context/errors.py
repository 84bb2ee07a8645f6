"""Stable error codes of context packs."""

from __future__ import annotations

from commonplace.kernel.errors import Code, Kind

PACK_NOT_FOUND = Code(
    "PACK_NOT_FOUND", Kind.NOT_FOUND, "No context pack has this id, or it has expired."
)

RESOURCE_NOT_FOUND = Code(
    "RESOURCE_NOT_FOUND", Kind.NOT_FOUND, "No resource has this address, as far as the caller sees."
)

REF_NOT_FOUND = Code(
    "REF_NOT_FOUND", Kind.NOT_FOUND, "A reference names nothing, as far as the caller sees."
)

PROPOSAL_NOT_FOUND = Code(
    "PROPOSAL_NOT_FOUND",
    Kind.NOT_FOUND,
    "No proposal of a capture has this id or prefix, or the prefix fits several.",
)

PROPOSAL_DECIDED = Code(
    "PROPOSAL_DECIDED", Kind.CONFLICT, "A proposal of a capture was accepted or rejected already."
)

PROPOSAL_REFUSED = Code(
    "PROPOSAL_REFUSED",
    Kind.INVALID_DATA,
    "An accepted proposal is no valid instruction; it stays in the queue.",
)

CODES = (
    PACK_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    REF_NOT_FOUND,
    PROPOSAL_NOT_FOUND,
    PROPOSAL_DECIDED,
    PROPOSAL_REFUSED,
)

"""The stable error codes of the openapi toolset."""

from __future__ import annotations

from commonplace.kernel.errors import Code, Kind

# Reading
SPEC_INPUT = Code(
    "SPEC_INPUT",
    Kind.INVALID_ARGUMENT,
    "A spec needs exactly one of `file`, `url`, `content` or `ref`.",
)
SPEC_NOT_FOUND = Code(
    "SPEC_NOT_FOUND",
    Kind.NOT_FOUND,
    "The file, address or stored file that should hold the document does not exist.",
)
SPEC_UNREADABLE = Code(
    "SPEC_UNREADABLE",
    Kind.INVALID_DATA,
    "The document exists but is not readable text: a folder, a device, or not Unicode.",
)
PATH_NOT_ALLOWED = Code(
    "PATH_NOT_ALLOWED", Kind.PERMISSION, "The path is outside the folders this server may use."
)
URL_NOT_ALLOWED = Code(
    "URL_NOT_ALLOWED",
    Kind.PERMISSION,
    "The address is one this server does not fetch: scheme, private network, or not on the "
    "allow-list.",
)
FETCH_FAILED = Code(
    "FETCH_FAILED",
    Kind.UNAVAILABLE,
    "The document could not be fetched: connection, status, or time.",
)
SPEC_SYNTAX = Code(
    "SPEC_SYNTAX",
    Kind.INVALID_DATA,
    "The text is not JSON or YAML; `details` hold line and column.",
)
SPEC_TOO_LARGE = Code(
    "SPEC_TOO_LARGE",
    Kind.LIMIT,
    "The document is above the limit of bytes, nodes or alias expansions.",
)
SPEC_TOO_DEEP = Code("SPEC_TOO_DEEP", Kind.LIMIT, "The document nests deeper than the limit.")
NOT_A_SPEC = Code(
    "NOT_A_SPEC",
    Kind.INVALID_DATA,
    "The document is not an OpenAPI description: no object, or neither `openapi` nor `swagger`.",
)
UNSUPPORTED_VERSION = Code(
    "UNSUPPORTED_VERSION",
    Kind.INVALID_DATA,
    "The document declares a version this server does not know.",
)
UNRESOLVED_REF = Code(
    "UNRESOLVED_REF",
    Kind.INVALID_DATA,
    "A reference points to nothing; `details` hold the reference and its place.",
)
CIRCULAR_REF = Code(
    "CIRCULAR_REF",
    Kind.INVALID_DATA,
    "References lead only to each other, never to a value.",
)
ANSWER_TOO_LARGE = Code(
    "ANSWER_TOO_LARGE",
    Kind.LIMIT,
    "The answer would be larger than a client can use; the hint says how to ask for less.",
)

# Writing
INVALID_SPEC = Code(
    "INVALID_SPEC",
    Kind.INVALID_DATA,
    "The document is too broken for this operation; `details` list the first errors.",
)
CONVERSION_IMPOSSIBLE = Code(
    "CONVERSION_IMPOSSIBLE",
    Kind.INVALID_DATA,
    "The document cannot be expressed in the target version.",
)
MIXED_VERSIONS = Code(
    "MIXED_VERSIONS",
    Kind.INVALID_DATA,
    "The documents to join have different versions; convert them first.",
)
JOIN_COLLISION = Code(
    "JOIN_COLLISION",
    Kind.CONFLICT,
    "Two documents define the same name and the strategy is to fail.",
)
INVALID_OVERLAY = Code(
    "INVALID_OVERLAY",
    Kind.INVALID_DATA,
    "The overlay breaks its specification; `details` list what is wrong.",
)
OVERLAY_TARGET_UNMATCHED = Code(
    "OVERLAY_TARGET_UNMATCHED",
    Kind.CONFLICT,
    "In strict mode, a target of the overlay matches nothing.",
)
FOREIGN_FILE = Code(
    "FOREIGN_FILE",
    Kind.CONFLICT,
    "A file in the way is not an OpenAPI document, or was not generated; it is kept.",
)
WRITE_FAILED = Code("WRITE_FAILED", Kind.UNAVAILABLE, "The result could not be written to disk.")

CODES: tuple[Code, ...] = (
    SPEC_INPUT,
    SPEC_NOT_FOUND,
    SPEC_UNREADABLE,
    PATH_NOT_ALLOWED,
    URL_NOT_ALLOWED,
    FETCH_FAILED,
    SPEC_SYNTAX,
    SPEC_TOO_LARGE,
    SPEC_TOO_DEEP,
    NOT_A_SPEC,
    UNSUPPORTED_VERSION,
    UNRESOLVED_REF,
    CIRCULAR_REF,
    ANSWER_TOO_LARGE,
    INVALID_SPEC,
    CONVERSION_IMPOSSIBLE,
    MIXED_VERSIONS,
    JOIN_COLLISION,
    INVALID_OVERLAY,
    OVERLAY_TARGET_UNMATCHED,
    FOREIGN_FILE,
    WRITE_FAILED,
)

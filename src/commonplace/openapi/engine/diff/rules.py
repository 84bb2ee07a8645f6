"""The rules of comparison as data: the name of each change and its severity for clients."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """`critical` and `error` break clients; `warning` may; `info` does not."""

    CRITICAL = "critical"
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        return ("critical", "error", "warning", "info").index(self.value)


class ChangeKind(StrEnum):
    """What happened to the changed part."""

    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"


class Direction(StrEnum):
    """Who sends a value: the client (request) or the server (response)."""

    REQUEST = "request"
    RESPONSE = "response"
    NONE = "none"

    @property
    def reversed(self) -> Direction:
        return {
            Direction.REQUEST: Direction.RESPONSE,
            Direction.RESPONSE: Direction.REQUEST,
            Direction.NONE: Direction.NONE,
        }[self]


BREAKING = frozenset({Level.CRITICAL, Level.ERROR})


@dataclass(frozen=True, slots=True)
class ChangeRule:
    """The severity of a change in a value that the client sends, and in one it receives."""

    id: str
    kind: ChangeKind
    request: Level
    response: Level
    meaning: str

    def level(self, direction: Direction) -> Level:
        """Return the severity in a direction; `info` if no operation uses the value."""
        if direction is Direction.REQUEST:
            return self.request
        return self.response if direction is Direction.RESPONSE else Level.INFO


@dataclass(frozen=True, slots=True)
class ApiChange:
    """A change between two documents and the operations it affects (at most five are named)."""

    rule: ChangeRule
    level: Level
    path: str
    message: str
    directions: tuple[Direction, ...] = ()
    operations: tuple[str, ...] = ()
    operation_count: int = 0


_C, _E, _W, _I = Level.CRITICAL, Level.ERROR, Level.WARNING, Level.INFO
_ADD, _DEL, _MOD = ChangeKind.ADDED, ChangeKind.REMOVED, ChangeKind.MODIFIED


def _flat(id_: str, kind: ChangeKind, level: Level, meaning: str) -> ChangeRule:
    return ChangeRule(id_, kind, level, level, meaning)


def _narrows(id_: str, kind: ChangeKind, meaning: str) -> ChangeRule:
    """Return a rule for what breaks a client that sends the value."""
    return ChangeRule(id_, kind, _E, _I, meaning)


def _widens(id_: str, kind: ChangeKind, meaning: str) -> ChangeRule:
    """Return a rule for what breaks a client that receives the value."""
    return ChangeRule(id_, kind, _I, _E, meaning)


def _undecided(id_: str, meaning: str) -> ChangeRule:
    return ChangeRule(id_, _MOD, _W, _W, meaning)


_DOCUMENT_RULES = (
    _flat(
        "version-changed",
        _MOD,
        _I,
        "The OpenAPI version changed; the meanings are compared.",
    ),
    _flat("structure-removed", _DEL, _E, "Literal mode: a root field of the document was removed."),
    _flat("structure-added", _ADD, _I, "Literal mode: a root field of the document was added."),
    _flat("info-changed", _MOD, _I, "Title, version or description of the API changed."),
    _flat("server-removed", _DEL, _W, "A server was removed."),
    _flat("server-added", _ADD, _I, "A server was added."),
    _flat("server-variable-changed", _MOD, _W, "The variables of a server changed."),
    _flat("tag-removed", _DEL, _I, "A tag declaration was removed."),
    _flat("tag-added", _ADD, _I, "A tag declaration was added."),
)
_OPERATION_RULES = (
    _flat("operation-removed", _DEL, _C, "An operation was removed."),
    _flat(
        "deprecated-operation-removed", _DEL, _E, "An operation that was deprecated was removed."
    ),
    _flat("operation-added", _ADD, _I, "An operation was added."),
    _flat(
        "operation-id-changed",
        _MOD,
        _W,
        "The operationId changed; generated clients rename a function.",
    ),
    _flat("operation-deprecated", _MOD, _I, "An operation became deprecated."),
    _flat("operation-undeprecated", _MOD, _I, "An operation is no longer deprecated."),
    _flat("operation-tags-changed", _MOD, _I, "The tags of an operation changed."),
    _flat("description-changed", _MOD, _I, "A summary or description changed."),
    _flat(
        "path-parameter-renamed",
        _MOD,
        _I,
        "A path parameter was renamed; the URL is the same.",
    ),
    _flat("callback-removed", _DEL, _W, "A callback was removed; it is no longer called."),
    _flat("callback-added", _ADD, _I, "A callback was added."),
    _flat("webhook-removed", _DEL, _W, "A webhook was removed; it is no longer called."),
    _flat("webhook-added", _ADD, _I, "A webhook was added."),
)
_PARAMETER_RULES = (
    ChangeRule(
        "parameter-removed",
        _DEL,
        _W,
        _W,
        "A parameter was removed; what clients send is ignored or refused.",
    ),
    ChangeRule("required-parameter-added", _ADD, _E, _I, "A required parameter was added."),
    ChangeRule("optional-parameter-added", _ADD, _I, _I, "An optional parameter was added."),
    ChangeRule("parameter-became-required", _MOD, _E, _I, "An optional parameter is now required."),
    ChangeRule("parameter-became-optional", _MOD, _I, _I, "A required parameter is now optional."),
    ChangeRule(
        "parameter-style-changed",
        _MOD,
        _E,
        _E,
        "An array or object parameter is serialized differently, or a parameter or header "
        "got or lost a media type.",
    ),
    ChangeRule("parameter-deprecated", _MOD, _I, _I, "A parameter became deprecated."),
)
_MESSAGE_RULES = (
    ChangeRule("required-body-added", _ADD, _E, _I, "A required request body was added."),
    ChangeRule("optional-body-added", _ADD, _I, _I, "An optional request body was added."),
    ChangeRule("body-removed", _DEL, _E, _W, "The request body was removed."),
    ChangeRule("body-became-required", _MOD, _E, _I, "The request body is now required."),
    ChangeRule("body-became-optional", _MOD, _I, _W, "The request body is now optional."),
    ChangeRule(
        "media-type-removed", _DEL, _E, _E, "A media type is no longer accepted or offered."
    ),
    ChangeRule("media-type-added", _ADD, _I, _I, "A media type was added."),
    ChangeRule(
        "encoding-changed", _MOD, _W, _W, "The encoding of a multipart or form body changed."
    ),
    _flat("success-response-removed", _DEL, _E, "A success response was removed."),
    _flat("error-response-removed", _DEL, _W, "An error or default response was removed."),
    _flat("success-response-added", _ADD, _I, "A success response was added."),
    _flat("error-response-added", _ADD, _I, "An error or default response was added."),
    _flat(
        "required-header-removed", _DEL, _E, "A response header that was always sent was removed."
    ),
    _flat("optional-header-removed", _DEL, _W, "A response header was removed."),
    _flat("header-added", _ADD, _I, "A response header was added."),
    _flat("header-became-optional", _MOD, _E, "A response header is no longer always sent."),
    _flat("header-became-required", _MOD, _I, "A response header is now always sent."),
    _flat("link-removed", _DEL, _W, "A link was removed."),
    _flat("link-added", _ADD, _I, "A link was added."),
)
_SCHEMA_RULES = (
    _narrows("type-narrowed", _MOD, "Fewer types are allowed."),
    _widens("type-widened", _MOD, "More types are allowed."),
    ChangeRule("type-changed", _MOD, _E, _E, "Some types were removed and others added."),
    _narrows("enum-value-removed", _DEL, "An allowed value was removed."),
    _widens("enum-value-added", _ADD, "An allowed value was added."),
    _narrows("enum-added", _ADD, "Only listed values are allowed now."),
    _widens("enum-removed", _DEL, "Values are no longer limited to a list."),
    _narrows("bound-tightened", _MOD, "A limit of size or value became stricter."),
    _widens("bound-loosened", _MOD, "A limit of size or value became looser."),
    _narrows("unique-items-added", _ADD, "Items must differ now."),
    _widens("unique-items-removed", _DEL, "Items may repeat now."),
    _narrows("pattern-narrowed", _MOD, "A pattern was added, or refuses strings that it accepted."),
    _widens("pattern-widened", _MOD, "A pattern was removed, or accepts strings that it refused."),
    _undecided("pattern-changed", "The pattern of a string changed in a way that is not analysed."),
    _undecided("format-changed", "The format of a value changed, was added or was removed."),
    _narrows("multiple-of-narrowed", _MOD, "multipleOf was added, or fewer numbers are valid."),
    _widens("multiple-of-widened", _MOD, "multipleOf was removed, or more numbers are valid."),
    ChangeRule(
        "multiple-of-changed",
        _MOD,
        _E,
        _E,
        "multipleOf changed: some numbers are no longer valid and others now are.",
    ),
    ChangeRule("property-added", _ADD, _I, _I, "A property was added."),
    ChangeRule(
        "property-added-to-closed",
        _ADD,
        _I,
        _E,
        "A property was added where unknown ones were not allowed.",
    ),
    ChangeRule(
        "property-removed",
        _DEL,
        _W,
        _W,
        "An optional property was removed; unknown ones may still be sent.",
    ),
    ChangeRule(
        "property-removed-from-closed",
        _DEL,
        _E,
        _W,
        "A property was removed and unknown ones are not allowed.",
    ),
    ChangeRule("required-property-removed", _DEL, _W, _E, "A required property was removed."),
    _narrows("required-property-added", _ADD, "A required property was added."),
    _narrows("property-became-required", _MOD, "An optional property is now required."),
    _widens("property-became-optional", _MOD, "A required property is now optional."),
    _narrows("additional-properties-closed", _MOD, "Unknown properties are no longer allowed."),
    _widens("additional-properties-opened", _MOD, "Unknown properties are allowed now."),
    _narrows("alternative-removed", _DEL, "A branch of oneOf or anyOf was removed."),
    _widens("alternative-added", _ADD, "A branch of oneOf or anyOf was added."),
    _undecided(
        "composition-changed",
        "oneOf, anyOf, not or a condition changed in a way that is not analysed.",
    ),
    ChangeRule(
        "discriminator-changed",
        _MOD,
        _E,
        _E,
        "The property of a discriminator changed.",
    ),
    _undecided(
        "discriminator-mapping-changed",
        "The mapping changed, or a discriminator was added or removed.",
    ),
    _undecided("read-write-changed", "readOnly or writeOnly changed."),
    _flat("default-changed", _MOD, _W, "The default of a property changed."),
    _flat("schema-deprecated", _MOD, _I, "A schema or property became deprecated."),
    _flat("component-removed", _DEL, _I, "A component that no operation uses was removed."),
    _flat("component-added", _ADD, _I, "A component was added."),
)
_SECURITY_RULES = (
    _flat("security-tightened", _MOD, _E, "Credentials that were sufficient no longer are."),
    _flat("security-loosened", _MOD, _I, "Other or fewer credentials are now sufficient."),
    _flat("security-scheme-changed", _MOD, _E, "How a credential is sent changed."),
    _flat(
        "security-scheme-renamed",
        _MOD,
        _I,
        "A security scheme was renamed; what is sent is the same.",
    ),
    _flat("security-scheme-removed", _DEL, _W, "A security scheme was removed."),
    _flat("security-scheme-added", _ADD, _I, "A security scheme was added."),
    _flat("oauth-flow-changed", _MOD, _W, "An OAuth flow or one of its addresses changed."),
    _flat("oauth-scope-removed", _DEL, _W, "An OAuth scope was removed."),
    _flat("oauth-scope-added", _ADD, _I, "An OAuth scope was added."),
)

CHANGE_RULES: dict[str, ChangeRule] = {
    rule.id: rule
    for rule in (
        *_DOCUMENT_RULES,
        *_OPERATION_RULES,
        *_PARAMETER_RULES,
        *_MESSAGE_RULES,
        *_SCHEMA_RULES,
        *_SECURITY_RULES,
    )
}


def rule_table() -> str:
    """Return the table of the rules for the reference page, in Markdown."""
    rows = [
        f"| `{r.id}` | {r.kind.value} | {r.request.value} | {r.response.value} | {r.meaning} |"
        for r in CHANGE_RULES.values()
    ]
    head = [
        "| rule | type | client sends it | client receives it | meaning |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*head, *rows]) + "\n"

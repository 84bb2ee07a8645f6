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
        "The OpenAPI version differs; the comparison is of meaning.",
    ),
    _flat("structure-removed", _DEL, _E, "Literal mode: a part of the document's format is gone."),
    _flat("structure-added", _ADD, _I, "Literal mode: the document's format has a new part."),
    _flat("info-changed", _MOD, _I, "Title, version or description of the API changed."),
    _flat("server-removed", _DEL, _W, "A server is gone."),
    _flat("server-added", _ADD, _I, "A server was added."),
    _flat("server-variable-changed", _MOD, _W, "The variables of a server changed."),
    _flat("tag-removed", _DEL, _I, "A tag declaration is gone."),
    _flat("tag-added", _ADD, _I, "A tag was declared."),
)
_OPERATION_RULES = (
    _flat("operation-removed", _DEL, _C, "An operation is gone."),
    _flat("deprecated-operation-removed", _DEL, _E, "An operation that was deprecated is gone."),
    _flat("operation-added", _ADD, _I, "There is a new operation."),
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
        "A path parameter has another name; the URL is the same.",
    ),
    _flat("callback-removed", _DEL, _W, "A callback is gone; it will not be called any more."),
    _flat("callback-added", _ADD, _I, "There is a new callback."),
    _flat("webhook-removed", _DEL, _W, "A webhook is gone; it will not be called any more."),
    _flat("webhook-added", _ADD, _I, "There is a new webhook."),
)
_PARAMETER_RULES = (
    ChangeRule(
        "parameter-removed",
        _DEL,
        _W,
        _W,
        "A parameter is gone; what clients send is ignored or refused.",
    ),
    ChangeRule("required-parameter-added", _ADD, _E, _I, "There is a new required parameter."),
    ChangeRule("optional-parameter-added", _ADD, _I, _I, "There is a new optional parameter."),
    ChangeRule("parameter-became-required", _MOD, _E, _I, "An optional parameter is now required."),
    ChangeRule("parameter-became-optional", _MOD, _I, _I, "A required parameter is now optional."),
    ChangeRule(
        "parameter-style-changed",
        _MOD,
        _E,
        _E,
        "An array or object parameter is written differently, or any parameter or header is "
        "as a media type.",
    ),
    ChangeRule("parameter-deprecated", _MOD, _I, _I, "A parameter became deprecated."),
)
_MESSAGE_RULES = (
    ChangeRule("required-body-added", _ADD, _E, _I, "A request body is now needed."),
    ChangeRule("optional-body-added", _ADD, _I, _I, "A request body may now be sent."),
    ChangeRule("body-removed", _DEL, _E, _W, "The request body is gone."),
    ChangeRule("body-became-required", _MOD, _E, _I, "The request body is now required."),
    ChangeRule("body-became-optional", _MOD, _I, _W, "The request body is now optional."),
    ChangeRule(
        "media-type-removed", _DEL, _E, _E, "A media type is no longer accepted or offered."
    ),
    ChangeRule("media-type-added", _ADD, _I, _I, "A media type was added."),
    ChangeRule(
        "encoding-changed", _MOD, _W, _W, "The encoding of a multipart or form body changed."
    ),
    _flat("success-response-removed", _DEL, _E, "A success response is gone."),
    _flat("error-response-removed", _DEL, _W, "An error or default response is gone."),
    _flat("success-response-added", _ADD, _I, "There is a new success response."),
    _flat("error-response-added", _ADD, _I, "There is a new error or default response."),
    _flat("required-header-removed", _DEL, _E, "A response header that was always sent is gone."),
    _flat("optional-header-removed", _DEL, _W, "A response header is gone."),
    _flat("header-added", _ADD, _I, "There is a new response header."),
    _flat("header-became-optional", _MOD, _E, "A response header is no longer always sent."),
    _flat("header-became-required", _MOD, _I, "A response header is now always sent."),
    _flat("link-removed", _DEL, _W, "A link is gone."),
    _flat("link-added", _ADD, _I, "There is a new link."),
)
_SCHEMA_RULES = (
    _narrows("type-narrowed", _MOD, "Fewer types are allowed."),
    _widens("type-widened", _MOD, "More types are allowed."),
    ChangeRule("type-changed", _MOD, _E, _E, "The types before and after differ both ways."),
    _narrows("enum-value-removed", _DEL, "A value is no longer allowed."),
    _widens("enum-value-added", _ADD, "There is a new allowed value."),
    _narrows("enum-added", _ADD, "Only listed values are allowed now."),
    _widens("enum-removed", _DEL, "Values are no longer limited to a list."),
    _narrows("bound-tightened", _MOD, "A limit of size or value became stricter."),
    _widens("bound-loosened", _MOD, "A limit of size or value became looser."),
    _narrows("unique-items-added", _ADD, "Items must differ now."),
    _widens("unique-items-removed", _DEL, "Items may repeat now."),
    _narrows("pattern-narrowed", _MOD, "A pattern was added, or refuses strings that it accepted."),
    _widens("pattern-widened", _MOD, "A pattern is gone, or accepts strings that it refused."),
    _undecided(
        "pattern-changed", "The pattern of a string changed in a way that is not decided here."
    ),
    _undecided("format-changed", "The format of a value changed, came or went."),
    _narrows("multiple-of-narrowed", _MOD, "multipleOf was added, or fewer numbers fit it."),
    _widens("multiple-of-widened", _MOD, "multipleOf is gone, or more numbers fit it."),
    ChangeRule(
        "multiple-of-changed",
        _MOD,
        _E,
        _E,
        "multipleOf changed: some numbers no longer fit it and others do now.",
    ),
    ChangeRule("property-added", _ADD, _I, _I, "There is a new property."),
    ChangeRule(
        "property-added-to-closed",
        _ADD,
        _I,
        _E,
        "There is a new property where none were allowed beside the known ones.",
    ),
    ChangeRule(
        "property-removed",
        _DEL,
        _W,
        _W,
        "An optional property is gone; others may still be sent.",
    ),
    ChangeRule(
        "property-removed-from-closed",
        _DEL,
        _E,
        _W,
        "A property is gone and no unknown ones are allowed.",
    ),
    ChangeRule(
        "required-property-removed", _DEL, _W, _E, "A property that was always there is gone."
    ),
    _narrows("required-property-added", _ADD, "There is a new required property."),
    _narrows("property-became-required", _MOD, "A property is required now."),
    _widens("property-became-optional", _MOD, "A property may be missing now."),
    _narrows("additional-properties-closed", _MOD, "Unknown properties are no longer allowed."),
    _widens("additional-properties-opened", _MOD, "Unknown properties are allowed now."),
    _narrows("alternative-removed", _DEL, "A branch of oneOf or anyOf is gone."),
    _widens("alternative-added", _ADD, "There is a new branch of oneOf or anyOf."),
    _undecided(
        "composition-changed",
        "oneOf, anyOf, not or a condition changed in a way that is not decided here.",
    ),
    ChangeRule(
        "discriminator-changed",
        _MOD,
        _E,
        _E,
        "The property that tells alternatives apart changed.",
    ),
    _undecided(
        "discriminator-mapping-changed",
        "The values that tell alternatives apart changed, or a discriminator came or went.",
    ),
    _undecided("read-write-changed", "readOnly or writeOnly changed."),
    _flat("default-changed", _MOD, _W, "The default of a property changed."),
    _flat("schema-deprecated", _MOD, _I, "A schema or property became deprecated."),
    _flat("component-removed", _DEL, _I, "A component that no operation uses is gone."),
    _flat("component-added", _ADD, _I, "There is a new component."),
)
_SECURITY_RULES = (
    _flat("security-tightened", _MOD, _E, "Credentials that were enough no longer are."),
    _flat("security-loosened", _MOD, _I, "Other or fewer credentials are enough now."),
    _flat("security-scheme-changed", _MOD, _E, "How a credential is sent changed."),
    _flat(
        "security-scheme-renamed",
        _MOD,
        _I,
        "A security scheme has another name; what is sent is the same.",
    ),
    _flat("security-scheme-removed", _DEL, _W, "A security scheme is gone."),
    _flat("security-scheme-added", _ADD, _I, "There is a new security scheme."),
    _flat("oauth-flow-changed", _MOD, _W, "An OAuth flow or one of its addresses changed."),
    _flat("oauth-scope-removed", _DEL, _W, "An OAuth scope is gone."),
    _flat("oauth-scope-added", _ADD, _I, "There is a new OAuth scope."),
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
        "| rule | type | client sends it | client receives it | what it says |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*head, *rows]) + "\n"

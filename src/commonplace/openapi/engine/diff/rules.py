"""The rules of comparison as data: what each change is called and how severe it is for the
clients of an API.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """Severity in a value that the client sends, in one that it receives, and where no operation
    uses it.
    """

    id: str
    kind: ChangeKind
    request: Level
    response: Level
    meaning: str

    def level(self, direction: Direction) -> Level:
        if direction is Direction.REQUEST:
            return self.request
        return self.response if direction is Direction.RESPONSE else Level.INFO


@dataclass(frozen=True, slots=True)
class ApiChange:
    rule: ChangeRule
    level: Level
    path: str
    message: str
    directions: tuple[Direction, ...] = ()
    operations: tuple[str, ...] = ()
    operation_count: int = 0


_C, _E, _W, _I = Level.CRITICAL, Level.ERROR, Level.WARNING, Level.INFO
_ADD, _DEL, _MOD = ChangeKind.ADDED, ChangeKind.REMOVED, ChangeKind.MODIFIED


def _rules() -> Sequence[ChangeRule]:
    def flat(id_: str, kind: ChangeKind, level: Level, meaning: str) -> ChangeRule:
        return ChangeRule(id_, kind, level, level, meaning)

    def narrows(id_: str, kind: ChangeKind, meaning: str) -> ChangeRule:
        return ChangeRule(id_, kind, _E, _I, meaning)

    def widens(id_: str, kind: ChangeKind, meaning: str) -> ChangeRule:
        return ChangeRule(id_, kind, _I, _E, meaning)

    def changes(id_: str, meaning: str) -> ChangeRule:
        return ChangeRule(id_, _MOD, _W, _W, meaning)

    return (
        # document
        flat(
            "version-changed",
            _MOD,
            _I,
            "The OpenAPI version differs; the comparison is of meaning.",
        ),
        flat(
            "structure-removed", _DEL, _E, "Literal mode: a part of the document's format is gone."
        ),
        flat("structure-added", _ADD, _I, "Literal mode: the document's format has a new part."),
        flat("info-changed", _MOD, _I, "Title, version or description of the API changed."),
        flat("server-removed", _DEL, _W, "A server is gone."),
        flat("server-added", _ADD, _I, "A server was added."),
        flat("server-variable-changed", _MOD, _W, "The variables of a server changed."),
        flat("tag-removed", _DEL, _I, "A tag declaration is gone."),
        flat("tag-added", _ADD, _I, "A tag was declared."),
        # endpoints
        flat("operation-removed", _DEL, _C, "An operation is gone."),
        flat("deprecated-operation-removed", _DEL, _E, "An operation that was deprecated is gone."),
        flat("operation-added", _ADD, _I, "There is a new operation."),
        flat(
            "operation-id-changed",
            _MOD,
            _W,
            "The operationId changed; generated clients rename a function.",
        ),
        flat("operation-deprecated", _MOD, _I, "An operation became deprecated."),
        flat("operation-undeprecated", _MOD, _I, "An operation is no longer deprecated."),
        flat("operation-tags-changed", _MOD, _I, "The tags of an operation changed."),
        flat("description-changed", _MOD, _I, "A summary or description changed."),
        flat(
            "path-parameter-renamed",
            _MOD,
            _I,
            "A path parameter has another name; the URL is the same.",
        ),
        flat("callback-removed", _DEL, _W, "A callback is gone; it will not be called any more."),
        flat("callback-added", _ADD, _I, "There is a new callback."),
        flat("webhook-removed", _DEL, _W, "A webhook is gone; it will not be called any more."),
        flat("webhook-added", _ADD, _I, "There is a new webhook."),
        # parameters
        ChangeRule(
            "parameter-removed",
            _DEL,
            _W,
            _W,
            "A parameter is gone; what clients send is ignored or refused.",
        ),
        ChangeRule("required-parameter-added", _ADD, _E, _I, "There is a new required parameter."),
        ChangeRule("optional-parameter-added", _ADD, _I, _I, "There is a new optional parameter."),
        ChangeRule(
            "parameter-became-required", _MOD, _E, _I, "An optional parameter is now required."
        ),
        ChangeRule(
            "parameter-became-optional", _MOD, _I, _I, "A required parameter is now optional."
        ),
        ChangeRule(
            "parameter-style-changed",
            _MOD,
            _E,
            _E,
            "An array or object parameter is written differently, or any parameter or header is "
            "as a media type.",
        ),
        ChangeRule("parameter-deprecated", _MOD, _I, _I, "A parameter became deprecated."),
        # bodies and responses
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
        flat("success-response-removed", _DEL, _E, "A success response is gone."),
        flat("error-response-removed", _DEL, _W, "An error or default response is gone."),
        flat("success-response-added", _ADD, _I, "There is a new success response."),
        flat("error-response-added", _ADD, _I, "There is a new error or default response."),
        flat(
            "required-header-removed", _DEL, _E, "A response header that was always sent is gone."
        ),
        flat("optional-header-removed", _DEL, _W, "A response header is gone."),
        flat("header-added", _ADD, _I, "There is a new response header."),
        flat("header-became-optional", _MOD, _E, "A response header is no longer always sent."),
        flat("header-became-required", _MOD, _I, "A response header is now always sent."),
        flat("link-removed", _DEL, _W, "A link is gone."),
        flat("link-added", _ADD, _I, "There is a new link."),
        # schemas
        narrows("type-narrowed", _MOD, "Fewer types are allowed."),
        widens("type-widened", _MOD, "More types are allowed."),
        ChangeRule("type-changed", _MOD, _E, _E, "The types before and after differ both ways."),
        narrows("enum-value-removed", _DEL, "A value is no longer allowed."),
        widens("enum-value-added", _ADD, "There is a new allowed value."),
        narrows("enum-added", _ADD, "Only listed values are allowed now."),
        widens("enum-removed", _DEL, "Values are no longer limited to a list."),
        narrows("bound-tightened", _MOD, "A limit of size or value became stricter."),
        widens("bound-loosened", _MOD, "A limit of size or value became looser."),
        narrows("unique-items-added", _ADD, "Items must differ now."),
        widens("unique-items-removed", _DEL, "Items may repeat now."),
        narrows(
            "pattern-narrowed", _MOD, "A pattern was added, or refuses strings that it accepted."
        ),
        widens("pattern-widened", _MOD, "A pattern is gone, or accepts strings that it refused."),
        changes(
            "pattern-changed", "The pattern of a string changed in a way that is not decided here."
        ),
        changes("format-changed", "The format of a value changed, came or went."),
        narrows("multiple-of-narrowed", _MOD, "multipleOf was added, or fewer numbers fit it."),
        widens("multiple-of-widened", _MOD, "multipleOf is gone, or more numbers fit it."),
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
        narrows("required-property-added", _ADD, "There is a new required property."),
        narrows("property-became-required", _MOD, "A property is required now."),
        widens("property-became-optional", _MOD, "A property may be missing now."),
        narrows("additional-properties-closed", _MOD, "Unknown properties are no longer allowed."),
        widens("additional-properties-opened", _MOD, "Unknown properties are allowed now."),
        narrows("alternative-removed", _DEL, "A branch of oneOf or anyOf is gone."),
        widens("alternative-added", _ADD, "There is a new branch of oneOf or anyOf."),
        changes(
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
        changes(
            "discriminator-mapping-changed",
            "The values that tell alternatives apart changed, or a discriminator came or went.",
        ),
        changes("read-write-changed", "readOnly or writeOnly changed."),
        flat("default-changed", _MOD, _W, "The default of a property changed."),
        flat("schema-deprecated", _MOD, _I, "A schema or property became deprecated."),
        flat("component-removed", _DEL, _I, "A component that no operation uses is gone."),
        flat("component-added", _ADD, _I, "There is a new component."),
        # security
        flat("security-tightened", _MOD, _E, "Credentials that were enough no longer are."),
        flat("security-loosened", _MOD, _I, "Other or fewer credentials are enough now."),
        flat("security-scheme-changed", _MOD, _E, "How a credential is sent changed."),
        flat(
            "security-scheme-renamed",
            _MOD,
            _I,
            "A security scheme has another name; what is sent is the same.",
        ),
        flat("security-scheme-removed", _DEL, _W, "A security scheme is gone."),
        flat("security-scheme-added", _ADD, _I, "There is a new security scheme."),
        flat("oauth-flow-changed", _MOD, _W, "An OAuth flow or one of its addresses changed."),
        flat("oauth-scope-removed", _DEL, _W, "An OAuth scope is gone."),
        flat("oauth-scope-added", _ADD, _I, "There is a new OAuth scope."),
    )


CHANGE_RULES: dict[str, ChangeRule] = {rule.id: rule for rule in _rules()}


def rule_table() -> str:
    """The reference page of the rules, in Markdown."""
    rows = [
        f"| `{r.id}` | {r.kind.value} | {r.request.value} | {r.response.value} | {r.meaning} |"
        for r in CHANGE_RULES.values()
    ]
    head = [
        "| rule | type | client sends it | client receives it | what it says |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*head, *rows]) + "\n"

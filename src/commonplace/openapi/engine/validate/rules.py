"""The rules of validation as data: id, severity, meaning and fix.

The reference page is generated from this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """The severity of a finding; errors make a document invalid."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class ValidationRule:
    """A rule; `strict` ones go beyond the specification and run only on request."""

    id: str
    severity: Severity
    meaning: str
    fix: str
    strict: bool = False


@dataclass(frozen=True, slots=True)
class ValidationFinding:
    """A place of a document that breaks a rule."""

    rule: ValidationRule
    pointer: str
    message: str
    severity: Severity
    line: int | None = None
    elsewhere: bool = False  # in another file, so it has no line here


_ERROR, _WARNING = Severity.ERROR, Severity.WARNING

RULES: dict[str, ValidationRule] = {
    rule.id: rule
    for rule in (
        # The official schema
        ValidationRule("missing-field", _ERROR, "A required field is missing.", "Add the field."),
        ValidationRule(
            "unknown-field",
            _ERROR,
            "A field is not defined for this object.",
            "Remove it, correct its name, or start it with x-.",
        ),
        ValidationRule(
            "version-gate",
            _ERROR,
            "A field exists only in a later version.",
            "Raise the version, or remove the field.",
        ),
        ValidationRule(
            "wrong-type",
            _ERROR,
            "A value has the wrong JSON type.",
            "Write a value of the expected type.",
        ),
        ValidationRule(
            "wrong-value",
            _ERROR,
            "A value is not one of those allowed, or has the wrong form.",
            "Use an allowed value.",
        ),
        ValidationRule(
            "wrong-structure",
            _ERROR,
            "An object has none of the forms that are allowed here.",
            "Compare it with the specification.",
        ),
        ValidationRule(
            "empty-document",
            _ERROR,
            "A 3.1 or 3.2 document has none of paths, components, webhooks.",
            "Add one of them.",
        ),
        # Documents
        ValidationRule(
            "duplicate-key",
            _ERROR,
            "A mapping has the same key twice; only the last one is used.",
            "Remove one of them.",
        ),
        ValidationRule(
            "email",
            _ERROR,
            "The e-mail address of the contact is not valid.",
            "Write it like name@example.com.",
        ),
        ValidationRule(
            "url",
            _ERROR,
            "A URL contains spaces or other invalid characters.",
            "Escape them.",
        ),
        ValidationRule(
            "unknown-dialect",
            _WARNING,
            "Schemas are in a dialect that is not checked here.",
            "Use the OpenAPI dialect.",
        ),
        # References
        ValidationRule(
            "ref-unresolved",
            _ERROR,
            "The target of a reference does not exist.",
            "Define the target, or correct the reference.",
        ),
        ValidationRule(
            "ref-kind",
            _ERROR,
            "A reference points to a component of another kind.",
            "Refer to a component of the expected kind.",
        ),
        ValidationRule(
            "ref-circular",
            _ERROR,
            "References lead only to each other.",
            "Define the value at one of them.",
        ),
        ValidationRule(
            "ref-external",
            _WARNING,
            "A reference to another file could not be checked.",
            "Pass the document as file or url, with the other file in a readable place.",
        ),
        ValidationRule(
            "ref-siblings",
            _WARNING,
            "Fields beside $ref are ignored in this version.",
            "Remove them, or wrap the reference in allOf.",
            True,
        ),
        # Paths and operations
        ValidationRule(
            "path-slash", _ERROR, "A path does not start with a slash.", "Start it with /."
        ),
        ValidationRule(
            "path-template",
            _ERROR,
            "A path template has unbalanced, empty or nested braces.",
            "Write {name} once per parameter.",
        ),
        ValidationRule(
            "path-repeats-parameter",
            _WARNING,
            "A path template names the same parameter twice: an error from 3.2 on.",
            "Give each its own name.",
        ),
        ValidationRule(
            "path-ambiguous",
            _ERROR,
            "Two paths differ only in the names of their parameters.",
            "Merge them.",
        ),
        ValidationRule(
            "path-query",
            _WARNING,
            "A path contains a query string or a fragment.",
            "Describe query parameters as parameters.",
        ),
        ValidationRule(
            "path-trailing-slash",
            _WARNING,
            "A path ends with a slash.",
            "Remove the slash, unless the server needs it.",
        ),
        ValidationRule(
            "path-parameter-missing",
            _ERROR,
            "A template expression has no path parameter.",
            "Add a parameter with in: path (the fix tool does it).",
        ),
        ValidationRule(
            "path-parameter-renamed",
            _ERROR,
            "Path and parameters disagree on names only.",
            "Use the same name in both.",
        ),
        ValidationRule(
            "path-parameter-unused",
            _ERROR,
            "A path parameter is not in the path template.",
            "Add it to the path, or remove the parameter.",
        ),
        ValidationRule(
            "path-parameter-optional",
            _ERROR,
            "A path parameter is not required: true.",
            "Add required: true (the fix tool does it).",
        ),
        ValidationRule(
            "operation-id-duplicate",
            _ERROR,
            "Two operations share an operationId.",
            "Rename one (fix: fix_duplicate_operationids).",
        ),
        ValidationRule(
            "parameter-duplicate",
            _ERROR,
            "A list has the same parameter (name and in) twice.",
            "Remove one.",
        ),
        ValidationRule(
            "parameter-schema-content",
            _ERROR,
            "A parameter or header has both schema and content, or neither.",
            "Keep exactly one.",
        ),
        ValidationRule(
            "parameter-header-name",
            _WARNING,
            "A header name is not a valid HTTP field name.",
            "Use letters, digits and -.",
        ),
        ValidationRule(
            "parameter-header-ignored",
            _WARNING,
            "Accept, Content-Type and Authorization parameters are ignored.",
            "Remove it.",
        ),
        ValidationRule(
            "parameter-querystring",
            _ERROR,
            "querystring is used beside query, or twice.",
            "Use one or the other.",
        ),
        ValidationRule(
            "body-parameters",
            _ERROR,
            "A 2.0 operation has several body parameters, or body beside formData.",
            "Keep one body, or formData.",
        ),
        ValidationRule(
            "file-parameter",
            _ERROR,
            "A 2.0 file parameter is not in formData with a multipart or form type.",
            "Set in: formData and consumes.",
        ),
        ValidationRule(
            "response-success",
            _WARNING,
            "An operation has no success or default response.",
            "Describe the response of a successful call.",
            True,
        ),
        ValidationRule(
            "operation-undescribed",
            _WARNING,
            "An operation has neither summary nor description.",
            "Add a summary of one line.",
        ),
        ValidationRule(
            "operation-id-missing",
            _WARNING,
            "An operation has no operationId.",
            "Give it one; code generators need it.",
            True,
        ),
        ValidationRule(
            "status-code",
            _WARNING,
            "A response key is outside 100 to 599.",
            "Use a registered status code.",
        ),
        ValidationRule(
            "media-type",
            _WARNING,
            "A media type is not of the form type/subtype.",
            "Write it like application/json.",
        ),
        ValidationRule(
            "example-conflict",
            _ERROR,
            "example and examples exclude each other.",
            "Keep one of them.",
        ),
        ValidationRule(
            "example-value-conflict",
            _ERROR,
            "Fields of an example exclude each other.",
            "Keep one of them.",
        ),
        ValidationRule(
            "link-operation",
            _WARNING,
            "A link names an operationId that does not exist.",
            "Correct the operationId.",
        ),
        # Security, servers, tags
        ValidationRule(
            "security-undefined",
            _ERROR,
            "A security requirement names a scheme that is not defined.",
            "Define the scheme, or correct the name.",
        ),
        ValidationRule(
            "security-scope",
            _WARNING,
            "A requirement names a scope that its OAuth flows do not list.",
            "Add the scope to the flows.",
        ),
        ValidationRule(
            "server-variable",
            _WARNING,
            "A server URL uses a variable that is not defined.",
            "Define it in variables.",
        ),
        ValidationRule(
            "server-variable-default",
            _ERROR,
            "The default of a server variable is not in its enum.",
            "Add it to the enum.",
        ),
        ValidationRule("tag-duplicate", _ERROR, "A tag is declared twice.", "Remove one."),
        ValidationRule(
            "tag-undeclared",
            _WARNING,
            "An operation uses a tag that is not declared.",
            "Declare it under tags.",
            True,
        ),
        ValidationRule(
            "tag-parent",
            _ERROR,
            "The parent of a tag does not exist, or tags are their own ancestors.",
            "Name a declared tag.",
        ),
        # Schemas
        ValidationRule(
            "array-items",
            _ERROR,
            "An array schema of 3.0, or an array parameter or header of 2.0, has no items.",
            "Add items; items: {} allows anything.",
        ),
        ValidationRule(
            "discriminator-property",
            _ERROR,
            "In 2.0, the discriminator is not a required property of its schema.",
            "Define and require it.",
        ),
        ValidationRule(
            "discriminator-mapping",
            _WARNING,
            "A discriminator maps to a schema that does not exist.",
            "Correct the mapping.",
        ),
        ValidationRule(
            "xml-conflict",
            _ERROR,
            "xml has nodeType beside attribute or wrapped.",
            "Keep nodeType.",
        ),
        ValidationRule(
            "bounds",
            _WARNING,
            "A lower bound is above the upper bound: nothing can match.",
            "Swap or widen the bounds.",
        ),
        ValidationRule(
            "enum-type",
            _WARNING,
            "An enum value does not have the type of its schema.",
            "Correct the value, or the type.",
        ),
        ValidationRule("enum-duplicate", _WARNING, "An enum lists a value twice.", "Remove one."),
        ValidationRule(
            "pattern",
            _WARNING,
            "A pattern is not a valid regular expression.",
            "Write an ECMA-262 regular expression.",
        ),
        ValidationRule(
            "default-mismatch",
            _WARNING,
            "A default does not match its schema.",
            "Correct the default, or the schema.",
        ),
        ValidationRule(
            "example-mismatch",
            _WARNING,
            "An example does not match its schema.",
            "Correct the example, or the schema.",
        ),
        ValidationRule(
            "examples-unchecked",
            _WARNING,
            "There was not enough time to check all examples and defaults.",
            "Split the document.",
        ),
        ValidationRule(
            "required-undefined",
            _WARNING,
            "A required property is not among the properties.",
            "Define it, or correct the name.",
            True,
        ),
        ValidationRule(
            "component-name",
            _ERROR,
            "A component name contains characters that are not allowed.",
            "Use A-Z a-z 0-9 . - _ only.",
        ),
        ValidationRule(
            "unused-component",
            _WARNING,
            "Nothing refers to a component.",
            "Remove it (the fix tool with prune).",
            True,
        ),
    )
}

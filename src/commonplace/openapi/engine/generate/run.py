"""Generation of code from a document of any version."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from commonplace.kernel.json_types import JsonObject
from commonplace.openapi.engine.convert.issues import IssueLog
from commonplace.openapi.engine.convert.swagger.up import SwaggerUp
from commonplace.openapi.engine.convert.up_3_0 import up_to_3_1
from commonplace.openapi.engine.document.references.anchors import replace_anchors
from commonplace.openapi.engine.generate.model import Notice
from commonplace.openapi.engine.generate.operations import ApiReader
from commonplace.openapi.model import Family

Language = Literal["go", "python"]
_GO_KEYWORDS = frozenset(
    [
        "break",
        "case",
        "chan",
        "const",
        "continue",
        "default",
        "defer",
        "else",
        "fallthrough",
        "for",
        "func",
        "go",
        "goto",
        "if",
        "import",
        "interface",
        "map",
        "package",
        "range",
        "return",
        "select",
        "struct",
        "switch",
        "type",
        "var",
    ]
)

GO_FILES = frozenset(
    (
        "types.go",
        "operations.go",
        "client.go",
        "server.go",
        "schemas.go",
        "runtime_values.go",
        "runtime_schemas.go",
        "runtime_wire.go",
        "runtime_client.go",
        "runtime_server.go",
    )
)
PYTHON_FILES = frozenset(("__init__.py", "models.py", "client.py", "runtime.py"))
FILE_NAMES: dict[str, frozenset[str]] = {"go": GO_FILES, "python": PYTHON_FILES}


@dataclass(frozen=True, slots=True)
class Generated:
    """Generated files by name, with counts and warnings."""

    files: dict[str, str]
    types: int
    operations: int
    warnings: tuple[Notice, ...]


def is_package_name(name: str) -> bool:
    """Tell whether Go accepts a package name: a lower-case identifier, not a keyword."""
    return (
        re.fullmatch(r"[a-z_][a-z0-9_]*", name) is not None
        and name not in _GO_KEYWORDS
        and name != "_"
    )


def generate(
    document: JsonObject,
    family: Family,
    *,
    language: Language = "go",
    package_name: str = "api",
    client: bool = False,
    server: bool = False,
) -> Generated:
    """Generate the files of a package. Documents of all versions are read in their 3.1 form."""
    reader = ApiReader(upgrade_document(document, family), operations=client or server)
    api = reader.read()
    if language == "go":
        from commonplace.openapi.engine.generate.go.package import generate_go

        files = generate_go(api, reader.types, package_name, client=client, server=server)
    else:
        from commonplace.openapi.engine.generate.python.package import generate_python

        files = generate_python(api, client=client)
    return Generated(files, len(api.declarations), len(api.operations), tuple(api.warnings))


def upgrade_document(document: JsonObject, family: Family) -> JsonObject:
    """Return a document in 3.1 or 3.2 form."""
    issues = IssueLog()
    if family is Family.V20:
        document = SwaggerUp(document, issues).convert("3.0.4")
    if family in (Family.V20, Family.V30):
        return up_to_3_1(document, issues, "3.1.1")
    return replace_anchors(document)

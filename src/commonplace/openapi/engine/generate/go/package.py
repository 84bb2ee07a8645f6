"""The files of a Go package, the order in which names are chosen, and the imports."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from commonplace.openapi.engine.generate.go.operations import GoOperations, security_options
from commonplace.openapi.engine.generate.go.schemas import SchemaTable
from commonplace.openapi.engine.generate.go.text import HEADER, comment, imports, quoted
from commonplace.openapi.engine.generate.go.types import GoTypes
from commonplace.openapi.engine.generate.model import Api
from commonplace.openapi.engine.generate.names import NameScope
from commonplace.openapi.engine.generate.types import TypeReader

_TOP_LEVEL = re.compile(r"^(?:func|type|var|const) (\w+)|^\t(\w+)\s+= ", re.MULTILINE)
_RUNTIME = ("values", "schemas", "wire", "client", "server")
# Names that generated code declares itself, beside those of the runtime.
_OWN_NAMES = (
    "Server",
    "UnimplementedServer",
    "NewHandler",
    "DefaultServerURL",
    "schemasJSON",
    "securitySchemes",
)
_BUILD = "//go:build go1.24"


@cache
def runtime_source(name: str) -> str:
    """Return the source of a runtime file."""
    return (
        resources.files("commonplace.openapi.engine.generate.go")
        .joinpath("runtime", f"{name}.go")
        .read_text("utf-8")
    )


@cache
def runtime_names() -> frozenset[str]:
    """Return the package-level names that the runtime files use."""
    found = set(_OWN_NAMES)
    for name in _RUNTIME:
        found.update(name or other for name, other in _TOP_LEVEL.findall(runtime_source(name)))
    return frozenset(found)


def generate_go(
    api: Api, reader: TypeReader, package_name: str, *, client: bool, server: bool
) -> dict[str, str]:
    """Return the contents of the files by name; types are always included."""
    return build_go(api, reader, package_name, client=client, server=server)[0]


def build_go(
    api: Api, reader: TypeReader, package_name: str, *, client: bool, server: bool
) -> tuple[dict[str, str], GoOperations]:
    """Return the files, and the operations with their Go names."""
    package = NameScope(runtime_names())
    schemas = SchemaTable(reader.merger)
    types = GoTypes(api, package, schemas)
    operations = GoOperations(api, types, package, schemas, server=server)
    types.name_components()
    if client or server:
        operations.name()
    types.name_inline()
    options = security_options(api, package)
    declared = types.declare()
    about = f"Package {package_name} was generated from {api.title} {api.version}".strip() + "."
    files = {"types.go": _file(package_name, declared, types.imports, doc=comment(about))}
    if client or server:
        types.imports = set()
        body = operations.declare()
        files["operations.go"] = _file(package_name, [*body, *options[:2]], types.imports)
    if client:
        lines = [
            (
                "// DefaultServerURL is the first server of the API description, with the default "
                "values of its variables."
            ),
            f"const DefaultServerURL = {quoted(api.server)}",
            "",
            *options[2:],
            *operations.client_methods(),
        ]
        files["client.go"] = _file(package_name, lines, {"context"} if operations.named else set())
    if server:
        needed = {"context", "net/http"} if operations.named else {"net/http"}
        files["server.go"] = _file(package_name, operations.write_server(), needed)
    wanted = (
        ["values", "schemas"]
        + (["wire"] if client or server else [])
        + (["client"] if client else [])
        + (["server"] if server else [])
    )
    for name in wanted:
        source = runtime_source(name).replace("package api\n", f"package {package_name}\n", 1)
        files[f"runtime_{name}.go"] = f"{HEADER}\n\n{_BUILD}\n\n{source}"
    text = schemas.text().replace("`", "\\u0060").replace("\ufeff", "\\ufeff")
    lines = [
        "// schemasJSON holds the schemas that are needed at run time, by reference or place.",
        f"const schemasJSON = `{text}`",
        "",
    ]
    files["schemas.go"] = _file(package_name, lines, set())
    return dict(sorted(files.items())), operations


def _file(
    package_name: str, lines: list[str], needed: set[str], doc: list[str] | None = None
) -> str:
    while lines and not lines[-1]:
        lines.pop()
    head = [HEADER, "", _BUILD, "", *(doc or []), f"package {package_name}", ""]
    return "\n".join([*head, *imports(sorted(needed)), *lines]).rstrip("\n") + "\n"

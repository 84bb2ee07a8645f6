"""The flags of oastools and what each means here. Imports stay light."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag of oastools.

    `to` is our option. Without it, `does` names a special action, or `refused` says why the flag
    is not supported.
    """

    names: tuple[str, ...]
    help: str
    value: bool = False
    to: str = ""
    does: str = ""  # quiet, format, where, repeat, ignored
    refused: str = ""
    accepted: tuple[str, ...] = ()  # values that match our behaviour; others are refused


def _flag(names: str, help_: str, to: str = "", **more: object) -> Flag:
    return Flag(tuple(names.split()), help_, to=to, **more)  # type: ignore[arg-type]


QUIET = _flag("q quiet", "Print no messages, only the result.", does="quiet")
FORMAT = _flag("format", "text, json or yaml.", does="format", value=True)
LINES = _flag("s source-map", "Show line numbers; always on where they are known.", does="ignored")
OUTPUT = _flag("o output", "Write the result to this file.", "--output", value=True)
STRICT = _flag("strict", "Fail on warnings too.", "--strict")
NO_WARNINGS = _flag("no-warnings", "Print no warnings.", does="quiet")
_WALK = (
    FORMAT,
    QUIET,
    _flag("detail", "Whole objects instead of a table.", "--detail"),
    _flag("extension", "x-name or x-name=value.", "--extension", value=True),
    _flag("resolve-refs", "Replace references.", "--resolve-refs"),
)
_RENAMES = "The form of new names is fixed; leave the flag out."
_CODE = "This code is not generated."
_JOIN = "This rule of joining is not supported; leave the flag out."


def _where(names: str, help_: str, field: str = "", *, value: bool = True) -> Flag:
    return _flag(
        names, help_, field or names.split()[0].replace("-", "_"), does="where", value=value
    )


WALKS: Mapping[str, tuple[Flag, ...]] = {
    "operations": (
        _where("method", "Only this method."),
        _where("path", "Only paths like this; * is one segment."),
        _where("tag", "Only this tag."),
        _where("deprecated", "Only deprecated operations.", value=False),
        _where("operationId", "Only this operationId.", "operation_id"),
        *_WALK,
    ),
    "schemas": (
        _where("name", "Only this name."),
        _where("component", "Only components.", value=False),
        _where("inline", "Only schemas in place.", value=False),
        _where("type", "Only this type."),
        *_WALK,
    ),
    "parameters": (
        _where("in", "Only this location."),
        _where("name", "Only this name."),
        _where("path", "Only paths like this."),
        _where("method", "Only this method."),
        *_WALK,
    ),
    "responses": (
        _where("status", "Only this status, such as 200 or 4xx."),
        _where("path", "Only paths like this."),
        _where("method", "Only this method."),
        *_WALK,
    ),
    "headers": (
        _where("name", "Only this name."),
        _where("path", "Only paths like this."),
        _where("method", "Only this method."),
        _where("status", "Only this status."),
        _where("component", "Only components.", value=False),
        *_WALK,
    ),
    "security": (_where("name", "Only this name."), _where("type", "Only this type."), *_WALK),
    "paths": (_where("path", "Only paths like this."), *_WALK),
    "refs": (
        _where("target", "Only references like this."),
        _where("node-type", "Only this kind.", "node_type"),
        *_WALK,
    ),
}
COMMANDS: Mapping[str, tuple[Flag, ...]] = {
    "validate": (
        STRICT,
        _flag("no-warnings", "Errors only.", "--no-warnings"),
        QUIET,
        FORMAT,
        LINES,
    ),
    "parse": (
        _flag("resolve-refs", "Replace references.", "--resolve-refs"),
        _flag("validate-structure", "Check the document too.", does="validate"),
        QUIET,
    ),
    "fix": (
        OUTPUT,
        QUIET,
        LINES,
        _flag(
            "infer",
            "Infer types of parameters.",
            refused="Path parameters that are added are strings; change their type afterwards.",
        ),
        _flag("fix-schema-names", "Rename generic schema names.", "--schema-names"),
        _flag(
            "generic-naming",
            "How generic names are written.",
            value=True,
            refused=_RENAMES,
            accepted=("underscore",),
        ),
        _flag(
            "generic-separator",
            "Separator in new names.",
            value=True,
            refused=_RENAMES,
            accepted=("_",),
        ),
        _flag(
            "generic-param-separator",
            "Separator of parameters in new names.",
            value=True,
            refused=_RENAMES,
            accepted=("_",),
        ),
        _flag("preserve-casing", "Keep the case of parameters; always on.", does="ignored"),
        _flag("prune-schemas", "Remove schemas that nothing refers to.", "--prune-schemas"),
        _flag("prune-paths", "Remove paths without operations.", "--prune-paths"),
        _flag("prune-all prune", "Remove both.", "--prune"),
        _flag("fix-duplicate-operationids", "Number duplicate operation ids.", "--operation-ids"),
        _flag(
            "operationid-template",
            "How new operation ids are written.",
            value=True,
            refused=_RENAMES,
            accepted=("{operationId}{n}",),
        ),
        _flag(
            "operationid-path-sep",
            "Separator of paths in new ids.",
            value=True,
            refused=_RENAMES,
            accepted=("_",),
        ),
        _flag(
            "operationid-tag-sep",
            "Separator of tags in new ids.",
            value=True,
            refused=_RENAMES,
            accepted=("_",),
        ),
        _flag(
            "stub-missing-refs", "Add stubs for missing reference targets.", "--stub-missing-refs"
        ),
        _flag(
            "stub-response-desc",
            "Description of stubs.",
            value=True,
            refused="Stubs have one description; change it afterwards.",
        ),
        _flag("dry-run", "Only show the fixes.", "--dry-run"),
    ),
    "convert": (
        _flag("t target", "Target version.", "--target", value=True),
        OUTPUT,
        STRICT,
        NO_WARNINGS,
        QUIET,
        LINES,
    ),
    "diff": (
        _flag("breaking", "Fail only on breaking changes.", does="breaking"),
        _flag("no-info", "Without informational changes.", "--no-info"),
        QUIET,
        FORMAT,
        LINES,
    ),
    "join": (
        OUTPUT,
        _flag("path-strategy", "What happens to paths that differ.", "--paths", value=True),
        _flag("schema-strategy", "What happens to schemas that differ.", "--schemas", value=True),
        _flag(
            "component-strategy",
            "What happens to other components that differ.",
            value=True,
            refused="Other components follow --schema-strategy.",
            accepted=("accept-left",),
        ),
        _flag("semantic-dedup", "Merge equal schemas of different names.", "--semantic-dedup"),
        _flag("no-merge-arrays", "Do not merge servers and security.", refused=_JOIN),
        _flag(
            "no-dedup-tags",
            "Do not merge tags of one name.",
            refused="Tags with the same name are always merged: OpenAPI requires unique tags.",
        ),
        QUIET,
        LINES,
        _flag(
            "rename-template",
            "How renamed schemas are called.",
            value=True,
            refused=_RENAMES,
            accepted=("{{.Name}}_{{.Source}}",),
        ),
        _flag(
            "equivalence-mode",
            "How schemas are compared.",
            value=True,
            refused="They are compared whole.",
            accepted=("none", "deep"),
        ),
        _flag("collision-report", "Report collisions; always on.", does="ignored"),
        _flag("namespace-prefix", "Prefix for names of one source.", value=True, refused=_JOIN),
        _flag("always-prefix", "Prefix all names.", refused=_JOIN),
        _flag("operation-context", "Operations in templates.", refused=_JOIN),
        _flag(
            "primary-operation-policy",
            "Which operation a template sees.",
            value=True,
            refused=_JOIN,
        ),
        _flag(
            "pre-overlay",
            "Overlay before joining.",
            value=True,
            refused="Apply it first: oastools overlay apply.",
        ),
        _flag(
            "post-overlay",
            "Overlay after joining.",
            value=True,
            refused="Apply it afterwards: oastools overlay apply.",
        ),
    ),
    "generate": (
        _flag("o output", "Folder for the files.", "--output-dir", value=True),
        _flag("p package", "Package name.", "--package", value=True),
        _flag("client", "Generate a client.", does="client"),
        _flag("server", "Generate a server interface.", "--server"),
        _flag("types", "Generate types; always on.", does="ignored"),
        _flag(
            "no-pointers",
            "No pointers for optional fields.",
            refused="Pointers tell missing fields from empty ones.",
        ),
        _flag("no-validation", "No validation tags; there are none.", does="ignored"),
        STRICT,
        NO_WARNINGS,
        LINES,
        _flag(
            "no-security",
            "No security helpers.",
            refused="The client always includes them; they do nothing until used.",
        ),
        _flag("oauth2-flows", "OAuth token flows.", refused=_CODE),
        _flag(
            "credential-mgmt",
            "Credential providers.",
            refused="Use the field Source of Credential.",
        ),
        _flag("security-enforce", "Security middleware; the server has it.", does="ignored"),
        _flag("oidc-discovery", "OpenID Connect discovery.", refused=_CODE),
        _flag("readme no-readme", "README; there is none.", does="ignored"),
        _flag(
            "max-lines-per-file max-types-per-file max-ops-per-file",
            "Files are not split.",
            value=True,
            does="ignored",
        ),
        _flag(
            "split-by-tag no-split-by-tag split-by-path no-split-by-path",
            "Files are not split.",
            does="ignored",
        ),
        _flag(
            "server-router",
            "Router.",
            value=True,
            refused="The handler of the server routes with net/http.",
            accepted=("stdlib",),
        ),
        _flag(
            "server-middleware server-binder server-responses server-stubs server-all",
            "Parts that the server has.",
            does="ignored",
        ),
        _flag("server-embed-spec", "Embed the document.", refused=_CODE),
    ),
    "overlay apply": (
        _flag("s spec", "The document.", does="spec", value=True),
        _flag("overlay", "The overlay.", does="overlay", value=True),
        OUTPUT,
        STRICT,
        _flag("dry-run", "Only show what each action matches.", "--dry-run"),
        QUIET,
    ),
    "overlay validate": (QUIET,),
    **{f"walk {kind}": flags for kind, flags in WALKS.items()},
}
SUMMARIES = {
    "mcp": "Serve the tools to agents over standard input and output",
    "validate": "Check a document",
    "parse": "Summarize a document",
    "fix": "Repair common errors",
    "convert": "Convert a document to another version",
    "diff": "Compare two documents",
    "join": "Merge documents",
    "generate": "Generate Go code",
    "overlay apply": "Apply an overlay to a document",
    "overlay validate": "Check an overlay",
    **{f"walk {kind}": f"List {kind.replace('refs', 'references')}" for kind in WALKS},
    "version": "Print the version",
    "help": "Print this help",
}


def usage() -> str:
    """Return the help of the command."""
    width = max(map(len, SUMMARIES))
    lines = [f"  {name.ljust(width)}  {text}" for name, text in SUMMARIES.items()]
    head = [
        "Usage: oastools COMMAND [FLAGS] FILE|URL|-",
        "",
        "Tools for OpenAPI documents, answered by Commonplace.",
        "",
        "Commands:",
    ]
    return "\n".join(
        [*head, *lines, "", "`oastools COMMAND --help` lists the flags of a command.", ""]
    )


def usage_of(command: str) -> str:
    """Return the help of one command."""
    rows = []
    for flag in COMMANDS[command]:
        names = ", ".join(f"{'-' if len(name) == 1 else '--'}{name}" for name in flag.names)
        text = flag.help + (
            f" Not supported: {flag.refused}" if flag.refused and not flag.accepted else ""
        )
        rows.append((names + (" VALUE" if flag.value else ""), text))
    width = min(40, max((len(row[0]) for row in rows), default=0))
    lines = [f"  {names.ljust(width)}  {text}" for names, text in rows]
    return "\n".join(
        [
            f"Usage: oastools {command} [FLAGS] FILE|URL|-",
            "",
            f"{SUMMARIES[command]}.",
            "",
            "Flags:",
            *lines,
            "",
        ]
    )

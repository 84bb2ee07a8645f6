"""Commands that change a document or generate code; `--check` is for CI."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from commonplace.cli.openapi.output import Check, Output, Yes, write_result
from commonplace.cli.openapi.source import Source, call, mark, spec
from commonplace.cli.printing import JsonFlag, err, out, print_json, say, table
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import JsonObject

Sources = Annotated[list[str], typer.Argument(help="Two or more documents, left to right.")]


class Language(StrEnum):
    GO = "go"
    PYTHON = "python"


def fix(
    source: Source,
    duplicate_operation_ids: Annotated[
        bool, typer.Option("--operation-ids", help="Number duplicate operation ids.")
    ] = False,
    schema_names: Annotated[
        bool, typer.Option("--schema-names", help="Rename generic schema names.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove empty paths and unused schemas.")
    ] = False,
    prune_paths: Annotated[
        bool, typer.Option("--prune-paths", help="Only remove empty paths.")
    ] = False,
    prune_schemas: Annotated[
        bool, typer.Option("--prune-schemas", help="Only remove unused schemas.")
    ] = False,
    stub_missing_refs: Annotated[
        bool, typer.Option("--stub-missing-refs", help="Add stubs for missing reference targets.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the fixes.")] = False,
    in_place: Annotated[
        bool, typer.Option("--in-place", "-i", help="Write to the source file; keeps comments.")
    ] = False,
    output: Output = None,
    yes: Yes = False,
    check: Check = False,
    as_json: JsonFlag = False,
) -> None:
    """Repair common errors of a document.

    Example:
      commonplace oas fix openapi.yaml --prune --in-place
    """
    arguments: JsonObject = {
        "spec": spec(source),
        "fix_duplicate_operationids": duplicate_operation_ids,
        "fix_schema_names": schema_names,
        "prune": prune,
        "prune_paths": prune_paths,
        "prune_schemas": prune_schemas,
        "stub_missing_refs": stub_missing_refs,
        "limit": 1000,
    }
    if in_place and "file" not in arguments["spec"]:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            "--in-place needs a file.",
            hint="Use --output for documents from elsewhere.",
        )
    preview = {"include_document": not as_json or check, "dry_run": True}
    answer = call("oas_fix", arguments | preview)
    if not as_json:
        _print_fixes(answer)
    if dry_run:
        if as_json:
            print_json(answer)
        return
    target = output or (source if in_place else None)
    write_result("oas_fix", arguments, answer, target, yes=yes, check=check, as_json=as_json)


def _print_fixes(answer: JsonObject) -> None:
    for change in answer["fixes"]:
        line = f"{change['type']}: {change['description']} {change['path']}"
        err.print(Text(line), soft_wrap=True)
    say(f"{answer['fix_count']} fixes, {answer['error_count']} errors left")


def convert(
    source: Source,
    target: Annotated[str, typer.Option("--target", "-t", help="2.0, 3.0, 3.1 or 3.2.")],
    strict: Annotated[
        bool, typer.Option("--strict", help="Write nothing and exit with 1 if there is any issue.")
    ] = False,
    output: Output = None,
    yes: Yes = False,
    check: Check = False,
    as_json: JsonFlag = False,
) -> None:
    """Convert a document to another version.

    Exit code 1 with --check if the output file would change.

    Example:
      commonplace oas convert swagger.json --target 3.1 --output openapi.json
    """
    arguments = {"spec": spec(source), "target": target, "limit": 1000}
    answer = call("oas_convert", arguments)
    if not as_json:
        rows = [
            (mark(issue["severity"]), issue["path"], issue["message"])
            for issue in answer["issues"][:50]
        ]
        if rows:
            err.print(table(("", "path", "issue"), rows))
        counts = ", ".join(
            f"{answer[f'{name}_count']} {name}" for name in ("critical", "warning", "info")
        )
        say(f"{answer['source_version']} -> {answer['document_version']}: {counts}")
    if strict and answer["issue_count"]:
        raise typer.Exit(1)
    write_result("oas_convert", arguments, answer, output, yes=yes, check=check, as_json=as_json)


def join(
    sources: Sources,
    paths: Annotated[
        str | None,
        typer.Option("--paths", help="Paths that differ: fail, accept-left, accept-right."),
    ] = None,
    schemas: Annotated[
        str | None,
        typer.Option(
            "--schemas",
            help="Schemas that differ: accept-left, accept-right, fail, rename-right, ...",
        ),
    ] = None,
    semantic_dedup: Annotated[
        bool, typer.Option("--semantic-dedup", help="Merge equal schemas of different names.")
    ] = False,
    output: Output = None,
    yes: Yes = False,
    check: Check = False,
    as_json: JsonFlag = False,
) -> None:
    """Merge documents of one version into one.

    Example:
      commonplace oas join users.yaml orders.yaml --schemas rename-right --output api.yaml
    """
    arguments: JsonObject = {
        "specs": [spec(source) for source in sources],
        "semantic_dedup": semantic_dedup,
    }
    arguments |= {
        name: value
        for name, value in (("path_strategy", paths), ("schema_strategy", schemas))
        if value
    }
    answer = call("oas_join", arguments)
    if not as_json:
        for warning in answer["warnings"]:
            say(warning["message"])
        say(answer["summary"])
    write_result("oas_join", arguments, answer, output, yes=yes, check=check, as_json=as_json)


def bundle(
    source: Source,
    output: Output = None,
    yes: Yes = False,
    check: Check = False,
    as_json: JsonFlag = False,
) -> None:
    """Combine a document that is split over several files into one.

    Example:
      commonplace oas bundle openapi.yaml --output bundled.yaml
    """
    arguments = {"spec": spec(source)}
    answer = call("oas_bundle", arguments)
    if not as_json:
        say(f"{answer['imported_count']} parts from {answer['file_count']} other files")
    write_result("oas_bundle", arguments, answer, output, yes=yes, check=check, as_json=as_json)


def overlay(
    source: Source,
    overlay_file: Annotated[str, typer.Argument(metavar="OVERLAY", help="The Overlay document.")],
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail where a target matches nothing.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what each action matches.")
    ] = False,
    output: Output = None,
    yes: Yes = False,
    check: Check = False,
    as_json: JsonFlag = False,
) -> None:
    """Apply an Overlay (1.0, 1.1) to a document.

    Example:
      commonplace oas overlay openapi.yaml public.overlay.yaml --dry-run
    """
    arguments = {"spec": spec(source), "overlay": spec(overlay_file), "strict": strict}
    answer = call("oas_overlay_apply", {**arguments, "dry_run": dry_run})
    if not as_json:
        rows = [
            (action["action_index"], action["operation"], action["match_count"], action["target"])
            for action in answer["changes"]
        ]
        err.print(table(("action", "does", "matches", "target"), rows))
        say(answer["summary"])
    if dry_run:
        if as_json:
            print_json(answer)
        return
    write_result(
        "oas_overlay_apply", arguments, answer, output, yes=yes, check=check, as_json=as_json
    )


def overlay_validate(
    source: Annotated[str, typer.Argument(metavar="OVERLAY", help="The Overlay document.")],
    as_json: JsonFlag = False,
) -> None:
    """Check an Overlay document. Exit code 1 if it is not valid.

    Example:
      commonplace oas overlay-validate public.overlay.yaml
    """
    answer = call("oas_overlay_validate", {"spec": spec(source)})
    if as_json:
        print_json(answer)
    else:
        rows = [("error", finding["path"], finding["message"]) for finding in answer["errors"]]
        rows += [("warning", finding["path"], finding["message"]) for finding in answer["warnings"]]
        if rows:
            out.print(table(("", "path", "problem"), rows))
        say(
            f"{source}: {'valid' if answer['valid'] else 'not valid'}, {answer['action_count']} "
            f"actions"
        )
    raise typer.Exit(0 if answer["valid"] else 1)


def generate(
    source: Source,
    output_dir: Annotated[str, typer.Option("--output-dir", "-o", help="Folder for the files.")],
    language: Annotated[
        Language, typer.Option("--language", "-l", help="go or python.")
    ] = Language.GO,
    package: Annotated[str, typer.Option("--package", "-p", help="Package name.")] = "api",
    client: Annotated[bool, typer.Option("--client/--no-client", help="Generate a client.")] = True,
    server: Annotated[
        bool, typer.Option("--server/--no-server", help="Generate a server interface (Go).")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if there are warnings.")
    ] = False,
    check: Check = False,
    as_json: JsonFlag = False,
) -> None:
    """Generate code.

    Example:
      commonplace oas generate openapi.yaml --output-dir internal/api --server
    """
    arguments = {
        "spec": spec(source),
        "language": language.value,
        "package_name": package,
        "client": client,
        "server": server,
    }
    if check:
        generated = call("oas_generate", {**arguments, "include_files": True})
        stale = [
            file["name"]
            for file in generated["files"]
            if _differs(Path(output_dir) / file["name"], file["content"])
        ]
        for name in stale:
            say(f"{name} is out of date")
        raise typer.Exit(1 if stale else 0)
    answer = call("oas_generate", {**arguments, "output_dir": output_dir})
    if as_json:
        print_json(answer)
        return
    for warning in answer.get("warnings", []):
        say(f"{warning['severity']}: {warning['path']}: {warning['message']}")
    out.print(table(("file", "bytes"), [(file["name"], file["size"]) for file in answer["files"]]))
    say(
        f"{answer['generated_types']} types, {answer['generated_operations']} operations in "
        f"{answer['output_dir']}"
    )
    if strict and answer.get("warnings"):
        raise typer.Exit(1)


def _differs(path: Path, content: str) -> bool:
    try:
        return path.read_text() != content
    except OSError:
        return True

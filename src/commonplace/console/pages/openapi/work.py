"""The tabs that make something of a document: compare, fix, convert, join, overlay, generate."""

from __future__ import annotations

from commonplace.console.page import Page
from commonplace.console.pages.openapi import examples
from commonplace.console.pages.openapi.changes import group_changes, place_of, write_report
from commonplace.console.pages.openapi.panels import (
    ROWS,
    FillPanel,
    Panel,
    show_findings,
    show_parts,
    show_source,
)
from commonplace.console.pages.openapi.view import DocumentSource, View
from commonplace.console.pages.openapi.walks import WALKS
from commonplace.kernel.json_types import JsonObject

CHANGES = 100
FIXES = (
    ("fix_duplicate_operationids", "Number duplicate operation ids"),
    ("fix_schema_names", "Rename generic schema names such as Response[User]"),
    ("prune_paths", "Remove paths without operations"),
    ("prune_schemas", "Remove schemas that nothing refers to"),
    ("stub_missing_refs", "Make stubs for missing references"),
)
VERSIONS = ("2.0", "3.0", "3.1", "3.2")
PATH_STRATEGIES = ("fail", "accept-left", "accept-right")
SCHEMA_STRATEGIES = (
    "accept-left",
    "accept-right",
    "fail",
    "rename-left",
    "rename-right",
    "deduplicate",
    "deduplicate-or-rename",
)
LANGUAGES = (("go", "Go"), ("python", "Python"))


async def compare(page: Page, view: View) -> Panel:
    """Report what a newer document changes, worst first."""
    other = view.other
    if not other.is_given:
        return Panel("compare", {"found": None})
    answer = await page.call(
        "oas_diff",
        {
            "base": view.source.spec,
            "revision": other.spec,
            "breaking_only": view.flag("breaking"),
            "no_info": view.flag("no_info"),
            "limit": CHANGES,
            "offset": (view.page - 1) * CHANGES,
        },
    )
    if answer.error is not None:
        return Panel("compare", {"found": None}, error=answer.error)
    found = answer.output
    total = found["breaking_count"] if view.flag("breaking") else found["total_changes"]
    values = {
        "found": found,
        "groups": group_changes(found["changes"]),
        "report": write_report(found),
        "total": total,
        "size": CHANGES,
    }
    return Panel("compare", values, found, document=write_report(found))


async def fix(page: Page, view: View) -> Panel:
    """Preview the repairs of a document, with the document that would result."""
    arguments: JsonObject = {
        "spec": view.source.spec,
        "include_document": True,
        "limit": ROWS,
        "offset": (view.page - 1) * ROWS,
        **{name: view.flag(name) for name, _ in FIXES},
    }
    answer = await page.call("oas_fix", arguments)
    if answer.error is not None:
        return Panel("fix", {"found": None, "fixes": FIXES}, error=answer.error)
    found = answer.output
    values = {"found": found, "fixes": FIXES, "total": found["fix_count"], "size": ROWS}
    return Panel("fix", values, found, document=found.get("document"))


async def convert(page: Page, view: View) -> Panel:
    """Convert a document to another version."""
    target = view.text("target")
    values: JsonObject = {"found": None, "versions": VERSIONS}
    if not target:
        return Panel("convert", values)
    arguments = {
        "spec": view.source.spec,
        "target": target,
        "limit": ROWS,
        "offset": (view.page - 1) * ROWS,
    }
    answer = await page.call("oas_convert", arguments)
    if answer.error is not None:
        return Panel("convert", values, error=answer.error)
    found = answer.output
    values |= {"found": found, "total": found["issue_count"], "size": ROWS}
    return Panel("convert", values, found, document=found.get("document"))


async def join(page: Page, view: View) -> Panel:
    """Merge a document with others."""
    names = view.text("other").replace(",", " ").split()
    others = view.others or [DocumentSource(name) for name in names]
    values: JsonObject = {
        "found": None,
        "path_strategies": PATH_STRATEGIES,
        "schema_strategies": SCHEMA_STRATEGIES,
    }
    if not others:
        return Panel("join", values)
    arguments: JsonObject = {"specs": [view.source.spec, *(other.spec for other in others)]}
    for name in ("path_strategy", "schema_strategy"):
        if view.text(name):
            arguments[name] = view.text(name)
    if view.flag("semantic_dedup"):
        arguments["semantic_dedup"] = True
    answer = await page.call("oas_join", arguments)
    if answer.error is not None:
        return Panel("join", values, error=answer.error)
    values["found"] = answer.output
    return Panel("join", values, answer.output, document=answer.output.get("document"))


async def overlay(page: Page, view: View) -> Panel:
    """Preview what each action of an overlay matches, or apply it."""
    other = view.other
    values: JsonObject = {"found": None, "example": examples.OVERLAY}
    if not other.is_given:
        return Panel("overlay", values)
    arguments = {
        "spec": view.source.spec,
        "overlay": other.spec,
        "dry_run": not view.flag("apply"),
        "strict": view.flag("strict"),
    }
    answer = await page.call("oas_overlay_apply", arguments)
    if answer.error is not None:
        return Panel("overlay", values, error=answer.error)
    found = answer.output
    values["found"] = found
    values["rows"] = [
        {**change, "action_index": change["action_index"] + 1} for change in found["changes"]
    ]
    return Panel("overlay", values, found, document=found.get("document"))


async def generate(page: Page, view: View) -> Panel:
    """Generate types, client and server."""
    values: JsonObject = {"found": None, "languages": LANGUAGES}
    if not view.text("package"):
        return Panel("generate", values)
    language = view.text("language") if view.text("language") in dict(LANGUAGES) else "go"
    arguments = {
        "spec": view.source.spec,
        "output_dir": "",
        "include_files": True,
        "language": language,
        "package_name": view.text("package"),
        "client": view.flag("client"),
        "server": view.flag("server") and language == "go",
    }
    answer = await page.call("oas_generate", arguments)
    if answer.error is not None:
        return Panel("generate", values, error=answer.error)
    found = answer.output
    warnings = [
        f"{place_of(str(warning['path']))}: {warning['message']}"
        for warning in found.get("warnings", ())[:20]
    ]
    values |= {"found": found, "files": found.get("files") or [], "warnings": warnings}
    return Panel("generate", values, found)


FILL: dict[str, FillPanel] = {
    "findings": show_findings,
    "source": show_source,
    "compare": compare,
    "fix": fix,
    "convert": convert,
    "join": join,
    "overlay": overlay,
    "generate": generate,
    **dict.fromkeys(WALKS, show_parts),
}

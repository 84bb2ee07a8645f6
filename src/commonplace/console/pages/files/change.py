"""Change the text of files: edit over the version that was read, make a file, append."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import unified_diff
from itertools import islice

from starlette.responses import Response

from commonplace.console.caller import CallError
from commonplace.console.flash import Flash
from commonplace.console.form_data import FormData
from commonplace.console.page import Page, PageRoute
from commonplace.console.pages.files.content import is_editable
from commonplace.console.pages.files.line_ends import describe_line_ends, restore_line_ends
from commonplace.console.pages.files.places import Place, read_place, tidy_path
from commonplace.dispatch.transfer import Reply, run_async, write_in_parts
from commonplace.kernel.json_types import Json, JsonObject

CHANGED = "CONTENT_CHANGED"
NEW_DRAFT = "file new"
MAX_DIFF_LINES = 4000  # of each text
MAX_SHOWN_DIFF = 800


async def edit(page: Page) -> Response:
    """Show the editor of a file."""
    place = read_place(page)
    read = await page.ask("file_read", place.arguments)
    if not is_editable(read["content"], read["size"]):
        return page.redirect(
            "/files",
            Flash("This file cannot be edited here: it is too large or not plain text.", "warn"),
            **place.arguments,
        )
    return _show_editor(page, place, str(read["content"]), str(read["content_hash"]))


async def save(page: Page) -> Response:
    """Store an edited text, unless somebody else changed the file meanwhile."""
    form = await page.form()
    place, text, base = _place_of(form), form.text("text"), form.text("hash")
    stored = await page.call("file_read", place.arguments)
    before = str(stored.output["content"]) if stored.ok else ""
    reply = await write(page, place, restore_line_ends(before, text), if_match=base)
    if reply.error is None:
        flash = Flash(f"Saved {place.path}.", saved_draft=place.draft)
        return page.redirect("/files", flash, **place.arguments)
    if reply.error.get("code") != CHANGED:
        return _show_editor(page, place, text, base, error=reply.error, status=422)
    if not stored.ok:
        return _show_editor(page, place, text, "", conflict={"missing": True}, status=409)
    conflict = {"missing": False, "stored": before, "diff": compare(before, text)}
    current = str(stored.output["content_hash"])
    return _show_editor(page, place, text, current, conflict=conflict, status=409)


def _show_editor(
    page: Page,
    place: Place,
    text: str,
    content_hash: str,
    error: CallError | None = None,
    conflict: JsonObject | None = None,
    status: int = 200,
) -> Response:
    return page.render(
        "pages/files/edit.html",
        status,
        place=place,
        text=text,
        content_hash=content_hash,
        line_ends=describe_line_ends(text),
        error=error,
        conflict=conflict,
    )


def compare(stored: str, edited: str) -> list[str] | None:
    """Return a diff from the stored text to the edited one; None if they are too long for it."""
    before, after = stored.splitlines(), edited.splitlines()
    if max(len(before), len(after)) > MAX_DIFF_LINES:
        return None
    lines = unified_diff(before, after, "stored now", "your text", lineterm="")
    return list(islice(lines, MAX_SHOWN_DIFF))


async def start_new(page: Page) -> Response:
    """Show the form of a new file."""
    project, folder = page.query("project"), tidy_path(page.query("path"))
    path = f"{folder}/new.md" if page.query("name") == "" else f"{folder}/{page.query('name')}"
    return await _show_new(page, project, path, "")


async def create(page: Page) -> Response:
    """Make a file, unless there is one with this path."""
    form = await page.form()
    place, text = (
        Place(form.text("project").strip(), tidy_path(form.text("path"))),
        form.text("text"),
    )
    reply = await write(page, place, text, if_match="")
    if reply.error is None:
        flash = Flash(f"Created {place.path}.", saved_draft=NEW_DRAFT)
        return page.redirect("/files", flash, **place.arguments)
    error = reply.error
    if error.get("code") == CHANGED:
        error = {
            "code": "ALREADY_EXISTS",
            "message": f"{place.path} exists already.",
            "hint": "Choose another path, or open the file and edit it.",
        }
    return await _show_new(page, place.project, place.path, text, error)


async def _show_new(
    page: Page, project: str, path: str, text: str, error: Mapping[str, Json] | None = None
) -> Response:
    found = await page.ask("file_projects", {})
    return page.render(
        "pages/files/new.html",
        200 if error is None else 422,
        place=Place(project, path),
        projects=[entry["project"] for entry in found["projects"]],
        text=text,
        error=error,
        draft=NEW_DRAFT,
    )


async def start_append(page: Page) -> Response:
    """Show the form that adds a text to the end of a file."""
    return _show_append(page, read_place(page), "", None)


async def append(page: Page) -> Response:
    """Add a text to the end of a file, with the file's line ends."""
    form = await page.form()
    place, text = _place_of(form), form.text("text")
    tail = await page.call("file_read", place.arguments)
    ended = restore_line_ends(str(tail.output["content"]), text) if tail.ok else text
    arguments = {**place.arguments, "content": ended, "mode": "APPEND"}
    reply = await run_async(write_in_parts(arguments), page.call)
    if reply.error is not None:
        return _show_append(page, place, text, reply.error)
    flash = Flash(
        f"Appended {reply.output['bytes_written']:,} bytes to {place.path}.",
        saved_draft=f"append {place.draft}",
    )
    return page.redirect("/files", flash, **place.arguments)


def _show_append(page: Page, place: Place, text: str, error: Mapping[str, Json] | None) -> Response:
    status = 200 if error is None else 422
    return page.render("pages/files/append.html", status, place=place, text=text, error=error)


async def write(page: Page, place: Place, text: str, if_match: str, source: str = "") -> Reply:
    """Store a whole text, in parts if it is long."""
    arguments = {**place.arguments, "content": text, "mode": "TRUNCATE", "if_match": if_match}
    if source and source != place.path:
        arguments["source_path"] = source
    return await run_async(write_in_parts(arguments), page.call)


def _place_of(form: FormData) -> Place:
    return Place(form.text("project"), tidy_path(form.text("path")))


ROUTES = (
    PageRoute("/files/edit", edit),
    PageRoute("/files/edit", save, methods=("POST",)),
    PageRoute("/files/new", start_new),
    PageRoute("/files/new", create, methods=("POST",)),
    PageRoute("/files/append", start_append),
    PageRoute("/files/append", append, methods=("POST",)),
)

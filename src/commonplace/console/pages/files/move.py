"""Rename, delete and restore files and folders; the list of deleted files."""

from __future__ import annotations

from starlette.responses import Response

from commonplace.console.flash import Flash, Undo
from commonplace.console.page import Page, PageRoute
from commonplace.console.pages.files.places import Place, read_place, tidy_path
from commonplace.console.rendering import format_count, url

DELETED_ENTRIES = 50


async def start_rename(page: Page) -> Response:
    """Show the form that renames or moves a file or folder."""
    place = read_place(page)
    return page.render(
        "pages/files/rename.html", place=place, target=place.path, overwrite=False, error=None
    )


async def rename(page: Page) -> Response:
    """Move a file or folder to another path of its project."""
    form = await page.form()
    place = Place(form.text("project"), tidy_path(form.text("path")))
    target, overwrite = tidy_path(form.text("new_path")), form.has("overwrite")
    if target == place.path:
        return page.redirect("/files", **place.arguments)
    answer = await page.call(
        "file_rename", {**place.arguments, "new_path": target, "overwrite": overwrite}
    )
    if answer.error is not None:
        return page.render(
            "pages/files/rename.html",
            422,
            place=place,
            target=target,
            overwrite=overwrite,
            error=answer.error,
        )
    undo = None
    if not overwrite:
        fields = {"project": place.project, "path": target, "new_path": place.path}
        undo = Undo(url("/files/rename"), fields)
    flash = Flash(
        f"Renamed {place.path} to {target}.", undo=undo, saved_draft=f"rename {place.draft}"
    )
    return page.redirect("/files", flash, project=place.project, path=target)


async def delete(page: Page) -> Response:
    """Delete a file, or a folder with everything in it."""
    form = await page.form()
    place = Place(form.text("project"), tidy_path(form.text("path")))
    answer = await page.call("file_delete", {**place.arguments, "recursive": form.has("recursive")})
    if answer.error is not None:
        flash = Flash(str(answer.error["message"]), "bad")
        return page.redirect("/files", flash, **place.arguments)
    count = format_count(answer.output["deleted"], "file")
    undo = Undo(url("/files/restore"), place.arguments)
    flash = Flash(f"Deleted {place.path} ({count}).", undo=undo)
    folder = await _nearest_folder(page, place)
    return page.redirect("/files", flash, **folder.arguments)


async def _nearest_folder(page: Page, place: Place) -> Place:
    """Return the folder of a deleted file, or the one above it that still exists."""
    for folder in reversed(place.parents()[1:]):
        stat = await page.ask("file_stat", folder.arguments)
        if stat["exists"]:
            return folder
    return place.at("")


async def restore(page: Page) -> Response:
    """Bring back the newest deleted version of a file or folder."""
    form = await page.form()
    place = Place(form.text("project"), tidy_path(form.text("path")))
    answer = await page.call("file_restore", place.arguments)
    if answer.error is not None:
        hint = str(answer.error.get("hint") or "")
        flash = Flash(f"{answer.error['message']} {hint}".strip(), "bad")
        return page.redirect("/files/deleted", flash, project=place.project)
    return page.redirect("/files", Flash(f"Restored {place.path}."), **place.arguments)


async def show_deleted(page: Page) -> Response:
    """List the deleted files of a project that can be restored, newest first."""
    place, number = read_place(page), page.number("page", 1)
    found = await page.ask(
        "file_deleted",
        {
            "project": place.project,
            "limit": DELETED_ENTRIES,
            "offset": (number - 1) * DELETED_ENTRIES,
        },
    )
    return page.render(
        "pages/files/deleted.html",
        place=place,
        files=found["files"],
        newer=place.address("deleted", page=number - 1) if number > 1 else "",
        older=place.address("deleted", page=number + 1) if found["has_more"] else "",
    )


ROUTES = (
    PageRoute("/files/rename", start_rename),
    PageRoute("/files/rename", rename, methods=("POST",)),
    PageRoute("/files/delete", delete, methods=("POST",)),
    PageRoute("/files/restore", restore, methods=("POST",)),
    PageRoute("/files/deleted", show_deleted),
)

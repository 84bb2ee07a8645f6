"""Stored documents: pick one of a project, store a pasted one."""

from __future__ import annotations

from urllib.parse import unquote

from starlette.responses import Response

from commonplace.console.caller import CallError
from commonplace.console.flash import Flash
from commonplace.console.page import Page, PageRoute
from commonplace.console.pages.openapi.view import MAX_SHOWN_CHARS, read_posted_view
from commonplace.console.pages.openapi.workbench import DRAFT
from commonplace.console.rendering import url
from commonplace.dispatch.transfer import run_async, write_in_parts
from commonplace.kernel.ref import stored_file

LOOKS_LIKE_A_DOCUMENT = r'^\s*"?(openapi|swagger)"?\s*:'
MAX_FOUND = 100


async def pick(page: Page) -> Response:
    """List the stored documents of a project."""
    found = await page.ask("file_projects", {})
    projects = [entry["project"] for entry in found["projects"]]
    project = page.query("project") or (projects[0] if projects else "")
    answer = None
    rows: list[dict[str, str]] = []
    if project:
        answer = await page.call(
            "file_grep",
            {"project": project, "pattern": LOOKS_LIKE_A_DOCUMENT, "limit": MAX_FOUND},
        )
        matches = answer.output["matches"] if answer.ok else []
        paths = dict.fromkeys(match["file_path"] for match in matches)
        rows = [
            {"path": path, "href": url("/openapi", ref=str(stored_file(project, path)))}
            for path in paths
        ]
    return page.render(
        "pages/openapi/pick.html",
        projects=projects,
        project=project,
        error=answer.error if answer is not None else None,
        rows=rows,
    )


async def store(page: Page) -> Response:
    """Store a pasted document as a file, unless there is one with this name."""
    form = await page.form()
    view = await read_posted_view(form)
    name = form.text("store_as").strip()
    project, _, path = unquote(name.removeprefix("file:")).strip("/").partition("/")
    error: CallError | None = None
    if not view.source.is_given or view.problem:
        error = {"code": "SPEC_INPUT", "message": view.problem or "There is no document to store."}
    else:
        arguments = {
            "project": project,
            "path": f"/{path}",
            "content": view.source.text or "",
            "mode": "TRUNCATE",
            "if_match": "",
        }
        error = (await run_async(write_in_parts(arguments), page.call)).error
        if error is not None and error.get("code") == "CONTENT_CHANGED":
            error = {
                "code": "ALREADY_EXISTS",
                "message": f"{name} exists already.",
                "hint": "Choose another name, or delete the file on the page Files.",
            }
    if error is None:
        ref = str(stored_file(project, f"/{path}"))
        return page.redirect("/openapi", Flash(f"Stored {ref}.", saved_draft=DRAFT), ref=ref)
    text = view.source.shown_text
    return page.render(
        "pages/openapi/store.html",
        422,
        text=text,
        name=name,
        error=error,
        draft=DRAFT,
        is_large=len(view.source.text or "") > MAX_SHOWN_CHARS,
    )


ROUTES = (
    PageRoute("/openapi/pick", pick),
    PageRoute("/openapi/store", store, methods=("POST",)),
)

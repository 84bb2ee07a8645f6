"""The page Files: projects, a folder, a file, or what a search found."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from commonplace.console.errors import PageNotFound
from commonplace.console.page import Page, PageRoute
from commonplace.console.pages.files.content import (
    Window,
    is_editable,
    is_markdown,
    language_of,
    read_window,
)
from commonplace.console.pages.files.line_ends import describe_line_ends
from commonplace.console.pages.files.places import Place, read_place
from commonplace.console.pages.files.search import MODES, read_request, search
from commonplace.console.pages.files.state import read_state
from commonplace.console.pages.files.tree import DIRECTORY, read_level, read_tree
from commonplace.console.rendering import url
from commonplace.kernel.json_types import JsonObject

PROJECT_COLUMNS = (
    {"key": "project", "title": "Project", "kind": "id"},
    {"key": "files", "title": "Files", "kind": "num"},
    {"key": "size", "title": "Size", "kind": "num"},
)


async def show(page: Page) -> Response:
    """Show the place that the address names."""
    if not page.query("project"):
        return await _show_projects(page)
    place = read_place(page)
    request = read_request(page)
    if request.query and not place.path:
        result, common = await asyncio.gather(
            search(page, place, request), _common_values(page, place)
        )
        return page.render("pages/files/found.html", result=result, **common)
    stat = await page.ask("file_stat", place.arguments)
    if not stat["exists"] and place.path:
        raise PageNotFound(
            f"There is no file or folder {place.path} in the project {place.project}.",
            "It may have been renamed or deleted: look at the deleted files of the project.",
        )
    if place.path and stat["type"] != DIRECTORY:
        return await _show_file(page, place, stat)
    return await _show_folder(page, place)


async def _show_projects(page: Page) -> Response:
    found = await page.ask("file_projects", {})
    projects = found["projects"]
    if len(projects) == 1 and not page.query("q"):
        return page.redirect("/files", project=projects[0]["project"])
    rows = [
        {
            "project": project["project"],
            "href": url("/files", project=project["project"]),
            "files": f"{project['files']:,}",
            "size": page.parts.environment.filters["size"](project["size_bytes"]),
        }
        for project in projects
    ]
    return page.render("pages/files/projects.html", columns=PROJECT_COLUMNS, rows=rows)


async def _show_folder(page: Page, place: Place) -> Response:
    after = page.query("after")
    level, tree, common = await asyncio.gather(
        read_level(page, place, after),
        read_tree(page, place, is_folder=True),
        _common_values(page, place),
    )
    return page.render(
        "pages/files/folder.html",
        entries=[_with_address(place, entry) for entry in level["entries"]],
        next_after=level["next"],
        after=after,
        tree=tree,
        confirm=page.query("confirm"),
        **common,
    )


async def _show_file(page: Page, place: Place, stat: JsonObject) -> Response:
    span = _read_span(page)
    window, tree, common = await asyncio.gather(
        read_window(page, place, page.number("offset", 0, least=0), span),
        read_tree(page, place, is_folder=False),
        _common_values(page, place),
    )
    return page.render(
        "pages/files/file.html",
        stat=stat,
        tree=tree,
        confirm=page.query("confirm"),
        **file_values(page, place, window),
        **common,
    )


def file_values(page: Page, place: Place, window: Window) -> JsonObject:
    """Return what the part of the page needs that shows a file's text."""
    has_rendered = is_markdown(place) and window.is_whole
    return {
        "window": window,
        "language": language_of(place, window.text),
        "line_ends": describe_line_ends(window.text),
        "editable": window.is_whole and is_editable(window.text, window.size),
        "has_rendered": has_rendered,
        "is_rendered": has_rendered and page.query("look") == "rendered",
    }


async def _common_values(page: Page, place: Place) -> JsonObject:
    projects, state = await asyncio.gather(page.ask("file_projects", {}), read_state(page, place))
    return {
        "place": place,
        "state": state,
        "known_files": state.usage["files"],
        "projects": [project["project"] for project in projects["projects"]],
        "request": read_request(page),
        "modes": MODES,
    }


def _with_address(place: Place, entry: JsonObject) -> JsonObject:
    is_folder = entry["type"] == DIRECTORY
    return {**entry, "is_folder": is_folder, "href": place.at(entry["path"]).address()}


def _read_span(page: Page) -> tuple[int, int] | None:
    start, end = page.number("start", -1, least=0), page.number("end", 0, least=0)
    return (start, end) if page.query("start") and start < end else None


async def show_branch(page: Page) -> Response:
    """Return one level of the tree as a part, for a folder that is opened in place."""
    place = read_place(page)
    level = await read_level(page, place)
    entries = [_with_address(place, entry) for entry in level["entries"]]
    return page.render(
        "pages/files/branch.html", place=place, entries=entries, next_after=level["next"]
    )


ROUTES = (PageRoute("/files", show), PageRoute("/files/branch", show_branch))

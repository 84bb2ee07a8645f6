"""Find pages, tools and content: the page behind Ctrl+K, and its results as a part.

The groups are asked at the same time, each within a bound. A group that fails or is late is
named with the reason, and the others are shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from starlette.responses import Response

from commonplace.console.errors import CallFailed
from commonplace.console.page import NAVIGATION, Page, PageRoute
from commonplace.console.rendering import quote_path, url
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.ref import RefKind

MAX_PER_GROUP = 6
MAX_EVERYWHERE = 12  # passages, often several of one file
MAX_QUERY = 200
MAX_NOTE = 120
PALETTE_SECONDS = 0.25
PAGE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Finding:
    """A place that the palette leads to."""

    title: str
    address: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """Findings of one kind, or the reason why there are none."""

    title: str
    findings: Sequence[Finding] = ()
    problem: str = ""
    is_late: bool = False


Search = Callable[[Page, str], Coroutine[object, object, list[Finding]]]


async def show(page: Page) -> Response:
    """Show what matches, as a page or as the part that the palette shows."""
    query = page.query("q")[:MAX_QUERY]
    is_part = bool(page.query("part"))
    groups = await find(page, query, PALETTE_SECONDS if is_part else PAGE_SECONDS)
    template = "pages/find_results.html" if is_part else "pages/find.html"
    return page.render(template, query=query, project=page.query("project"), groups=groups)


async def find(page: Page, query: str, seconds: float) -> list[FindingGroup]:
    """Return the groups that have findings or a problem."""
    wanted = query.lower()
    pages = [
        Finding(item.title, url(item.path)) for item in NAVIGATION if wanted in item.title.lower()
    ]
    groups = [FindingGroup("Pages", pages)]
    if query:
        groups += await asyncio.gather(
            *(_search(page, query, title, search, seconds) for title, search in SEARCHES)
        )
        groups.append(FindingGroup("Search on a page", _search_pages(page, query)))
    return [group for group in groups if group.findings or group.problem]


async def _search(
    page: Page, query: str, title: str, search: Search, seconds: float
) -> FindingGroup:
    task = asyncio.create_task(search(page, query))
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if not done:
            _leave_running(task)
            is_palette = seconds == PALETTE_SECONDS  # which asks again by itself
            problem = (
                "Still searching…" if is_palette else "No answer yet. Press Show to ask again."
            )
            return FindingGroup(title, problem=problem, is_late=True)
        return FindingGroup(title, task.result()[:MAX_PER_GROUP])
    except CallFailed as failed:
        return FindingGroup(title, problem=str(failed.error.get("message")))
    except CommonplaceError as failed:
        return FindingGroup(title, problem=failed.message)


_RUNNING: set[asyncio.Task[list[Finding]]] = set()


def _leave_running(task: asyncio.Task[list[Finding]]) -> None:
    """Let a late search end: it fills caches, so that the next one is quick."""

    def forget(ended: asyncio.Task[list[Finding]]) -> None:
        _RUNNING.discard(ended)
        if not ended.cancelled():
            ended.exception()

    _RUNNING.add(task)
    task.add_done_callback(forget)


async def _find_tools(page: Page, query: str) -> list[Finding]:
    wanted = query.lower()
    names = [tool for tool in await page.caller.tools() if wanted in tool["name"].lower()]
    return [
        Finding(tool["name"], url(f"/tools/{quote_path(tool['name'])}"), tool.get("title", ""))
        for tool in names
    ]


async def _find_instructions(page: Page, query: str) -> list[Finding]:
    found = await page.ask("instructions_search", {"q": query, "limit": MAX_PER_GROUP})
    return [
        Finding(item["title"], url(f"/instructions/{quote_path(item['id'])}"), item["id"])
        for item in found["items"]
    ]


async def _find_memories(page: Page, query: str) -> list[Finding]:
    found = await page.ask("rekall_search", {"query": query, "limit": MAX_PER_GROUP})
    return [
        Finding(entry["title"], url(f"/memory/{quote_path(entry['id'])}"), entry["type"])
        for entry in found["results"]
    ]


async def _find_files(page: Page, query: str) -> list[Finding]:
    project = await _known_project(page)
    if not project:
        return await _find_everywhere(page, query, RefKind.FILE)
    arguments = {"project": project, "query": query, "limit": MAX_PER_GROUP}
    found = await page.ask("file_search", arguments)
    places: dict[str, Finding] = {}
    for chunk in found["chunks"]:
        path = chunk["file_path"]
        note = " ".join(chunk["chunk_content"].split())[:MAX_NOTE]
        address = url("/files", project=project, path=path, q=query)
        places.setdefault(path, Finding(path, address, note))
    return list(places.values())


async def _find_operations(page: Page, query: str) -> list[Finding]:
    return await _find_everywhere(page, query, RefKind.OPENAPI)


async def _find_everywhere(page: Page, query: str, kind: RefKind) -> list[Finding]:
    """Search all projects; the passages of a file are one finding."""
    arguments = {"query": query, "kinds": [kind], "limit": MAX_EVERYWHERE}
    found = await page.ask("search_all", arguments)
    places: dict[str, Finding] = {}
    for item in found["results"]:
        place = str(item["ref"]).partition("#")[0] if kind is RefKind.FILE else str(item["ref"])
        title = unquote(place.removeprefix(f"{kind}:")) if kind is RefKind.FILE else item["title"]
        note = " ".join(str(item["snippet"]).split())[:MAX_NOTE]
        places.setdefault(place, Finding(title, url("/open", ref=item["ref"]), note))
    return list(places.values())


async def _known_project(page: Page) -> str:
    """Return the project of the page that the person looks at, or the only one there is."""
    if named := page.query("project"):
        return named
    projects: Any = (await page.ask("file_projects", {}))["projects"]
    return str(projects[0]["project"]) if len(projects) == 1 else ""


def _search_pages(page: Page, query: str) -> list[Finding]:
    """Return the pages that search everything, for what the palette does not show."""
    title = f"Search for “{query}”"
    found = [
        Finding(title, url("/instructions", q=query), "Instructions"),
        Finding(title, url("/memory", q=query), "Memory"),
    ]
    if project := page.query("project"):
        found.insert(1, Finding(title, url("/files", project=project, q=query), "Files"))
    return found


SEARCHES: tuple[tuple[str, Search], ...] = (
    ("Tools", _find_tools),
    ("Instructions", _find_instructions),
    ("Files", _find_files),
    ("Memory", _find_memories),
    ("API operations", _find_operations),
)
ROUTES = (PageRoute("/find", show),)

"""The overview as a page, and as a stream of its parts while it is open."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from commonplace.console.caller import Answer
from commonplace.console.charts import Point, line_chart
from commonplace.console.live import stream_parts
from commonplace.console.page import Page, PageRoute
from commonplace.console.pages.audit.records import RecordRow, make_rows
from commonplace.console.pages.overview.figures import (
    content_figures,
    find_problems,
    list_caches,
    make_charts,
    make_latency_bars,
    status_figures,
    waiting_files,
)
from commonplace.console.rendering import render
from commonplace.kernel.clock import utc_now

RECENT = 8
SLOW_ROUNDS = 3  # stored contents change less often than counters
MAX_WAITING_POINTS = 450
PARTS = ("figures", "problems", "charts", "caches", "recent")
QUESTIONS: Mapping[str, Mapping[str, Any]] = {
    "instructions_list": {"limit": 1},
    "file_projects": {},
    "memory_list": {"limit": 1},
    "file_index_status": {},
    "audit_query": {"limit": RECENT},
}


@dataclass(frozen=True, slots=True)
class Contents:
    """Answers about what is stored."""

    answers: Mapping[str, Answer]

    def output(self, tool: str) -> Any:
        """Return the output of a tool, or None if it failed."""
        return self.answers[tool].output

    @property
    def records(self) -> list[RecordRow] | None:
        """The latest records of the audit trail; None if this person may not see them."""
        found = self.output("audit_query")
        return None if found is None else make_rows(found["records"])


async def show(page: Page) -> Response:
    """Show the overview."""
    contents, values = await asyncio.gather(_ask_contents(page), _ask_status(page))
    return page.render("pages/overview/page.html", parts=PARTS, **_values(contents, values, []))


async def stream(page: Page) -> Response:
    """Send the parts of the overview whenever they change."""
    contents: Contents | None = None
    rounds = 0
    waiting: list[Point] = []

    async def render_parts() -> Mapping[str, str]:
        nonlocal contents, rounds
        if contents is None or rounds % SLOW_ROUNDS == 0:
            contents = await _ask_contents(page)
            index = contents.output("file_index_status")
            if index is not None:
                waiting.append((utc_now().timestamp(), waiting_files(index)))
                del waiting[:-MAX_WAITING_POINTS]
        rounds += 1
        values = _values(contents, await _ask_status(page), waiting)
        return {
            part: render(page.parts.environment, f"pages/overview/{part}.html", values)
            for part in PARTS
        }

    return stream_parts(page, render_parts)


async def _ask_contents(page: Page) -> Contents:
    answers = await asyncio.gather(
        *(page.call(tool, arguments) for tool, arguments in QUESTIONS.items())
    )
    return Contents(dict(zip(QUESTIONS, answers, strict=True)))


async def _ask_status(page: Page) -> tuple[Answer, Answer]:
    status = await page.call("server_status", {})
    return status, await page.call("metrics_snapshot", {})


def _values(
    contents: Contents, asked: tuple[Answer, Answer], waiting: list[Point]
) -> dict[str, Any]:
    """Return the values of all parts."""
    status, metrics = asked
    now = utc_now()
    index = contents.output("file_index_status")
    stored = content_figures(
        contents.output("instructions_list"),
        contents.output("file_projects"),
        contents.output("memory_list"),
        index,
    )
    error = status.error or metrics.error
    if error is not None:
        return {
            "error": error,
            "figures": stored,
            "problems": [],
            "charts": [],
            "latency": [],
            "caches": None,
            "records": contents.records,
        }
    methods = metrics.output["methods"]
    charts = make_charts(status.output, now)
    if len(waiting) > 1:
        begin, end = waiting[0][0], waiting[-1][0]
        span = ("page opened", "now")
        title = "Files waiting for the search index"
        charts.append(line_chart(title, {"waiting": waiting}, begin, end, span=span))
    return {
        "error": None,
        "figures": [*status_figures(status.output, methods), *stored],
        "problems": find_problems(status.output, methods, index, now),
        "charts": charts,
        "latency": make_latency_bars(methods),
        "caches": list_caches(status.output),
        "records": contents.records,
    }


ROUTES = (PageRoute("/", show), PageRoute("/live/overview", stream))

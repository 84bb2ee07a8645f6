"""The toolset `context`: its names, without the imports of its tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from commonplace.dispatch.registry import Toolset

if TYPE_CHECKING:
    from commonplace.context.capture.service import CaptureService
    from commonplace.context.finding.opening import OpenRefService
    from commonplace.context.finding.searching import SearchAllService
    from commonplace.context.service import ContextService
    from commonplace.context.tools.hook import Deliveries
    from commonplace.dispatch.tool import Tool
    from commonplace.kernel.errors import Code

NAMES = frozenset(
    {
        "capture_accept",
        "capture_edit",
        "capture_list",
        "capture_reject",
        "capture_show",
        "capture_transcript",
        "context",
        "context_feedback",
        "hook_context",
        "open_ref",
        "search_all",
    }
)


def toolset(
    service: Callable[[], ContextService],
    deliveries: Deliveries,
    searching: Callable[[], SearchAllService],
    opening: Callable[[], OpenRefService],
    capture: Callable[[], CaptureService],
) -> Toolset:
    """Return the toolset; services are asked for when they are first needed.

    `deliveries` returns what answers the hooks of a caller.
    """

    def load() -> Sequence[Tool]:
        from commonplace.context.tools.capture import capture_tools
        from commonplace.context.tools.context import context_tool
        from commonplace.context.tools.feedback import feedback_tool
        from commonplace.context.tools.hook import hook_tool
        from commonplace.context.tools.open_ref import open_ref_tool
        from commonplace.context.tools.search_all import search_all_tool

        built = service()
        return (
            context_tool(built),
            search_all_tool(searching),
            open_ref_tool(opening),
            feedback_tool(built),
            hook_tool(built, deliveries),
            *capture_tools(capture),
        )

    def codes() -> Sequence[Code]:
        from commonplace.context.errors import CODES

        return CODES

    return Toolset(
        name="context",
        summary="What matters for a task, from all toolsets in one call.",
        names=NAMES,
        bare=frozenset(),
        load=load,
        codes=codes,
    )

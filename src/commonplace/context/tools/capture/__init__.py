"""Tools of the queue of captures."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.context.capture.service import CaptureService
    from commonplace.dispatch.tool import Tool


def capture_tools(service: Callable[[], CaptureService]) -> tuple[Tool, ...]:
    """Build all tools of captures."""
    from commonplace.context.tools.capture.deciding import accept_tool, edit_tool, reject_tool
    from commonplace.context.tools.capture.proposing import transcript_tool
    from commonplace.context.tools.capture.reading import list_tool, show_tool

    return (
        transcript_tool(service),
        list_tool(service),
        show_tool(service),
        edit_tool(service),
        accept_tool(service),
        reject_tool(service),
    )

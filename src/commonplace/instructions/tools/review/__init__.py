"""Tools of reviews: the queue, one review, submit, comment and decide."""

from __future__ import annotations

from commonplace.dispatch.tool import Tool
from commonplace.instructions.review_service import ReviewService
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.tools.review.deciding import (
    comment_tool,
    decide_tool,
    submit_tool,
)
from commonplace.instructions.tools.review.reading import list_tool, show_tool


def tools(service: InstructionsService) -> tuple[Tool, ...]:
    """Return the tools of this package."""
    reviews = ReviewService(service.parts_of)
    return (
        list_tool(service, reviews),
        show_tool(service, reviews),
        submit_tool(service, reviews),
        comment_tool(service, reviews),
        decide_tool(service, reviews),
    )

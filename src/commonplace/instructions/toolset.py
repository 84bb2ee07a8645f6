"""The toolset `instructions`: its names, and its tools and service when first needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from commonplace.dispatch.registry import Toolset
from commonplace.dispatch.tool import Tool
from commonplace.kernel.errors import Code

if TYPE_CHECKING:
    from commonplace.instructions.service import Service

READS = (
    "list",
    "get",
    "getEnhanced",
    "search",
    "query",
    "categories",
    "diff",
    "export",
    "listScoped",
    "governanceHash",
)
LOOKS = ("capabilities", "health", "inspect")
WRITES = ("add", "import", "remove", "reload", "groom", "repair", "enrich", "governanceUpdate")
OURS = ("history", "restore", "reviews")  # not in the contracts, so without a bare method
FAMILIES = (
    "graph/export",
    "integrity/verify",
    "prompt/review",
    "gates/evaluate",
    "usage/track",
    "usage/hotset",
    "feedback/submit",
    "feedback/list",
    "feedback/get",
    "feedback/update",
    "feedback/stats",
    "feedback/health",
)
ACTIONS: tuple[str, ...] = (*READS, *LOOKS, *WRITES, *OURS, "batch", *FAMILIES)
BARE = frozenset(
    {
        "instructions/dispatch",
        "instructions/batch",
        *(f"instructions/{action}" for action in (*READS, *LOOKS, *WRITES)),
        *FAMILIES,
    }
)


def tool_name(action: str) -> str:
    """`getEnhanced` -> `instructions_get_enhanced`, `graph/export` -> `graph_export`."""
    if "/" in action:
        return action.replace("/", "_")
    return "instructions_" + re.sub(
        r"(?<=[a-z])([A-Z])", lambda found: "_" + found[1].lower(), action
    )


READING = frozenset(
    {name for action in READS for name in (tool_name(action), f"instructions/{action}")}
)
"""Names whose tools are in `tools/reads.py`."""
LARGE = frozenset(
    (
        "instructions_dispatch",
        "instructions_import",
        "instructions_batch",
        "instructions/dispatch",
        "instructions/import",
        "instructions/batch",
    )
)
NAMES = BARE | {"instructions_dispatch", *(tool_name(action) for action in ACTIONS)}


def toolset(service: Callable[[], Service]) -> Toolset:
    def load() -> Sequence[Tool]:
        from commonplace.instructions.tools import analytics, dispatch, feedback, reads, writes

        made = service()
        family = (
            *reads.tools(made),
            *writes.tools(made),
            *analytics.tools(made, ACTIONS),
            *feedback.tools(made),
        )
        by_name = {tool.name: tool for tool in family}
        actions = {action: by_name[tool_name(action)] for action in ACTIONS if action != "batch"}
        return (*dispatch.tools(made, actions, ACTIONS), *family)

    def part(name: str) -> Sequence[Tool]:
        if name not in READING:
            return ()
        from commonplace.instructions.tools import reads

        return reads.tools(service())

    def codes() -> Sequence[Code]:
        from commonplace.instructions.errors import CODES

        return CODES

    summary = "Governed instructions: find, read, change and check the rules agents follow."
    return Toolset("instructions", summary, NAMES, BARE, load, codes, LARGE & NAMES, part=part)

"""Names of the tools and dispatch actions, known without importing any tool."""

from __future__ import annotations

import re

TOOL_MODULES: dict[str, tuple[str, ...]] = {
    "reading": ("list", "get", "getEnhanced", "categories", "listScoped"),
    "searching": ("search", "query"),
    "transfer": ("diff", "export", "import"),
    "governance": ("governanceHash", "governanceUpdate", "reviews"),
    "inspection": ("capabilities", "health", "inspect"),
    "add": ("add",),
    "remove": ("remove", "archive", "removed"),
    "maintenance": ("reload", "groom", "repair", "enrich"),
    "history": ("history", "restore"),
    "review": (
        "reviewList",
        "reviewShow",
        "reviewSubmit",
        "reviewComment",
        "reviewDecide",
    ),
    "checks": ("graph/export", "integrity/verify", "prompt/review", "gates/evaluate"),
    "usage": ("usage/track", "usage/hotset"),
    "feedback": (
        "feedback/submit",
        "feedback/list",
        "feedback/get",
        "feedback/update",
        "feedback/stats",
        "feedback/health",
    ),
}
"""Dispatch actions by the module of `tools` that defines them."""

OTHER_TOOLS: dict[str, tuple[str, ...]] = {"effective.rules": ("rules_for",)}
"""Tools beside the dispatch actions, by the module of `tools` that defines them."""

ACTIONS: tuple[str, ...] = (
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
    "capabilities",
    "health",
    "inspect",
    "add",
    "import",
    "remove",
    "reload",
    "groom",
    "repair",
    "enrich",
    "governanceUpdate",
    "history",
    "restore",
    "reviews",
    "archive",
    "removed",
    *TOOL_MODULES["review"],
    "batch",
    *TOOL_MODULES["checks"],
    *TOOL_MODULES["usage"],
    *TOOL_MODULES["feedback"],
)
"""Dispatch actions in the order in which they are listed."""

OWN_ACTIONS = (
    "history",
    "restore",
    "reviews",
    "archive",
    "removed",
    *TOOL_MODULES["review"],
)
"""Not in the contracts, so without a bare method."""


def tool_name(action: str) -> str:
    """Return the tool of an action: `getEnhanced` -> `instructions_get_enhanced`."""
    if "/" in action:
        return action.replace("/", "_")
    return "instructions_" + re.sub(
        r"(?<=[a-z])([A-Z])", lambda match: "_" + match[1].lower(), action
    )


def bare_name(action: str) -> str:
    """Return the bare JSON-RPC method of an action."""
    return action if "/" in action else f"instructions/{action}"


BARE = frozenset(
    {
        "instructions/dispatch",
        *(bare_name(action) for action in ACTIONS if action not in OWN_ACTIONS),
    }
)
NAMES = (
    BARE
    | {"instructions_dispatch", *(tool_name(action) for action in ACTIONS)}
    | {name for names in OTHER_TOOLS.values() for name in names}
)
LARGE = frozenset(
    name
    for action in ("dispatch", "import", "batch")
    for name in (tool_name(action), bare_name(action))
)
"""Names that accept documents up to the server's limit of a message."""

MODULE_OF = {
    name: module
    for module, actions in TOOL_MODULES.items()
    for action in actions
    for name in (tool_name(action), bare_name(action))
} | {name: module for module, names in OTHER_TOOLS.items() for name in names}
"""Module of `tools` by name."""

"""The memory toolset: its names, and how its tools are made when first needed. Cheap to import."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from commonplace.dispatch.registry import Toolset

if TYPE_CHECKING:
    from commonplace.dispatch.tool import Tool
    from commonplace.kernel.errors import Code
    from commonplace.memory.service import MemoryService

CONTRACT_NAMES = (
    "rekall_help",
    "rekall_search",
    "rekall_add",
    "rekall_show",
    "rekall_suggest_links",
    "rekall_suggest_generalize",
    "rekall_link",
    "rekall_accept_suggestion",
    "rekall_reject_suggestion",
)
EXTENDED_NAMES = ("memory_list", "memory_update", "memory_delete", "memory_related", "memory_stale")


def toolset(service: Callable[[], MemoryService]) -> Toolset:
    """The service is asked for when the first tool is loaded, not before."""

    def load() -> Sequence[Tool]:
        from commonplace.memory.tools.add import add_tool
        from commonplace.memory.tools.extended import extended_tools
        from commonplace.memory.tools.help import help_tool
        from commonplace.memory.tools.search import search_tool
        from commonplace.memory.tools.show import link_tool, show_tool
        from commonplace.memory.tools.suggestions import suggestion_tools

        memory = service()
        links, generalize, accept, reject = suggestion_tools(memory)
        return (
            help_tool(memory.policy.language),
            search_tool(memory),
            add_tool(memory),
            show_tool(memory),
            links,
            generalize,
            link_tool(memory),
            accept,
            reject,
            *extended_tools(memory),
        )

    def codes() -> Sequence[Code]:
        from commonplace.memory.errors import CODES

        return CODES

    return Toolset(
        name="memory",
        summary="What was learned: bugs, patterns, decisions, pitfalls, configuration, found "
        "again when it matters.",
        names=frozenset((*CONTRACT_NAMES, *EXTENDED_NAMES)),
        bare=frozenset(),
        load=load,
        codes=codes,
    )

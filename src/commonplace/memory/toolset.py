"""The memory toolset: the names of its tools, and how to build them. Cheap to import."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from commonplace.dispatch.registry import Toolset

if TYPE_CHECKING:
    from commonplace.dispatch.tool import Tool
    from commonplace.kernel.errors import Code
    from commonplace.memory.service import MemoryService
    from commonplace.memory.use_cases.promotion.submission import RuleCatalogue

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
EXTENDED_NAMES = (
    "memory_list",
    "memory_update",
    "memory_delete",
    "memory_related",
    "memory_stale",
    "memory_decide",
    "memory_confirm",
    "memory_timeline",
    "memory_purge",
    "memory_promote",
)


def toolset(
    service: Callable[[], MemoryService], rules: Callable[[], RuleCatalogue] | None = None
) -> Toolset:
    """Describe the toolset; the service is built when the first tool is loaded.

    `rules` is the catalogue that lessons are promoted to.
    """

    def codes() -> Sequence[Code]:
        from commonplace.memory.errors import CODES

        return CODES

    return Toolset(
        name="memory",
        summary="What was learned: bugs, patterns, decisions, pitfalls, configuration, found "
        "again when it matters.",
        names=frozenset((*CONTRACT_NAMES, *EXTENDED_NAMES)),
        bare=frozenset(),
        load=lambda: _build_tools(service(), rules),
        codes=codes,
    )


def _build_tools(
    memory: MemoryService, rules: Callable[[], RuleCatalogue] | None
) -> Sequence[Tool]:
    """Import and build the tools."""
    from commonplace.memory.tools.add import add_tool
    from commonplace.memory.tools.decisions import accept_tool, reject_tool
    from commonplace.memory.tools.delete import delete_tool
    from commonplace.memory.tools.help import help_tool
    from commonplace.memory.tools.housekeeping.confirm import confirm_tool
    from commonplace.memory.tools.housekeeping.decide import decide_tool
    from commonplace.memory.tools.housekeeping.purge import purge_tool
    from commonplace.memory.tools.housekeeping.timeline import timeline_tool
    from commonplace.memory.tools.link import link_tool
    from commonplace.memory.tools.list import list_tool
    from commonplace.memory.tools.promote import promote_tool
    from commonplace.memory.tools.related import related_tool
    from commonplace.memory.tools.search import search_tool
    from commonplace.memory.tools.show import show_tool
    from commonplace.memory.tools.stale import stale_tool
    from commonplace.memory.tools.suggestions import (
        suggest_generalize_tool,
        suggest_links_tool,
    )
    from commonplace.memory.tools.update import update_tool

    builders = (
        search_tool,
        add_tool,
        show_tool,
        suggest_links_tool,
        suggest_generalize_tool,
        link_tool,
        accept_tool,
        reject_tool,
        list_tool,
        update_tool,
        delete_tool,
        related_tool,
        stale_tool,
        decide_tool,
        confirm_tool,
        timeline_tool,
        purge_tool,
        partial(promote_tool, rules=rules),
    )
    return (help_tool(memory.policy.language), *(build(memory) for build in builders))

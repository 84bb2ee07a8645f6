"""The toolset `instructions`: its names, and its tools when they are first needed."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from commonplace.dispatch.registry import Toolset
from commonplace.dispatch.tool import Tool
from commonplace.instructions.names import (
    ACTIONS,
    BARE,
    LARGE,
    MODULE_OF,
    NAMES,
    OTHER_TOOLS,
    TOOL_MODULES,
    tool_name,
)
from commonplace.kernel.errors import Code

if TYPE_CHECKING:
    from commonplace.instructions.service import InstructionsService


class ToolModule(Protocol):
    """A module of `tools`."""

    def tools(self, service: InstructionsService) -> Sequence[Tool]: ...


def _tools_of(module: str, service: InstructionsService) -> Sequence[Tool]:
    loaded = importlib.import_module(f"commonplace.instructions.tools.{module}")
    return cast(ToolModule, loaded).tools(service)


def toolset(service: Callable[[], InstructionsService]) -> Toolset:
    """Return the toolset; a call imports only the module of its tool."""

    def load() -> Sequence[Tool]:
        from commonplace.instructions.tools import dispatch

        built = service()
        family = [tool for module in TOOL_MODULES for tool in _tools_of(module, built)]
        by_name = {tool.name: tool for tool in family}
        actions = {action: by_name[tool_name(action)] for action in ACTIONS if action != "batch"}
        others = [tool for module in OTHER_TOOLS for tool in _tools_of(module, built)]
        return (*dispatch.tools(actions), *family, *others)

    def part(name: str) -> Sequence[Tool]:
        return _tools_of(MODULE_OF[name], service()) if name in MODULE_OF else ()

    def codes() -> Sequence[Code]:
        from commonplace.instructions.errors import CODES

        return CODES

    summary = "Governed instructions: find, read, change and check the rules agents follow."
    return Toolset("instructions", summary, NAMES, BARE, load, codes, LARGE, part=part)

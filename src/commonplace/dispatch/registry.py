"""The tools by their names, and the selection of them that a client is shown.

Toolsets are loaded when first needed: a static table of names says which toolset owns a name, so
that a call imports only its own domain and `initialize` imports none.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from commonplace.dispatch.tool import Tier, Tool
from commonplace.kernel.errors import (
    INVALID_CONFIG,
    UNKNOWN_METHOD,
    UNKNOWN_TOOL,
    Code,
    CommonplaceError,
)


@dataclass(frozen=True, slots=True)
class Toolset:
    """A family of tools that is switched on and off together.

    `names` are all names its tools answer to in tools/call (listed, aliases, bare); `bare` the bare
    JSON-RPC methods; `large` those that take documents as arguments, up to the server's limit of a
    message. `takes_bytes`: long texts may come as UTF-8. `part` makes a few tools, one of them of
    the name, without importing the others; it returns none where that is not possible.
    """

    name: str
    summary: str
    names: frozenset[str]
    bare: frozenset[str]
    load: Callable[[], Sequence[Tool]]
    codes: Callable[[], Sequence[Code]] = tuple
    large: frozenset[str] = frozenset()
    takes_bytes: bool = False
    part: Callable[[str], Sequence[Tool]] = lambda name: ()


@dataclass(frozen=True, slots=True)
class Selection:
    """What a client is offered: by flags of the command line, a profile, or X-MCP-* headers.

    Exclusion and read-only win. `admits` says what is listed, `permits` what may be called: the
    tier and a profile only choose what is listed.

    `renamed` lists tools under their first alias (contract names). `within` is what a request
    narrows: nothing is admitted that it does not admit. `lists_only` is a profile: its toolsets
    and tools choose what is listed, and refuse no call.
    """

    toolsets: frozenset[str] | None = None
    tools: frozenset[str] | None = None
    exclude: frozenset[str] = frozenset()
    read_only: bool = False
    all_tiers: bool = False
    renamed: bool = False
    within: Selection | None = None
    lists_only: bool = False

    def admits(self, tool: Tool) -> bool:
        """Tell whether a tool is listed."""
        if self.within is not None and not self.within.admits(tool):
            return False
        names = set(_names(tool))
        if names & self.exclude or (self.read_only and not tool.read_only):
            return False
        if self.tools is not None and names & self.tools:
            return True
        if self.toolsets is None:
            return self.tools is None and (self.all_tiers or tool.tier is Tier.DEFAULT)
        return tool.toolset in self.toolsets and (self.all_tiers or tool.tier is Tier.DEFAULT)

    def permits(self, tool: Tool, through: Tool | None = None) -> bool:
        """Tell whether a call may run a tool; whether it may write is checked elsewhere.

        `through` is the tool that the caller named: a dispatcher in `tools` includes its actions,
        unless they are excluded.
        """
        if self.within is not None and not self.within.permits(tool, through):
            return False
        if self.exclude and self.excludes(tool):
            return False
        if self.lists_only or (self.toolsets is None and self.tools is None):
            return True
        if self.toolsets is not None and tool.toolset in self.toolsets:
            return True
        named = self.tools or frozenset()
        return any(not named.isdisjoint(_names(way)) for way in (tool, through) if way is not None)

    @property
    def has_exclusions(self) -> bool:
        return bool(self.exclude) or (self.within is not None and self.within.has_exclusions)

    def excludes(self, tool: Tool) -> bool:
        """Tell whether a tool is excluded, under any of its names."""
        if self.within is not None and self.within.excludes(tool):
            return True
        return not self.exclude.isdisjoint(_names(tool))

    def permits_part(self, name: str, toolset: str, through: Tool) -> bool:
        """Tell whether a call of `through` may bring what another tool would, without loading it.

        Other names of that tool are not known here: see `excludes`.
        A tool over several toolsets that is selected alone brings everything; beside others it
        brings what they offer.
        """
        if self.within is not None and not self.within.permits_part(name, toolset, through):
            return False
        if name in self.exclude:
            return False
        if self.lists_only or (self.toolsets is None and self.tools is None):
            return True
        if self.toolsets is not None and (
            toolset in self.toolsets or self.toolsets == {through.toolset}
        ):
            return True
        named = self.tools or frozenset()
        return name in named or not named.isdisjoint(_names(through))


def _names(tool: Tool) -> tuple[str, ...]:
    return (tool.name, *tool.aliases, *tool.bare)


EVERYTHING_LISTED = Selection()


class Registry:
    """Tools by name. A name of two tools raises when the registry is built or a toolset loaded."""

    def __init__(self, toolsets: Iterable[Toolset]) -> None:
        self._toolsets = {toolset.name: toolset for toolset in toolsets}
        self._owner: dict[str, str] = {}
        self._bare: dict[str, str] = {}
        for toolset in self._toolsets.values():
            for table, names in ((self._owner, toolset.names), (self._bare, toolset.bare)):
                for name in names:
                    if name in table:
                        raise ValueError(
                            f"{name!r} belongs to both {table[name]!r} and {toolset.name!r}"
                        )
                    table[name] = toolset.name
        self._tools: dict[str, Tool] = {}
        self._parts: dict[str, Tool] = {}
        self._bare_tools: dict[str, Tool] = {}
        self._loaded: dict[str, tuple[Tool, ...]] = {}

    @property
    def toolsets(self) -> tuple[Toolset, ...]:
        return tuple(self._toolsets.values())

    def tool(self, name: str) -> Tool:
        """Return the tool of this name in tools/call. Raises UNKNOWN_TOOL."""
        found = self._tools.get(name)
        if found is None:
            owner = self._owner.get(name)
            if owner is None:
                raise self._unknown(UNKNOWN_TOOL, "tool", name, self._owner)
            found = self._tool_of_part(owner, name)
        if found is None:
            self._load(self._owner[name])
            found = self._tools[name]
        return found

    def _tool_of_part(self, owner: str, name: str) -> Tool | None:
        """Return a tool of a toolset that is not loaded, where it can be made alone.

        The first call of a process is often its only one.
        """
        if name not in self._parts and owner not in self._loaded:
            self._parts |= {
                alias: tool for tool in self._toolsets[owner].part(name) for alias in _names(tool)
            }
        return self._parts.get(name)

    def bare(self, method: str) -> Tool:
        """Return the tool of a bare JSON-RPC method. Raises UNKNOWN_METHOD."""
        found = self._bare_tools.get(method)
        if found is None:
            owner = self._bare.get(method)
            if owner is None:
                raise self._unknown(UNKNOWN_METHOD, "method", method, self._bare)
            self._load(owner)
            found = self._bare_tools[method]
        return found

    def find(self, name: str) -> Tool | None:
        """Return the tool of this name, or None."""
        return self.tool(name) if name in self._owner else None

    def owner(self, name: str) -> Toolset | None:
        """Return the toolset of a name without loading it."""
        owner = self._owner.get(name)
        return None if owner is None else self._toolsets[owner]

    def is_bare(self, method: str) -> bool:
        return method in self._bare

    def all(self) -> tuple[Tool, ...]:
        """Return every tool of every toolset, in the order of toolsets."""
        return tuple(tool for name in self._toolsets for tool in self._load(name))

    def listed(self, selection: Selection = EVERYTHING_LISTED) -> tuple[Tool, ...]:
        """Return the tools that a client sees; only toolsets that can be selected are loaded."""
        return tuple(
            tool
            for name in self._toolsets
            if self._is_selected(name, selection)
            for tool in self._load(name)
            if selection.admits(tool)
        )

    def _is_selected(self, name: str, selection: Selection) -> bool:
        if selection.toolsets is None and selection.tools is None:
            return True
        return name in (selection.toolsets or ()) or bool(
            self._toolsets[name].names & (selection.tools or frozenset())
        )

    def check(self, selection: Selection) -> None:
        """Refuse a selection with an unknown name. Raises INVALID_CONFIG."""
        if selection.within is not None:
            self.check(selection.within)
        for name in sorted(selection.toolsets or ()):
            if name not in self._toolsets:
                raise CommonplaceError(
                    INVALID_CONFIG,
                    f"There is no toolset {name[:64]!r}.",
                    hint=f"Toolsets: {', '.join(self._toolsets)}.",
                )
        for name in sorted((selection.tools or frozenset()) | selection.exclude):
            if name not in self._owner:
                near = difflib.get_close_matches(name[:64], list(self._owner), n=3)
                hint = (
                    f"Did you mean {' or '.join(near)}?"
                    if near
                    else "`commonplace tools --all-tools` lists them."
                )
                raise CommonplaceError(
                    INVALID_CONFIG, f"There is no tool {name[:64]!r}.", hint=hint
                )

    def codes(self) -> tuple[Code, ...]:
        return tuple(code for toolset in self._toolsets.values() for code in toolset.codes())

    def _load(self, name: str) -> tuple[Tool, ...]:
        loaded = self._loaded.get(name)
        if loaded is None:
            toolset = self._toolsets[name]
            loaded = tuple(toolset.load())
            names: set[str] = set()
            for tool in loaded:
                for alias in {tool.name, *tool.aliases, *tool.bare}:
                    if alias in self._tools or alias not in toolset.names:
                        raise ValueError(
                            f"{tool.name}: the name {alias!r} is taken, or missing in toolset "
                            f"{name!r}'s table"
                        )
                    self._tools[alias] = tool
                    names.add(alias)
                for method in tool.bare:
                    self._bare_tools[method] = tool
            if names != toolset.names:
                raise ValueError(
                    f"toolset {name!r} declares names without a tool: "
                    f"{sorted(toolset.names - names)}"
                )
            self._loaded[name] = loaded
        return loaded

    @staticmethod
    def _unknown(code: Code, what: str, name: str, known: Iterable[str]) -> CommonplaceError:
        near = difflib.get_close_matches(name[:64], list(known), n=1)
        hint = (
            f"Did you mean {near[0]}?"
            if near
            else ("tools/list shows what there is." if code is UNKNOWN_TOOL else None)
        )
        return CommonplaceError(
            code, f"Unknown {what}: {name[:128]}", hint=hint, details={what: name[:128]}
        )

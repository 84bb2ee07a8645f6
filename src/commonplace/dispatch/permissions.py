"""What a call may do: its key's scopes, the selection, read-only mode, the catalogue's switch."""

from __future__ import annotations

from collections.abc import Callable

from commonplace.dispatch.call import Call
from commonplace.dispatch.registry import Selection
from commonplace.dispatch.tool import Tool
from commonplace.kernel.auth import AuthContext, Scope
from commonplace.kernel.errors import (
    MUTATION_DISABLED,
    READ_ONLY,
    SCOPE_REQUIRED,
    TOOL_EXCLUDED,
    CommonplaceError,
)


class Permissions:
    """The rules of a server. Each check returns nothing, and raises where a call is refused.

    `mutation_enabled` is read per call, so that a switch takes effect at once.
    """

    def __init__(
        self, selection: Selection, *, read_only: bool, mutation_enabled: Callable[[], bool]
    ) -> None:
        self._selection = selection
        self._read_only = read_only
        self.mutation_enabled = mutation_enabled

    def check_name(self, call: Call, through: Tool, tool: Tool) -> None:
        """Refuse a tool that the server or the request excludes; `through` is the one named."""
        if (call.selection or self._selection).permits(tool, through):
            return
        if self._selection.permits(tool, through):
            raise CommonplaceError(
                TOOL_EXCLUDED,
                f"{tool.name} is excluded by the headers of this request.",
                hint="Change the X-MCP-Toolsets, X-MCP-Tools or X-MCP-Exclude-Tools header.",
                details={"tool": tool.name},
            )
        raise CommonplaceError(
            TOOL_EXCLUDED,
            f"{tool.name} is excluded on this server.",
            hint="Use another tool, or start the server without the --toolsets, --tools or "
            "--exclude-tools that exclude it.",
            details={"tool": tool.name},
        )

    def permits_part(self, call: Call, name: str, toolset: str, through: Tool) -> bool:
        """Tell whether a call may bring what the tool of a name would."""
        selections = (self._selection, call.selection or self._selection)
        return all(chosen.permits_part(name, toolset, through) for chosen in selections)

    def check_scope(self, call: Call, tool: Tool, scope: Scope) -> None:
        """Refuse a key without this scope, and a change where only reads are allowed."""
        if scope not in call.auth.scopes:
            may_not = "administer this server" if scope is Scope.ADMIN else scope.value
            raise CommonplaceError(
                SCOPE_REQUIRED,
                f"This key may not {may_not}.",
                hint=f"Use a key with scope {scope.value}: commonplace keys add --scope "
                f"{scope.value}.",
                details={"required": scope.value, "granted": sorted(call.auth.scopes)},
            )
        if (self._read_only or call.read_only) and changes(tool, scope):
            raise CommonplaceError(
                READ_ONLY,
                f"{tool.name} writes, and this {'server' if self._read_only else 'request'} is "
                f"read-only.",
                hint="Start the server without --read-only."
                if self._read_only
                else "Drop the X-MCP-Readonly header.",
            )

    def check_catalogue(self, caller: AuthContext) -> None:
        """Refuse a change of the catalogue with a key of others, or while it is closed."""
        if not caller.configured:
            raise CommonplaceError(
                SCOPE_REQUIRED,
                "The instruction catalogue is shared by all tenants; writing it needs a key of "
                "this server.",
                hint="Ask the operator for one: commonplace keys add --scope write.",
                details={"required": "configured key"},
            )
        if not self.mutation_enabled():
            raise CommonplaceError(
                MUTATION_DISABLED,
                "Mutation is disabled: this server's instruction catalogue is read-only.",
                hint="Set MCP_ENABLE_MUTATION=1 in the server's environment and restart it.",
            )


def changes(tool: Tool, scope: Scope) -> bool:
    """Tell whether a call changes something.

    A tool whose scope follows from its arguments only reads when these need READ.
    """
    return not tool.read_only and (scope is not Scope.READ or not callable(tool.scope))

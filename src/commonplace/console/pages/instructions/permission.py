"""Whether a person may change the catalogue, and if not, why."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.console.page import Page


@dataclass(frozen=True, slots=True)
class Permission:
    """The answer; `reason` and `hint` are empty if changes are allowed."""

    is_granted: bool
    reason: str = ""
    hint: str = ""


async def find_permission(page: Page) -> Permission:
    """Ask the server whether this person may change instructions."""
    answer = await page.call("instructions_capabilities", {})
    if answer.ok and not answer.output["mutationEnabled"]:
        return Permission(
            False,
            "The catalogue is read-only on this server.",
            "To change it, set MCP_ENABLE_MUTATION=1 in the server's environment and restart.",
        )
    if not page.may_write:
        return Permission(
            False,
            "Your key may read only.",
            "Sign in with a key of scope write to change instructions.",
        )
    return Permission(answer.ok)

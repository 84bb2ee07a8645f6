"""Removed and archived instructions, and backups of bulk removals: all can be brought back."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response

from commonplace.console.flash import Flash
from commonplace.console.page import Page
from commonplace.console.pages.instructions.rules import instruction_url
from commonplace.console.rendering import quote_path

MAX_KEPT = 50
KINDS = ("removed", "archived", "backups")


async def find_kept(page: Page) -> dict[str, dict[str, Any]]:
    """Return the newest of each kind with their number."""
    answers = await asyncio.gather(
        *(page.call("instructions_removed", {"kind": kind, "limit": MAX_KEPT}) for kind in KINDS)
    )
    found: dict[str, dict[str, Any]] = {}
    for kind, answer in zip(KINDS, answers, strict=True):
        output: dict[str, Any] = answer.output if answer.ok else {"count": 0, "items": []}
        items = [
            {**item, "href": instruction_url(item["id"])} if "id" in item else item
            for item in output["items"]
        ]
        found[kind] = {"count": output["count"], "items": items, "error": answer.error}
    return found


async def archive(page: Page) -> Response:
    """Archive an instruction, or bring an archived one back."""
    form = await page.form()
    identity, restore = page.parameter("identity"), form.has("restore")
    answer = await page.call("instructions_archive", {"ids": [identity], "restore": restore})
    flash = Flash(f"{identity} is back" if restore else f"Archived {identity}")
    if answer.error is not None:
        flash = Flash(answer.error["message"], "bad")
    elif answer.output["unchanged"]:
        flash = Flash(f"{identity}: {answer.output['unchanged'][0]['reason']}.", "warn")
    elif restore:
        return page.redirect(f"/instructions/{quote_path(identity)}", flash)
    return page.redirect("/instructions", flash, tab="governance")


async def restore_backup(page: Page) -> Response:
    """Bring back what a bulk removal deleted."""
    form = await page.form()
    answer = await page.call("instructions_restore", {"backup": form.text("backup")})
    if answer.error is not None:
        flash = Flash(answer.error["message"], "bad")
    else:
        restored, present = answer.output["ids"], answer.output["present"]
        kept = f"; {len(present)} were there already" if present else ""
        flash = Flash(f"{len(restored)} brought back{kept}")
    return page.redirect("/instructions", flash, tab="governance")

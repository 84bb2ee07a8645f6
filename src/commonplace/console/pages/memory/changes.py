"""Changes of entries without a form of their own: delete, restore, retire and link."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.responses import Response

from commonplace.console.flash import Flash, Undo
from commonplace.console.page import Page
from commonplace.console.pages.memory.entries import STATES
from commonplace.console.pages.memory.entry import render_link
from commonplace.console.rendering import quote_path, url

MAX_SELECTED = 200


def _selected(texts: Sequence[str]) -> list[str]:
    """Return the ids of a form: boxes, or one field with commas."""
    ids = [part for text in texts for part in text.split(",") if part]
    return list(dict.fromkeys(ids))[:MAX_SELECTED]


async def delete(page: Page) -> Response:
    """Delete an entry; the message offers to bring it back."""
    await page.form()
    identity = page.parameter("identity")
    answer = await page.call("memory_delete", {"id": identity})
    if answer.error is not None:
        flash = Flash(str(answer.error["message"]), "bad")
        return page.redirect(f"/memory/{quote_path(identity)}", flash)
    undo = Undo(url("/restore-memories"), {"ids": answer.output["id"]})
    return page.redirect("/memory", Flash(f"Deleted: {answer.output['title']}", undo=undo))


async def restore_selected(page: Page) -> Response:
    """Bring deleted entries back."""
    form = await page.form()
    ids = _selected(form.texts("ids"))
    if not ids:
        return page.redirect("/memory", Flash("Tick what to bring back.", "warn"), tab="deleted")
    for count, identity in enumerate(ids):
        answer = await page.call("memory_delete", {"id": identity, "restore": True})
        if answer.error is not None:
            text = f"{count} of {len(ids)} brought back. {answer.error['message']}"
            return page.redirect("/memory", Flash(text, "bad"), tab="deleted")
    flash = Flash(f"{len(ids)} brought back")
    if len(ids) == 1:
        return page.redirect(f"/memory/{quote_path(ids[0])}", flash)
    return page.redirect("/memory", flash, tab="deleted")


async def change_status(page: Page) -> Response:
    """Mark entries as obsolete, or active again; the message offers the way back."""
    form = await page.form()
    ids = _selected(form.texts("ids"))
    status = form.text("status") if form.text("status") in STATES else "obsolete"
    days = form.text("days")
    if not ids:
        flash = Flash("Tick what no longer holds.", "warn")
        return page.redirect("/memory", flash, tab="stale", days=days)
    for count, identity in enumerate(ids):
        answer = await page.call("memory_update", {"id": identity, "status": status})
        if answer.error is not None:
            text = f"{count} of {len(ids)} marked as {status}. {answer.error['message']}"
            return page.redirect("/memory", Flash(text, "bad"), tab="stale", days=days)
    other = "active" if status == "obsolete" else "obsolete"
    fields = {"ids": ",".join(ids), "status": other, "days": days}
    flash = Flash(f"{len(ids)} marked as {status}", undo=Undo(url("/retire-memories"), fields))
    return page.redirect("/memory", flash, tab="stale", days=days)


async def link(page: Page) -> Response:
    """Link an entry to another."""
    form = await page.form()
    identity = page.parameter("identity")
    relation = form.text("relation", "related")
    answer = await page.call(
        "rekall_link",
        {"source_id": identity, "target_id": form.text("target"), "relation_type": relation},
    )
    if answer.error is not None:
        return await render_link(page, answer.error, form.text("q"), relation)
    return page.redirect(f"/memory/{quote_path(identity)}", Flash("Linked"))

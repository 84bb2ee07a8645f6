"""Write and change instructions; a change that somebody else made meanwhile is shown first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response

from commonplace.console.caller import Answer, CallError
from commonplace.console.errors import PageNotFound
from commonplace.console.flash import Flash, Undo
from commonplace.console.form_data import FormData
from commonplace.console.page import Page
from commonplace.console.pages.differences import compare_fields
from commonplace.console.pages.instructions.permission import find_permission
from commonplace.console.pages.instructions.rules import REQUIREMENTS, instruction_url
from commonplace.console.rendering import quote_path, url

FIELDS = (
    "title",
    "priority",
    "requirement",
    "audience",
    "owner",
    "categories",
    "appliesTo",
    "languages",
    "activation",
    "body",
)
ACTIVATIONS = ("always", "glob", "description", "manual")
NEW: Mapping[str, Any] = {
    "title": "",
    "priority": 50,
    "requirement": "optional",
    "audience": "all",
    "owner": "",
    "categories": [],
    "appliesTo": [],
    "languages": [],
    "activation": "",
    "body": "",
}


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """Why a form is shown again: problems, differences, or a conflict."""

    error: CallError | None = None
    validation: list[Mapping[str, str]] = field(default_factory=list)
    diff: list[str] = field(default_factory=list)
    is_conflict: bool = False
    is_preview: bool = False


async def show_new(page: Page) -> Response:
    """Show an empty form."""
    return await _render(page, None, "", NEW, EditOutcome())


async def show_edit(page: Page) -> Response:
    """Show the form of an instruction."""
    item = await _read(page)
    return await _render(page, item, "", item, EditOutcome())


async def create(page: Page) -> Response:
    """Store a new instruction."""
    form = await page.form()
    values = read_values(form)
    identity = form.text("id").strip()
    entry = {
        "id": identity,
        **{name: value for name, value in values.items() if value or value == 0},
    }
    answer = await page.call("instructions_add", {"entry": entry, "lax": True})
    outcome = find_problem(answer)
    if outcome is not None:
        return await _render(page, None, identity, values, outcome, 422)
    return page.redirect(
        f"/instructions/{quote_path(answer.output['id'])}",
        Flash(_saved_text(answer.output), saved_draft="new-instruction"),
    )


async def save(page: Page) -> Response:
    """Store a changed instruction, or show what would change."""
    form = await page.form()
    item = await _read(page)
    values = read_values(form, item)
    values["body"] = keep_line_ends(values["body"], item["body"])
    changed = {name: value for name, value in values.items() if value != item.get(name, NEW[name])}
    base = form.text("base")
    if base != item["governanceHash"]:
        return await _conflict(page, item, values)
    if form.has("preview"):
        outcome = EditOutcome(diff=compare_fields(item, values, FIELDS, "body"), is_preview=True)
        return await _render(page, item, "", values, outcome)
    path = f"/instructions/{quote_path(item['id'])}"
    draft = f"instruction:{item['id']}"
    if not changed:
        return page.redirect(path, Flash("Nothing was changed.", "warn", saved_draft=draft))
    entry = {"id": item["id"], **_clear_empty(changed)}
    arguments: dict[str, Any] = {"entry": entry, "expectedHash": base}
    if form.has("propose"):
        answer = await page.call("instructions_review_submit", {"id": item["id"], **arguments})
    else:
        answer = await page.call("instructions_add", {**arguments, "lax": True, "overwrite": True})
    if answer.error is not None and answer.error.get("code") == "HASH_MISMATCH":
        return await _conflict(page, await _read(page), values)
    outcome_or_none = find_problem(answer)
    if outcome_or_none is not None:
        return await _render(page, item, "", values, outcome_or_none, 422)
    if answer.output.get("proposed"):
        flash = Flash("Proposed. The approved text stays in effect.", saved_draft=draft)
        return page.redirect(f"{path}/review", flash)
    undo = Undo(url(f"{path}/restore"), {"expected": str(answer.output.get("governanceHash", ""))})
    return page.redirect(path, Flash(_saved_text(answer.output), undo=undo, saved_draft=draft))


def _clear_empty(changed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changed fields; a scope that was emptied is removed."""
    scope = ("appliesTo", "languages", "activation")
    return {name: value or None if name in scope else value for name, value in changed.items()}


async def _conflict(page: Page, item: Mapping[str, Any], values: Mapping[str, Any]) -> Response:
    outcome = EditOutcome(diff=compare_fields(item, values, FIELDS, "body"), is_conflict=True)
    return await _render(page, item, "", values, outcome, 409)


async def _read(page: Page) -> dict[str, Any]:
    """Return the saved instruction. Raises PageNotFound."""
    identity = page.parameter("identity")
    answer = await page.ask("instructions_get", {"id": identity})
    if answer.get("notFound"):
        raise PageNotFound(
            f"No instruction is called {identity}.",
            "It may have been removed: its page shows the history. Your text is kept as a draft.",
        )
    item: dict[str, Any] = answer["item"]
    return item


async def _render(
    page: Page,
    item: Mapping[str, Any] | None,
    identity: str,
    values: Mapping[str, Any],
    outcome: EditOutcome,
    status: int = 200,
) -> Response:
    return page.render(
        "pages/instructions/edit.html",
        status,
        here="/instructions",
        item=item,
        identity=identity,
        values=values,
        outcome=outcome,
        requirements=REQUIREMENTS,
        activations=ACTIVATIONS,
        permission=await find_permission(page),
        back=url("/instructions") if item is None else instruction_url(item["id"]),
    )


def read_values(form: FormData, saved: Mapping[str, Any] = NEW) -> dict[str, Any]:
    """Return the fields of the form; a priority that is not a number stays a text."""
    priority = form.text("priority").strip()
    is_number = priority.isascii() and priority.isdigit() and len(priority) < 9
    return {
        "title": form.text("title"),
        "priority": int(priority) if is_number else priority,
        "requirement": form.text("requirement"),
        "audience": form.text("audience"),
        "owner": form.text("owner"),
        "categories": [name.strip() for name in form.text("categories").split(",") if name.strip()],
        **_read_scope(form, saved),
        "body": form.text("body"),
    }


def _read_scope(form: FormData, saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scope; what a form does not have stays as it is saved."""
    globs = [glob.strip() for glob in form.text("appliesTo").split("\n") if glob.strip()]
    names = [name.strip() for name in form.text("languages").split(",") if name.strip()]
    sent = {"appliesTo": globs, "languages": names, "activation": form.text("activation")}
    return {
        name: value if form.has(name) else saved.get(name, NEW[name])
        for name, value in sent.items()
    }


def keep_line_ends(text: str, saved: str) -> str:
    """Give an edited text the line ends of the saved one, which browsers cannot keep."""
    if "\r\n" in saved and "\n" not in saved.replace("\r\n", ""):
        return text.replace("\n", "\r\n")
    return saved if saved.replace("\r\n", "\n") == text else text


def find_problem(answer: Answer) -> EditOutcome | None:
    """Return why an instruction was not stored, or None if it was."""
    if answer.error is not None:
        return EditOutcome(answer.error)
    output = answer.output
    if output.get("error"):
        hint = str(output.get("feedbackHint", ""))
        error = {"code": "Not saved", "message": output["error"], "hint": hint}
        return EditOutcome(error, list(output.get("validation", ())))
    if output.get("skipped"):
        return EditOutcome(
            {
                "code": "Not saved",
                "message": "An instruction with this id is there already.",
                "hint": "Open it and change it, or choose another id. Your text is still here.",
            }
        )
    return None


def _saved_text(output: Mapping[str, Any]) -> str:
    warnings = " ".join(str(warning) for warning in output.get("warnings", ()))
    return f"Saved as version {output['version']}. {warnings}".strip()

"""Upload text files. An existing file is never replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.datastructures import UploadFile
from starlette.responses import Response

from commonplace.console.flash import Flash
from commonplace.console.page import Page, PageRoute
from commonplace.console.pages.files.change import CHANGED, write
from commonplace.console.pages.files.places import Place, tidy_path
from commonplace.console.rendering import format_count
from commonplace.kernel.json_types import Json
from commonplace.kernel.paths import number_segment, spell_segment

MAX_SPELLINGS = 20  # numbers tried for a name that has to be spelled
DRAFT = "upload"
NOT_TEXT = "is not UTF-8 text. Encode it, for example as Base64, and upload that."


@dataclass(frozen=True, slots=True)
class UploadOutcome:
    """What became of one uploaded file."""

    text: str
    kind: str  # good, warn or bad
    path: str = ""


async def start(page: Page) -> Response:
    """Show the upload form."""
    place = Place(page.query("project"), tidy_path(page.query("path")))
    return await _show(page, place, ())


async def receive(page: Page) -> Response:
    """Store the uploaded files."""
    form = await page.form()
    place = Place(form.text("project").strip(), tidy_path(form.text("path")))
    outcomes = [await store(page, place, file) for file in form.uploads("files")]
    if outcomes and all(outcome.kind == "good" for outcome in outcomes):
        count = format_count(len(outcomes), "file")
        text = outcomes[0].text if len(outcomes) == 1 else f"Stored {count} in {place.path or '/'}."
        return page.redirect("/files", Flash(text, saved_draft=DRAFT), **place.arguments)
    return await _show(page, place, outcomes, is_sent=True)


async def _show(
    page: Page, place: Place, outcomes: Sequence[UploadOutcome], *, is_sent: bool = False
) -> Response:
    found = await page.ask("file_projects", {})
    return page.render(
        "pages/files/upload.html",
        place=place,
        projects=[entry["project"] for entry in found["projects"]],
        outcomes=outcomes,
        is_sent=is_sent,
        draft=DRAFT,
    )


async def store(page: Page, folder: Place, file: UploadFile) -> UploadOutcome:
    """Store one file under its name, or spelled if the name is not legal here."""
    name = (file.filename or "").replace("\\", "/").rpartition("/")[2]
    try:
        content = (await file.read()).decode()
        spelled = spell_segment(name)
    except UnicodeError:
        return UploadOutcome(f"{name} {NOT_TEXT}", "bad")
    source = f"{folder.path}/{name}"
    taken = ""
    for count in range(1, MAX_SPELLINGS + 1):
        target = folder.at(f"{folder.path}/{number_segment(spelled, count)}")
        reply = await write(page, target, content, if_match="", source=source)
        if reply.error is None:
            return _stored(target.path, source)
        if reply.error.get("code") != CHANGED:
            return UploadOutcome(_message(name, reply.error), "bad")
        taken = target.path
        if taken == source or await _is_stored_from(page, target, source):
            break
    return UploadOutcome(f"{taken} exists already. Rename or delete it first.", "warn", taken)


def _stored(path: str, source: str) -> UploadOutcome:
    if path == source:
        return UploadOutcome(f"Stored {path}.", "good", path)
    text = f"Stored {source} as {path}; an export writes it under its own name."
    return UploadOutcome(text, "good", path)


def _message(name: str, error: Mapping[str, Json]) -> str:
    return f"{name}: {error['message']} {error.get('hint') or ''}".strip()


async def _is_stored_from(page: Page, place: Place, source: str) -> bool:
    """Whether the file at a path was uploaded under this name before."""
    answer = await page.call("file_stat", place.arguments)
    return answer.ok and answer.output.get("source_path") == source


ROUTES = (
    PageRoute("/files/upload", start),
    PageRoute("/files/upload", receive, methods=("POST",)),
)

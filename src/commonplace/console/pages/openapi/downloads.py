"""Take results home: the answer as JSON, a document, a report, or generated files as an archive."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from urllib.parse import quote

import orjson
from starlette.responses import Response

from commonplace.console.errors import CallFailed, PageNotFound
from commonplace.console.page import Page, PageRoute
from commonplace.console.pages.openapi.panels import Panel
from commonplace.console.pages.openapi.view import View, read_posted_view, read_view
from commonplace.console.pages.openapi.work import FILL
from commonplace.kernel.json_types import JsonObject

NAMES = {"fix": "fixed", "convert": "converted", "join": "joined", "overlay": "overlaid"}


async def download(page: Page) -> Response:
    """Send the result of a document that the address names."""
    return await _send(page, read_view(page))


async def download_posted(page: Page) -> Response:
    """Send the result of a document that was pasted or uploaded."""
    return await _send(page, await read_posted_view(await page.form()))


async def _send(page: Page, view: View) -> Response:
    if not view.source.is_given or view.problem:
        raise PageNotFound(view.problem or "There is no document.", "Paste or name one first.")
    panel = await FILL[view.tab](page, view)
    if panel.error is not None:
        raise CallFailed(panel.error)
    name, content, kind = make_file(view, panel)
    return Response(
        content,
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"},
        media_type=kind,
    )


def make_file(view: View, panel: Panel) -> tuple[str, bytes, str]:
    """Return the name, content and media type of a download."""
    wanted = view.text("format", "json")
    if wanted == "zip" and panel.values.get("files"):
        found = panel.output
        name = f"{found['package_name']}-{found['language']}.zip"
        return name, pack(found["package_name"], panel.values["files"]), "application/zip"
    if wanted == "document" and panel.document is not None:
        if view.tab == "compare":
            return "changes.md", panel.document.encode(), "text/markdown; charset=utf-8"
        is_json = panel.document.lstrip().startswith("{")
        name = f"{NAMES.get(view.tab, view.tab)}.{'json' if is_json else 'yaml'}"
        return name, panel.document.encode(), "text/plain; charset=utf-8"
    content = orjson.dumps(panel.output, option=orjson.OPT_INDENT_2, default=str)
    return f"{view.tab}.json", content, "application/json"


def pack(package: str, files: Sequence[JsonObject]) -> bytes:
    """Return generated files as a zip archive, in a folder with the package's name."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
        for file in files:
            target.writestr(f"{package}/{file['name']}", str(file["content"]))
    return packed.getvalue()


ROUTES = (
    PageRoute("/openapi/download", download),
    PageRoute("/openapi/download", download_posted, methods=("POST",)),
)

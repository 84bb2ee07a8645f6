"""`/open?ref=...` leads to the page of a reference, such as `file:PROJECT/PATH#L10-L40`."""

from __future__ import annotations

from starlette.responses import Response

from commonplace.console.errors import PageNotFound
from commonplace.console.page import Page, PageRoute
from commonplace.console.rendering import quote_path
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.ref import Ref, RefKind, stored_file


async def open_reference(page: Page) -> Response:
    """Lead to the page that shows the target of a reference."""
    try:
        ref = Ref.parse(page.query("ref"))
    except CommonplaceError as invalid:
        raise PageNotFound(invalid.message, invalid.hint or "") from None
    if ref.kind is RefKind.INSTRUCTION:
        return page.redirect(f"/instructions/{quote_path(ref.key)}")
    if ref.kind is RefKind.MEMORY:
        return page.redirect(f"/memory/{quote_path(ref.key)}")
    if ref.kind is RefKind.OPENAPI:
        document = str(stored_file(ref.project or "", ref.key))
        part = {"tab": "source", "pointer": ref.pointer} if ref.pointer else {}
        return page.redirect("/openapi", ref=document, **part)
    span = await _byte_span(page, ref)
    place = {"start": span[0], "end": span[1]} if span is not None else {}
    return page.redirect("/files", project=ref.project, path=ref.key, **place)


async def _byte_span(page: Page, ref: Ref) -> tuple[int, int] | None:
    """Return the bytes that a reference names; None for a whole file."""
    if ref.lines is None:
        return None if ref.start is None or ref.end is None else (ref.start, ref.end)
    first, last = ref.lines
    arguments = {"project": ref.project, "path": ref.key, "start_line": first, "end_line": last}
    read = await page.ask("file_read", arguments)
    return int(read["file_seek_start_bytes"]), int(read["file_seek_end_bytes"])


ROUTES = (PageRoute("/open", open_reference),)

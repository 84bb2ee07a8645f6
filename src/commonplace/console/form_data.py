"""Read the forms that browsers send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException
from starlette.requests import Request

from commonplace.console.errors import FormRejected

MAX_BYTES = 64 * 1024 * 1024
MAX_FIELDS = 5000
MAX_FILES = 1000


@dataclass(frozen=True, slots=True)
class FormData:
    """The fields of a form. Line ends of texts are `\\n`, as the person sees them."""

    fields: Mapping[str, Sequence[str]]
    files: Mapping[str, Sequence[UploadFile]] = field(default_factory=dict)

    def text(self, name: str, default: str = "") -> str:
        """Return the first value of a field."""
        values = self.fields.get(name)
        return values[0] if values else default

    def texts(self, name: str) -> Sequence[str]:
        """Return all values of a field, such as the selected rows of a table."""
        return self.fields.get(name, ())

    def has(self, name: str) -> bool:
        """Whether a field was sent: a checked box, or the button that was pressed."""
        return name in self.fields

    def uploads(self, name: str) -> Sequence[UploadFile]:
        """Return the files of a field, without the empty one that browsers send for none."""
        return [file for file in self.files.get(name, ()) if file.filename]


async def read_form(request: Request) -> FormData:
    """Read a form of at most MAX_BYTES. Raises FormRejected."""
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length) > MAX_BYTES:
        raise _too_large()
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        if not length:  # files are spooled to disk, so their size must be known before
            raise FormRejected("A form with files needs a Content-Length.", 411)
        return await _read_multipart(request)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BYTES:
            raise _too_large()
    try:
        pairs = parse_qsl(
            body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="replace"
        )
    except ValueError:
        raise FormRejected("The form could not be read.", 400) from None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(_with_unix_line_ends(value))
    return FormData(fields)


async def _read_multipart(request: Request) -> FormData:
    try:
        form = await request.form(
            max_files=MAX_FILES, max_fields=MAX_FIELDS, max_part_size=MAX_BYTES
        )
    except MultiPartException as wrong:
        raise FormRejected(f"The form could not be read: {wrong.message}", 400) from None
    fields: dict[str, list[str]] = {}
    files: dict[str, list[UploadFile]] = {}
    for name, value in form.multi_items():
        if isinstance(value, UploadFile):
            files.setdefault(name, []).append(value)
        else:
            fields.setdefault(name, []).append(_with_unix_line_ends(value))
    return FormData(fields, files)


def _with_unix_line_ends(text: str) -> str:
    """Undo what browsers do to the line ends of a text area."""
    return text.replace("\r\n", "\n")


def _too_large() -> FormRejected:
    return FormRejected(f"The form is larger than {MAX_BYTES // 1024 // 1024} MiB.", 413)

"""Forms as browsers send them."""

from __future__ import annotations

import asyncio
from urllib.parse import urlencode

import pytest
from starlette.requests import Request

from commonplace.console import form_data
from commonplace.console.errors import FormRejected
from commonplace.console.form_data import FormData, read_form

BOUNDARY = "x" * 20


def request_with(body: bytes, content_type: str, length: str | None = "") -> Request:
    headers = [(b"content-type", content_type.encode())]
    if length is not None:
        headers.append((b"content-length", (length or str(len(body))).encode()))
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> dict[str, object]:
        return next(messages)

    return Request({"type": "http", "method": "POST", "headers": headers}, receive)


def read(body: bytes, content_type: str, length: str | None = "") -> FormData:
    return asyncio.run(read_form(request_with(body, content_type, length)))


def read_fields(pairs: list[tuple[str, str]]) -> FormData:
    return read(urlencode(pairs).encode(), "application/x-www-form-urlencoded")


def multipart(*parts: tuple[str, bytes]) -> bytes:
    made = b"".join(
        f"--{BOUNDARY}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + body + b"\r\n"
        for head, body in parts
    )
    return made + f"--{BOUNDARY}--\r\n".encode()


def test_fields_that_occur_several_times_are_all_returned() -> None:
    form = read_fields([("ids", "a"), ("ids", "b"), ("empty", "")])
    assert form.texts("ids") == ["a", "b"]
    assert form.text("ids") == "a"
    assert form.has("empty")
    assert not form.has("missing")
    assert form.text("missing", "default") == "default"


def test_line_ends_of_text_areas_become_line_feeds() -> None:
    assert read_fields([("body", "a\r\nb\r\n")]).text("body") == "a\nb\n"
    body = multipart(('name="body"', b"a\r\nb"))
    assert read(body, f"multipart/form-data; boundary={BOUNDARY}").text("body") == "a\nb"


def test_files_keep_their_bytes_and_empty_inputs_are_left_out() -> None:
    body = multipart(
        ('name="files"; filename="a.txt"\r\nContent-Type: text/plain', b"one\r\ntwo"),
        ('name="files"; filename=""\r\nContent-Type: application/octet-stream', b""),
    )
    uploads = read(body, f"multipart/form-data; boundary={BOUNDARY}").uploads("files")
    assert [upload.filename for upload in uploads] == ["a.txt"]
    assert uploads[0].file.read() == b"one\r\ntwo"


def test_a_text_of_several_megabytes_fits_into_a_field() -> None:
    text = "x" * (3 * 1024 * 1024)
    body = multipart(('name="body"', text.encode()))
    assert read(body, f"multipart/form-data; boundary={BOUNDARY}").text("body") == text


def test_a_form_that_announces_too_much_is_rejected_unread() -> None:
    with pytest.raises(FormRejected) as caught:
        read(b"", "application/x-www-form-urlencoded", str(form_data.MAX_BYTES + 1))
    assert caught.value.status == 413


@pytest.mark.parametrize(
    ("body", "content_type", "length", "status"),
    [
        (b"a=1&" * (form_data.MAX_FIELDS + 1), "application/x-www-form-urlencoded", "", 400),
        (b"\xff\xfe=1", "application/x-www-form-urlencoded", "", 400),
        (b"--other\r\n", f"multipart/form-data; boundary={BOUNDARY}", None, 411),
        (b"garbage", "multipart/form-data", "", 400),
    ],
)
def test_a_malformed_form_is_rejected(
    body: bytes, content_type: str, length: str | None, status: int
) -> None:
    with pytest.raises(FormRejected) as caught:
        read(body, content_type, length)
    assert caught.value.status == status

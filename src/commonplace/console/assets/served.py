"""Serve static files: compressed once, with a hash in the address so that browsers keep them."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from commonplace.console.assets.listing import VENDOR
from commonplace.console.security import FRAME_SECURITY_POLICY, ROOT

OWN = Path(__file__).parent.parent / "static"
YEAR = "public, max-age=31536000, immutable"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*){0,3}")
FRAMES = frozenset({"graph-frame.html"})


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file in memory."""

    content: bytes
    compressed: bytes
    content_type: str
    version: str


class Assets:
    """Static files by name: our own first, then those of npm packages."""

    def url(self, name: str) -> str:
        """Return the address of a file, with its version."""
        return f"{ROOT}/static/{name}?v={self._require(name).version}"

    def has(self, name: str) -> bool:
        """Whether a file exists; files of npm packages may be missing."""
        return load(name) is not None

    def respond(self, request: Request) -> Response:
        """Answer a request for a file."""
        name = str(request.path_params["name"])
        file = load(name)
        if file is None:
            return Response("Not found", 404, media_type="text/plain")
        headers = {"Vary": "Accept-Encoding"}
        is_current = request.query_params.get("v") == file.version
        headers["Cache-Control"] = YEAR if is_current else "no-cache"
        if name in FRAMES:
            headers["Content-Security-Policy"] = FRAME_SECURITY_POLICY
        headers["ETag"] = f'"{file.version}"'
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        body = file.content
        if "gzip" in request.headers.get("accept-encoding", ""):
            body, headers["Content-Encoding"] = file.compressed, "gzip"
        return Response(body, media_type=file.content_type, headers=headers)

    def _require(self, name: str) -> StaticFile:
        file = load(name)
        if file is None:
            raise LookupError(f"no static file {name}")
        return file


def load(name: str) -> StaticFile | None:
    """Read a file once; None if it does not exist."""
    if NAME.fullmatch(name) is None:
        return None
    path = next((folder / name for folder in (OWN, VENDOR) if (folder / name).is_file()), None)
    return None if path is None else _read(path)


@cache
def _read(path: Path) -> StaticFile:
    content = path.read_bytes()
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    version = hashlib.sha256(content).hexdigest()[:12]
    return StaticFile(content, gzip.compress(content, 6, mtime=0), kind, version)

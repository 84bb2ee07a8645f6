"""Storing a text that is larger than one request: in parts, then moved into place in one step.

A transfer that fails leaves the file as it was. `write_in_parts` yields the calls, and `run` or
`run_async` makes them, so that the command line, the console and the import do the same.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from commonplace.kernel.json_types import Json, JsonObject

MAX_PATH_CHARACTERS = 512


class Reply(Protocol):
    """The reply to a call of a tool: its output, or its error as a dictionary."""

    @property
    def output(self) -> Json: ...

    @property
    def error(self) -> Mapping[str, Json] | None: ...


@dataclass(frozen=True, slots=True)
class TransferReply:
    """The combined reply of a transfer."""

    output: Json
    error: Mapping[str, Json] | None = None


ToolRequest = tuple[str, JsonObject]
Steps = Generator[ToolRequest, Reply, Reply]


def run(steps: Steps, call: Callable[[str, JsonObject], Reply]) -> Reply:
    """Make the calls of a transfer; return their combined reply."""
    try:
        request = next(steps)
        while True:
            request = steps.send(call(*request))
    except StopIteration as done:
        reply: Reply = done.value
        return reply


async def run_async(steps: Steps, call: Callable[[str, JsonObject], Awaitable[Reply]]) -> Reply:
    """Do the same for a client with an event loop."""
    try:
        request = next(steps)
        while True:
            request = steps.send(await call(*request))
    except StopIteration as done:
        reply: Reply = done.value
        return reply


def write_in_parts(arguments: Mapping[str, Json]) -> Steps:
    """Call file_write with these arguments; store a text in parts that is too long for one call.

    For the modes TRUNCATE and APPEND.
    """
    whole = yield "file_write", dict(arguments)
    limit = _request_limit(whole)
    if limit is None or arguments.get("mode", "APPEND") == "OVERWRITE":
        return whole
    place = {"project": arguments["project"], "path": arguments["path"]}
    content, if_match = str(arguments["content"]), arguments.get("if_match")
    before = yield "file_stat", place
    if before.error is not None:
        return before
    if arguments.get("mode", "APPEND") == "APPEND" and before.output["exists"]:
        old = yield "file_read", place
        if old.error is not None:
            return old
        content = old.output["content"] + content
        if_match = if_match if if_match is not None else old.output["content_hash"]
    temporary = {**place, "path": temporary_path(place["path"])}
    stored = yield from _store_parts(temporary, content, limit)
    if stored.error is None:
        target = {"new_path": place["path"], "overwrite": True, "if_match": if_match}
        moved = yield "file_rename", {**temporary, **target}
        if moved.error is not None:
            yield "file_delete", temporary
            return moved
        source = arguments.get("source_path") or before.output.get("source_path")
        if source:
            yield "file_write", {**place, "content": "", "mode": "APPEND", "source_path": source}
        written = len(str(arguments["content"]).encode("utf-8", "surrogatepass"))
        return TransferReply({**stored.output, "bytes_written": written})
    return stored


def _store_parts(temporary: JsonObject, content: str, limit: int) -> Steps:
    """Write the parts one after the other, each only onto the one before it."""
    reply: Reply = TransferReply({})
    expected = ""
    for part in parts_of(content, limit):
        reply = yield (
            "file_write",
            {**temporary, "content": part, "mode": "APPEND", "if_match": expected},
        )
        if reply.error is not None:
            if expected:
                yield "file_delete", temporary
            return reply
        expected = reply.output["content_hash"]
    return reply


def parts_of(content: str, limit: int) -> Iterator[str]:
    """Split a text into parts of at most `limit` bytes of UTF-8 each, never inside a character."""
    raw, start = content.encode("utf-8", "surrogatepass"), 0

    def inside(at: int) -> bool:
        return at < len(raw) and raw[at] & 0xC0 == 0x80

    while start < len(raw):
        end = min(start + limit, len(raw))
        while inside(end):
            end -= 1
        if end <= start:  # a limit below one character
            end = start + 1
            while inside(end):
                end += 1
        yield raw[start:end].decode("utf-8", "surrogatepass")
        start = end


def _request_limit(reply: Reply) -> int | None:
    """Return the size of a request, where this limit refused the call."""
    details = (reply.error or {}).get("details") or {}
    return int(details["limit_bytes"]) if details.get("in_parts") else None


def temporary_path(path: str) -> str:
    """Return a unique name beside the target."""
    suffix = f".part-{secrets.token_hex(6)}"
    return path[: MAX_PATH_CHARACTERS - len(suffix)].rstrip("/") + suffix

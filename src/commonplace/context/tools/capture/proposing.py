"""`capture_transcript`: propose lessons and rules from the transcript of a session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from pydantic import Field

from commonplace.context.capture.model import PROJECT_CHARACTERS
from commonplace.context.capture.reading.transcripts import read_bytes
from commonplace.context.capture.service import CaptureService
from commonplace.context.tools.capture.shapes import CaptureOutput, show_outcome
from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.kernel.auth import Scope
from commonplace.kernel.json_types import JsonObject

MAX_TEXT = 16_000_000


class CaptureTranscriptInput(Arguments):
    text: str = Field(
        max_length=MAX_TEXT,
        description="The transcript: JSON Lines of Claude Code or Codex, messages as JSON, "
        "Markdown or plain text.",
    )
    session: str = Field(
        default="", max_length=256, description="Its id, if the transcript does not tell."
    )
    project: str = Field(
        default="", max_length=PROJECT_CHARACTERS, description="Project of the lessons."
    )


def transcript_tool(service: Callable[[], CaptureService]) -> Tool:
    """Build `capture_transcript`."""

    async def handler(ctx: Context, args: CaptureTranscriptInput) -> JsonObject:
        content = args.text.encode("utf-8", "replace")
        transcript = await asyncio.to_thread(read_bytes, content)
        if args.session:
            transcript = replace(transcript, session=args.session)
        return show_outcome(await service().capture(ctx.auth, transcript, args.project))

    return Tool(
        name="capture_transcript",
        toolset="context",
        title="Propose lessons and rules from a session",
        description="Find errors with their fixes, decisions, rules and commands that worked in "
        "the transcript of a session, and queue them as proposals. Secrets are masked; a person "
        "decides what is kept.",
        input=CaptureTranscriptInput,
        output=CaptureOutput,
        handler=handler,
        tier=Tier.EXTENDED,
        read_only=False,
        scope=Scope.WRITE,
        redact=frozenset({"text"}),
    )

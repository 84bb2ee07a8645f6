"""A session as capture sees it: what was said, run and changed, in order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Speaker(StrEnum):
    """Who wrote a text. What tools return belongs to nobody and is never a statement."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class SpokenText:
    """Something a person or the model wrote."""

    speaker: Speaker
    text: str


@dataclass(frozen=True, slots=True)
class CommandRun:
    """A command and what it printed; `failed` is None if the transcript does not tell."""

    command: str
    output: str
    failed: bool | None


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that the session wrote."""

    path: str


SessionStep = SpokenText | CommandRun | WrittenFile


@dataclass(frozen=True, slots=True)
class SessionTranscript:
    """A session. `folder` is where it worked; `unreadable` counts lines that were left out."""

    steps: tuple[SessionStep, ...]
    session: str = ""
    folder: str = ""
    unreadable: int = 0
    is_cut: bool = False  # only the end was read

"""Limits of what is read: a hostile or endless transcript costs bounded time and memory."""

from __future__ import annotations

from collections import deque

from commonplace.context.capture.transcript import (
    CommandRun,
    SessionStep,
    SpokenText,
    WrittenFile,
)

MOST_BYTES = 48 * 1024 * 1024  # of a file; the end of a session tells how it ended
MOST_LINE_BYTES = 4 * 1024 * 1024
MOST_TEXT = 20_000  # characters of a message
MOST_COMMAND = 2_000
OUTPUT_BEGINNING, OUTPUT_END = 3_000, 9_000  # characters of an output: errors are near its end
MOST_KEPT = 4_000_000  # characters of all steps together
MOST_STEPS = 20_000
CUT = "\n[...]\n"


def shorten_text(text: str, most: int = MOST_TEXT) -> str:
    """Cut a text at white space, so that no word is cut in two."""
    if len(text) <= most:
        return text
    cut = text[:most]
    at = max(cut.rfind(" "), cut.rfind("\n"))
    return cut[:at] if at > 0 else ""


def shorten_output(text: str) -> str:
    """Keep the beginning and the end of an output, in whole lines."""
    if len(text) <= OUTPUT_BEGINNING + OUTPUT_END:
        return text
    end = text[-OUTPUT_END:]
    at = end.find("\n")
    return shorten_text(text, OUTPUT_BEGINNING) + CUT + (end[at + 1 :] if at >= 0 else "")


class StepBuffer:
    """The newest steps within the limits."""

    def __init__(self, most_kept: int = MOST_KEPT, most_steps: int = MOST_STEPS) -> None:
        self._steps: deque[SessionStep] = deque()
        self._most_kept = most_kept
        self._most_steps = most_steps
        self._kept = 0
        self.is_cut = False

    def add(self, step: SessionStep) -> None:
        """Add a step; the oldest are dropped where there is no room."""
        self._steps.append(step)
        self._kept += _size(step)
        while self._kept > self._most_kept or len(self._steps) > self._most_steps:
            self._kept -= _size(self._steps.popleft())
            self.is_cut = True

    def steps(self) -> tuple[SessionStep, ...]:
        return tuple(self._steps)


def _size(step: SessionStep) -> int:
    if isinstance(step, SpokenText):
        return len(step.text)
    if isinstance(step, CommandRun):
        return len(step.command) + len(step.output)
    assert isinstance(step, WrittenFile)
    return len(step.path)

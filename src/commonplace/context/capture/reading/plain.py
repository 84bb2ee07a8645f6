"""Transcripts as plain text or Markdown: headings of speakers, commands after a prompt sign."""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.context.capture.reading.limits import (
    MOST_COMMAND,
    MOST_TEXT,
    StepBuffer,
    shorten_output,
    shorten_text,
)
from commonplace.context.capture.transcript import CommandRun, Speaker, SpokenText

_USER = r"user|human|me|you|developer|prompt|question|nutzer|utilisateur|usuario"
_ASSISTANT = (
    r"assistant|ai|claude(?: code)?|codex|model|agent|chatgpt|copilot|gemini|cursor|answer|bot"
)
_SPEAKER = re.compile(
    rf"^(?:#{{1,6}} +|[-*] +)?[*_]{{0,3}}(?:\W{{1,3}} ?)?(?P<who>{_USER}|{_ASSISTANT})"
    r"(?: *\([^)\n]{0,40}\))?[*_]{0,3} *(?P<colon>:?)[*_]{0,3} *(?P<rest>.*)$",
    re.IGNORECASE,
)
_TYPED = re.compile(r"^(?:\u276f|\u203a|> )\s*(?P<text>\S.*)$")
_ANSWERED = re.compile(r"^[⏺●•]\s+(?P<text>\S.*)$")
_TOOL_LINE = re.compile(r"^(?:Bash|Shell|Run|Ran|Exec)(?:\((?P<call>.*)\)|:? `?(?P<line>[^`]+)`?)$")
_PROMPT = re.compile(
    r"^\s{0,8}(?:\([^)]{1,30}\) ?)?(?:[\w.@~/:-]{0,60})?(?:\$|\u276f|"
    r"#(?=\s\S*\s?/))\s+(?P<command>\S.*)$"
)
_FENCE = re.compile(r"^\s{0,3}(```+|~~~+)\s*(?P<language>[\w+-]*)")
_CONSOLE = frozenset(
    {"console", "shell", "bash", "sh", "zsh", "terminal", "shell-session", "text", ""}
)
_EXIT_LINE = re.compile(
    r"(?i)^\s*\[?(?:exit(?:ed)?(?: with)?(?: code| status)?|rc|status)[:= ]+(-?\d{1,3})\]?\s*$"
)
MOST_LINE = 4_000


class PlainReader:
    """Reads lines of text in order."""

    def __init__(self, steps: StepBuffer) -> None:
        self._steps = steps
        self._speaker = Speaker.ASSISTANT
        self._text: list[str] = []
        self._length = 0
        self._fence = ""
        self._is_console = False
        self._command: str | None = None
        self._output: list[str] = []
        self._exit: int | None = None

    def read(self, line: str) -> None:
        """Read one line without its end."""
        line = line[:MOST_LINE].rstrip()
        fence = _FENCE.match(line)
        if fence and (not self._fence or line.strip().startswith(self._fence)):
            self._toggle_fence(fence)
            return
        if self._fence:
            self._read_code(line)
        elif not self._read_sign(line):
            self._read_prose(line)

    def close(self) -> None:
        """Add what was read last."""
        self._end_command()
        self._end_text()

    def _toggle_fence(self, fence: re.Match[str]) -> None:
        self._end_command()
        if self._fence:
            self._fence, self._is_console = "", False
        else:
            self._fence = fence[1]
            self._is_console = fence["language"].lower() in _CONSOLE
        self._add("```")  # code is not a statement: the extraction leaves it out

    def _read_code(self, line: str) -> None:
        prompt = _PROMPT.match(line) if self._is_console else None
        if prompt:
            self._end_command()
            self._begin_command(prompt["command"])
        elif self._command is not None:
            self._read_output(line)
        else:
            self._add(line)

    def _read_sign(self, line: str) -> bool:
        """Read a line that tells who speaks or what is run."""
        if match := _SPEAKER.match(line):
            is_heading = line.startswith(("#", "**"))
            if match["colon"] or (is_heading and not match["rest"]):
                self._end_command()
                self._end_text()
                users = re.fullmatch(_USER, match["who"].lower()) is not None
                self._speaker = Speaker.USER if users else Speaker.ASSISTANT
                if match["rest"]:
                    self._add(match["rest"])
                return True
        if match := _PROMPT.match(line):
            self._end_command()
            self._begin_command(match["command"])
            return True
        for pattern, speaker in ((_TYPED, Speaker.USER), (_ANSWERED, Speaker.ASSISTANT)):
            if match := pattern.match(line):
                if pattern is _TYPED and line.startswith("> ") and self._text:
                    return False  # a quotation inside a text
                self._end_command()
                if tool := _TOOL_LINE.match(match["text"]):
                    self._begin_command(tool["call"] or tool["line"] or "")
                    return True
                if self._speaker is not speaker:
                    self._end_text()
                    self._speaker = speaker
                self._add(match["text"])
                return True
        return False

    def _read_prose(self, line: str) -> None:
        if self._command is not None:
            if line.strip():
                self._read_output(line)
                return
            self._end_command()
        self._add(line)

    def _read_output(self, line: str) -> None:
        if told := _EXIT_LINE.match(line):
            self._exit = int(told[1])
        elif len(self._output) < 2_000:
            self._output.append(re.sub(r"^\s{0,4}⎿\s{0,2}", "", line))

    def _begin_command(self, command: str) -> None:
        self._end_text()
        self._command, self._output, self._exit = shorten_text(command, MOST_COMMAND), [], None

    def _end_command(self) -> None:
        if self._command:
            failed = None if self._exit is None else self._exit != 0
            output = shorten_output("\n".join(self._output))
            self._steps.add(CommandRun(self._command, output, failed))
        self._command = None

    def _add(self, line: str) -> None:
        self._text.append(line)
        self._length += len(line) + 1
        if self._length > MOST_TEXT:
            self._end_text()

    def _end_text(self) -> None:
        text = "\n".join(self._text).strip()
        if text.strip("`\n "):
            self._steps.add(SpokenText(self._speaker, shorten_text(text)))
        self._text, self._length = [], 0


def split_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text; form feeds and the like do not end a line."""
    return (line.rstrip("\r") for line in text.split("\n"))

"""Calls of tools in transcripts: which are commands, which write files, and how they ended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from commonplace.context.capture.reading.limits import (
    MOST_COMMAND,
    StepBuffer,
    shorten_output,
    shorten_text,
)
from commonplace.context.capture.transcript import CommandRun, WrittenFile
from commonplace.kernel.json_types import Json

SHELLS = frozenset(
    {
        "bash",
        "shell",
        "local_shell",
        "shell_command",
        "exec_command",
        "execute_command",
        "run_shell_command",
        "run_terminal_cmd",
        "run_in_terminal",
        "runcommands",
        "terminal",
        "exec",
        "powershell",
        "container.exec",
    }
)
_WRITERS = ("write", "edit", "patch", "create_file", "replace", "str_replace", "new_file")
_PATHS = ("file_path", "filePath", "path", "notebook_path", "target_file", "absolute_path")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (\S.{0,500})$", re.MULTILINE)
_EXIT = re.compile(
    r"(?i)\b(?:process )?(?:exited with (?:exit )?(?:code|status)|exit(?:ed)?[ _](?:code|status)|"
    r"return code)[: ]{1,2}(-?\d{1,4})\b"
)
_REFUSED = re.compile(
    r"(?i)(?:user )?(?:doesn't|does not) want to (?:proceed|take this action)|"
    r"tool use was rejected|"
    r"request interrupted by user|permission (?:to use|for this action)|user rejected|"
    r"blocked by (?:a )?(?:hook|policy|sandbox)"
)
_HEADER = re.compile(
    r"\A(?:Exit code -?\d+|Chunk ID: \S+|Wall time: [^\n]*|Process exited with [^\n]*|"
    r"Original token count: [^\n]*|Output:|\s)+\n"
)
_TAGS = re.compile(r"</?(?:bash-stdout|bash-stderr|tool_use_error|stdout|stderr|output|error)>")
_WRAPPER = re.compile(r"\A(?:/\S+/)?(?:ba|z|da)?sh$")
MOST_OPEN = 2_000  # calls without a result


class OpenCalls:
    """Commands and changes that wait for their result."""

    def __init__(self, steps: StepBuffer) -> None:
        self._steps = steps
        self._open: dict[str, CommandRun | tuple[WrittenFile, ...]] = {}

    def begin(self, id_: Json, name: Json, arguments: Json) -> None:
        """Note the call of a tool; one that neither runs a command nor writes is left out."""
        call = read_call(str(name or ""), arguments)
        if call is None:
            return
        if len(self._open) >= MOST_OPEN:
            self._finish_unknown()
        self._open[str(id_)] = call

    def end(self, id_: Json, output: str, failed: bool | None) -> None:
        """Add what a call did."""
        call = self._open.pop(str(id_), None)
        if call is None or _REFUSED.search(output[:2_000]):
            return
        if isinstance(call, tuple):
            for change in () if failed else call:
                self._steps.add(change)
            return
        told = read_exit(output)
        self._steps.add(
            CommandRun(
                call.command, clean_output(output), failed if told is None else bool(told or failed)
            )
        )

    def close(self) -> None:
        """Add the calls whose result is missing."""
        self._finish_unknown()

    def _finish_unknown(self) -> None:
        for call in self._open.values():
            for change in call if isinstance(call, tuple) else ():
                self._steps.add(change)
        self._open = {}


def read_call(name: str, arguments: Json) -> CommandRun | tuple[WrittenFile, ...] | None:
    """Return what a tool is about to do, if it runs a command or writes files."""
    name = name.rsplit("__", 1)[-1].rsplit(".", 1)[-1].lower()
    if isinstance(arguments, str):
        patched = tuple(WrittenFile(path) for path in find_patched(arguments))
        if patched:
            return patched
        return (
            CommandRun(shorten_text(arguments, MOST_COMMAND), "", None) if name in SHELLS else None
        )
    if not isinstance(arguments, Mapping):
        return None
    command = read_command(arguments)
    if name in SHELLS or name == "container.exec":
        patched = tuple(WrittenFile(path) for path in find_patched(command))
        return patched or (
            CommandRun(shorten_text(command, MOST_COMMAND), "", None) if command else None
        )
    if any(word in name for word in _WRITERS):
        named = [arguments.get(field) for field in _PATHS]
        paths = [path for path in named if isinstance(path, str) and path]
        for field in ("input", "patch", "command"):
            if isinstance(text := arguments.get(field), str):
                paths += find_patched(text)
        return tuple(WrittenFile(path[:500]) for path in dict.fromkeys(paths)) or None
    return None


def read_command(arguments: Mapping[str, Json]) -> str:
    """Return the command of a shell call, without the shell that runs it."""
    for field in ("command", "cmd", "script", "input"):
        value = arguments.get(field)
        if isinstance(value, str):
            return value.strip()
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            if len(value) >= 3 and _WRAPPER.match(value[0]) and value[1].startswith("-"):
                return str(value[2]).strip()
            return " ".join(_quoted(word) for word in value).strip()
    return ""


def find_patched(text: str) -> list[str]:
    """Return the files of a patch in the format of apply_patch."""
    if "*** Begin Patch" not in text[:200_000]:
        return []
    return list(dict.fromkeys(_PATCHED.findall(text[:200_000])))[:50]


def read_exit(output: str) -> int | None:
    """Return the exit code that a client wrote at the beginning of an output."""
    match = _EXIT.search(output[:400])
    return int(match[1]) if match else None


def clean_output(output: str) -> str:
    """Return an output without what a client wrote around it, within the limits."""
    return shorten_output(_HEADER.sub("", _TAGS.sub("", output)))


def texts_of(content: Json, depth: int = 0) -> Iterator[str]:
    """Yield the texts of a message or a result, in any of the forms that clients write."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, Mapping) and depth < 4:
        for field in ("text", "output", "content", "stdout", "stderr"):
            if content.get(field):
                yield from texts_of(content[field], depth + 1)
    elif isinstance(content, list) and depth < 4:
        for part in content[:200]:
            yield from texts_of(part, depth + 1)


def _quoted(word: str) -> str:
    return word if word and not re.search(r"[\s'\"$&|;<>]", word) else "'" + word + "'"

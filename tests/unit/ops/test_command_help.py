"""What `--help` of every command shows: examples, and such as the command takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from commonplace.cli.commands import app


def commands(group: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *path, name)
        else:
            yield (*path, name), command


COMMANDS = {path: command for path, command in commands(get_command(app)) if path != ("serve",)}  # which has a parser of its own


def examples(command: Any) -> list[list[str]]:
    """The command lines in a command's help, each up to the pipe or redirection behind it, without `commonplace` and its options."""
    text = re.sub(r"\$\([^)]*\)", "today", command.help or "")
    found = re.findall(r"^\s*(?:Example: )?(?:[A-Z_]+=\S+ )?commonplace (?:--(?:data|config) \S+ )?(.+)$", text, re.MULTILINE)
    return [shlex.split(re.split(r" (?:\||>|<|&&) ", line)[0]) for line in found]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_a_command_that_needs_something_shows_an_example(path: tuple[str, ...]) -> None:
    if any(one.required for one in COMMANDS[path].params):
        assert examples(COMMANDS[path])


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_examples_are_command_lines_that_the_command_takes(path: tuple[str, ...]) -> None:
    for words in examples(COMMANDS[path]):
        named = next(one for one in COMMANDS if tuple(words[: len(one)]) == one)  # nearly always its own name
        COMMANDS[named].make_context(" ".join(named), words[len(named) :])

"""The help of every command, with examples that the command accepts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from commonplace.cli.commands import program
from commonplace.cli.groups import DESTRUCTIVE, suggestions
from commonplace.cli.overview import COMMANDS as LISTED


def commands(group: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *path, name)
        else:
            yield (*path, name), command


COMMANDS = {
    path: command for path, command in commands(program()) if path != ("serve",)
}  # which has a parser of its own


def examples(command: Any) -> list[list[str]]:
    """The command lines in a command's help, each up to the pipe or redirection behind it,
    without `commonplace` and its options.
    """
    text = re.sub(r"\$\([^)]*\)", "today", command.help or "")
    found = re.findall(
        r"^\s*(?:Example: )?(?:[A-Z_]+=\S+ )?commonplace (?:--(?:data|config) \S+ )?(.+)$",
        text,
        re.MULTILINE,
    )
    return [shlex.split(re.split(r" (?:\||>|<|&&) ", line)[0]) for line in found]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_a_command_that_needs_something_shows_an_example(path: tuple[str, ...]) -> None:
    if any(item.required for item in COMMANDS[path].params):
        assert examples(COMMANDS[path])


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_examples_are_command_lines_that_the_command_takes(path: tuple[str, ...]) -> None:
    for words in examples(COMMANDS[path]):
        named = next(
            item for item in COMMANDS if tuple(words[: len(item)]) == item
        )  # nearly always its own name
        COMMANDS[named].make_context(" ".join(named), words[len(named) :])


def test_the_overview_matches_the_help_of_every_command() -> None:
    """`commonplace --help` prints a table of its own, so that it need not import the commands."""
    root = program()
    assert [each.name for each in LISTED] == list(root.commands)
    for each in LISTED:
        said = " ".join((root.commands[each.name].help or "").partition("\n\n")[0].split())
        assert said.startswith(each.summary.rstrip(".")), each.name


@pytest.mark.parametrize(
    ("typed", "names", "meant"),
    [
        ("create", ["add", "list", "revoke", "rotate"], ["add"]),
        ("rotat", ["add", "list", "revoke", "rotate"], ["rotate"]),
        ("restart", ["backup", "restore", "serve"], []),
        ("lst", ["add", "list", "revoke"], ["list"]),
        ("delete", ["get", "put", "rm"], ["rm"]),
        ("xyz", ["add", "list"], []),
    ],
)
def test_a_wrong_name_suggests_a_destructive_command_only_for_a_misspelling(
    typed: str, names: list[str], meant: list[str]
) -> None:
    assert suggestions(typed, names) == meant


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_destructive_command_is_listed_as_such(path: tuple[str, ...]) -> None:
    """A command that says that it ends, deletes or replaces something is suggested for its own
    misspellings only.
    """
    first = (COMMANDS[path].help or "").partition("\n\n")[0]
    if re.match(
        r"(End|Delete|Remove|Give a key a new secret|Check an archive and put|Move)\b", first
    ):
        assert path[-1] in DESTRUCTIVE

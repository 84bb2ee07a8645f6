"""Command groups: lazy imports, global options in any position, careful suggestions."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_command_from_info, get_command_name, get_group

from commonplace.cli.overview import Listed
from commonplace.cli.session import begin, session
from commonplace.cli.wording import as_typed

ClickCommand = Any  # Typer keeps its copy of Click private
ClickContext = Any
GLOBAL_OPTIONS = ("config_file", "data")
SYNONYMS = {
    "create": ("add", "init"),
    "new": ("add", "init"),
    "make": ("add",),
    "save": ("put", "add"),
    "store": ("put", "add"),
    "upload": ("put", "import"),
    "cat": ("get", "show"),
    "show": ("get", "list"),
    "read": ("get", "show"),
    "find": ("search", "grep"),
    "ls": ("list",),
    "list": ("ls",),
    "delete": ("rm", "remove", "revoke"),
    "del": ("rm", "remove"),
    "rm": ("remove",),
    "remove": ("rm",),
    "rename": ("mv",),
    "validate": ("check", "verify"),
    "start": ("serve",),
    "run": ("serve", "call"),
}
"""Names that other programs use, with our commands in order of preference."""
DESTRUCTIVE = frozenset(
    {
        "remove",
        "prune",
        "rm",
        "revoke",
        "rotate",
        "restore",
        "rebuild",
        "delete",
        "move",
        "mv",
        "groom",
        "purge",
        "overwrite",
    }
)
CLOSE, MISSPELLED = 0.6, 0.8


def suggestions(typed: str, names: Sequence[str]) -> list[str]:
    """Return the commands that were probably meant.

    A destructive command is suggested only for a synonym or a misspelling.
    """
    meant = [name for name in SYNONYMS.get(typed, ()) if name in names]
    if meant:
        return meant[:1]
    scores = {name: SequenceMatcher(None, typed, name).ratio() for name in names}
    likely = [
        name
        for name, score in scores.items()
        if score >= (MISSPELLED if name in DESTRUCTIVE else CLOSE)
    ]
    return sorted(likely, key=lambda name: -scores[name])[:3]


class CommandGroup(TyperGroup):
    """A group whose commands accept `--config` and `--data` too."""

    def get_command(self, ctx: ClickContext, cmd_name: str) -> ClickCommand:
        command = super().get_command(ctx, cmd_name)
        if command is not None and not command.ignore_unknown_options:
            _accept_global_options(command, ctx.find_root().command)
            command.help = as_typed(command.help or "")
        return command

    def resolve_command(self, ctx: ClickContext, args: list[str]) -> ClickCommand:
        if (
            args
            and not args[0].startswith("-")
            and not ctx.resilient_parsing
            and self.get_command(ctx, args[0]) is None
        ):
            likely = suggestions(args[0], list(self.commands))
            meant = (
                f" Did you mean {', '.join(map(repr, likely))}?"
                if likely
                else f" There are: {', '.join(self.commands)}."
            )
            ctx.fail(f"No such command {args[0]!r}.{meant}")
        return super().resolve_command(ctx, args)


def _accept_global_options(command: ClickCommand, root: ClickCommand) -> None:
    known = {parameter.name for parameter in command.params}
    for parameter in root.params:
        if parameter.name in GLOBAL_OPTIONS and parameter.name not in known:
            accepted = copy.copy(parameter)
            accepted.hidden, accepted.expose_value, accepted.callback = True, False, _apply
            command.params.append(accepted)


def _apply(
    context: typer.Context, parameter: typer.CallbackParam, value: Path | None
) -> Path | None:
    """Apply a global option that was given after the command."""
    if value is not None:
        run = session()
        given = {"config_file": run.config_file, "data": run.data, parameter.name: value}
        begin(given["config_file"], given["data"])
    return value


class LazyCommands(Mapping[str, ClickCommand]):
    """Commands by name, each created when it is looked up."""

    def __init__(self, makers: Mapping[str, Callable[[], ClickCommand]]) -> None:
        self._makers = makers
        self._made: dict[str, ClickCommand] = {}

    def __getitem__(self, name: str) -> ClickCommand:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def lazily(listed: Sequence[Listed]) -> LazyCommands:
    """Return the commands of the program, each imported when it is looked up."""
    return LazyCommands({each.name: partial(load, each) for each in listed})


def _group(group: typer.Typer, name: str) -> ClickCommand:
    """Return a Click group that creates its commands one by one.

    Reading the parameters of thirty functions takes longer than most commands.
    """
    shell = copy.copy(group)
    shell.registered_commands, shell.registered_groups = [], []
    shell.info = copy.copy(group.info)
    own = group.info.cls
    is_ours = isinstance(own, type) and issubclass(own, CommandGroup)
    shell.info.cls = own if is_ours else CommandGroup
    click_group = get_group(shell)
    click_group.name = name

    def command(info: Any) -> ClickCommand:
        return get_command_from_info(
            info, pretty_exceptions_short=False, rich_markup_mode=group.rich_markup_mode
        )

    makers: dict[str, Callable[[], ClickCommand]] = {
        info.name or get_command_name(getattr(info.callback, "__name__", "")): partial(
            command, info
        )
        for info in group.registered_commands
    }
    for nested in group.registered_groups:
        assert nested.typer_instance is not None
        makers[str(nested.name)] = partial(_group, nested.typer_instance, str(nested.name))
    click_group.commands = LazyCommands(makers)  # type: ignore[assignment]  # read only
    return click_group


def load(listed: Listed) -> ClickCommand:
    """Import a command and convert it to a Click command."""
    found = getattr(import_module(f"commonplace.cli.{listed.module}"), listed.attribute)
    if listed.is_group:
        return _group(found, listed.name)
    if not isinstance(found, typer.Typer):
        single = typer.Typer(add_completion=False, rich_markup_mode="rich")
        single.command(listed.name)(found)
        found = single
    command = get_command(found)
    command.name = listed.name
    return command

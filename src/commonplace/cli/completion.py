"""`commonplace completion`: completion scripts for shells."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import (  # type: ignore[attr-defined]  # not in its __all__
    completion_init,
    get_completion_script,
)

from commonplace.cli import COMPLETION_VARIABLE


class CompletionShell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def completion(shell: Annotated[CompletionShell, typer.Argument(help="Your shell.")]) -> None:
    """Print the completion script of a shell.

    Examples:
      commonplace completion bash > ~/.local/share/bash-completion/completions/commonplace
      commonplace completion fish > ~/.config/fish/completions/commonplace.fish
    """
    typer.echo(
        get_completion_script(
            prog_name="commonplace", complete_var=COMPLETION_VARIABLE, shell=shell.value
        )
    )


def prepare() -> None:
    """Let Typer answer a shell that asks for completions.

    Typer does this itself only for applications with its completion options.
    """
    if COMPLETION_VARIABLE in os.environ:
        completion_init()

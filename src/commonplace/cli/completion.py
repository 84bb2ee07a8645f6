"""`commonplace completion`: a script for the shell."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import completion_init, get_completion_script  # type: ignore[attr-defined]  # imported there, not listed

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
    """The shell asks: let Typer answer.

    Our application has no completion options of its own, so nobody else does this.
    """
    if COMPLETION_VARIABLE in os.environ:
        completion_init()

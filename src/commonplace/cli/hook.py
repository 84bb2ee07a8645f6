"""`commonplace hook` in the list of commands; `cli/hooks` answers without Typer."""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.cli.session import session


def hook(
    event: Annotated[str, typer.Argument(help="The event, such as UserPromptSubmit.")],
    client: Annotated[
        str, typer.Option("--client", help="The client; without it, its JSON tells.")
    ] = "",
) -> None:
    """Answer a hook of a client: its JSON on stdin, what the client takes on stdout.

    Asks the local server if one runs (commonplace up), else an index of the rules on disk. Prints
    nothing where nothing is new to the session, or where anything fails: commonplace doctor then
    says why. `connect --hooks` writes such commands.

    Examples:
      commonplace hook UserPromptSubmit --client claude-code < event.json
    """
    from commonplace.cli.hooks.entry import run_hook

    here = session()
    options = {"client": client, "data": here.data, "config": here.config_file}
    run_hook([event, *(f"--{name}={value}" for name, value in options.items() if value)])

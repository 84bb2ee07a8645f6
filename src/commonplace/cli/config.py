"""`commonplace config`: show, check and write the configuration."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from commonplace.cli.printing import JsonFlag, out, print_json, say, table
from commonplace.cli.reference import configuration_page, sample_file
from commonplace.cli.session import session
from commonplace.kernel.config.catalog import leaves, value_of
from commonplace.kernel.config.loading import Config
from commonplace.kernel.config.locations import FILE_NAME, user_config_folder
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import JsonObject
from commonplace.kernel.settings import WITHOUT_EFFECT
from commonplace.telemetry.redaction import MASK

app = typer.Typer(help="Show, check and write the configuration.", no_args_is_help=True)


@app.command()
def show(
    changed: Annotated[
        bool, typer.Option("--changed", help="Only values that differ from the default.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show every value in effect and its source; secrets are hidden.

    Examples:
      commonplace config show --changed
      MCP_ENABLE_MUTATION=1 commonplace config show --json
    """
    config = session().config()
    rows = [row for row in effective(config) if not changed or row["source"] != "default"]
    ignored = {name: why for name, why in WITHOUT_EFFECT.items() if name in os.environ}
    if as_json:
        file = str(config.file) if config.file else None
        print_json(
            {
                "file": file,
                "data": str(config.settings.data),
                "settings": rows,
                "variables_without_effect": ignored,
            }
        )
        return
    out.print(
        table(
            ("key", "value", "source"),
            [(row["key"], _format_value(row["value"]), row["source"]) for row in rows],
        )
    )
    for name, why in ignored.items():
        say(f"{name} is set and has no effect: {why}.")


@app.command()
def init(
    path: Annotated[
        Path | None, typer.Argument(help=f"Where to write (default ./{FILE_NAME}).")
    ] = None,
    user: Annotated[
        bool, typer.Option("--user", help="Write into the user's configuration folder.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a file with every key, its default and its meaning, all commented out.

    Example:
      commonplace config init --user
    """
    target = path or (user_config_folder(os.environ) if user else Path()) / FILE_NAME
    if target.exists() and not force:
        raise CommonplaceError(
            INVALID_ARGUMENT, f"{target} exists already.", hint="Use --force to replace it."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(sample_file(), "utf-8")
    out.print(f"wrote {target}")


@app.command()
def check(as_json: JsonFlag = False) -> None:
    """Check the configuration. Exit code 2 if it is not valid.

    Example:
      commonplace --config new.yaml config check
    """
    config = session().config()
    session().app()  # finds unknown toolsets and tools, as a server would
    if as_json:
        print_json({"ok": True, "file": str(config.file) if config.file else None})
    else:
        out.print(f"{config.file or 'no file'}: valid")


@app.command()
def reference() -> None:
    """Print the reference page of all keys and variables as Markdown."""
    typer.echo(configuration_page(), nl=False)


def effective(config: Config) -> list[JsonObject]:
    """Return key, value and source of every setting, with secrets masked."""
    rows: list[JsonObject] = [
        {"key": "data", "value": str(config.settings.data), "source": config.sources["data"]}
    ]
    for name, declared in leaves():
        value = value_of(config.settings, name)
        source = config.sources.get(name, "default")
        rows.append(
            {"key": f"settings.{name}", "value": _hidden(value, declared.secret), "source": source}
        )
    return rows


def _hidden(value: Any, secret: bool) -> Any:
    if secret and value:
        return dict.fromkeys(value, MASK) if hasattr(value, "keys") else MASK
    return (
        list(value)
        if isinstance(value, tuple)
        else dict(value)
        if hasattr(value, "keys")
        else value
    )


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(value) or "-"
    if isinstance(value, dict):
        return ", ".join(f"{k}: {v}" for k, v in value.items()) or "-"
    return "-" if value is None or value == "" else str(value)

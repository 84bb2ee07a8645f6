"""`commonplace oas`: validate, query, compare and change API descriptions."""

from __future__ import annotations

import typer

from commonplace.cli.openapi import read, write

app = typer.Typer(
    help="OpenAPI: validate, query, compare and change API descriptions.", no_args_is_help=True
)

app.command()(read.validate)
app.command()(read.parse)
app.command()(read.walk)
app.command()(read.diff)
app.command()(write.fix)
app.command()(write.convert)
app.command()(write.join)
app.command()(write.bundle)
app.command()(write.overlay)
app.command("overlay-validate")(write.overlay_validate)
app.command()(write.generate)

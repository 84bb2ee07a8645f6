"""`commonplace instructions`: the catalogue from the command line, through the tools."""

from __future__ import annotations

import typer

from commonplace.cli.instructions import (
    embedding,
    keeping,
    lint,
    reading,
    review,
    sync,
    transfer,
    writing,
)

app = typer.Typer(
    help="Governed instructions: find, read, change and check them.", no_args_is_help=True
)

app.command("list")(reading.list_)
app.command()(reading.search)
app.command()(embedding.embed)
app.command()(reading.show)
app.command()(writing.add)
app.command()(writing.edit)
app.command()(keeping.remove)
app.command()(keeping.restore)
app.command()(keeping.removed)
app.command()(keeping.archive)
app.add_typer(review.app, name="review")
app.command()(lint.lint)
app.command("import")(transfer.import_)
app.command()(transfer.export)
app.command()(reading.graph)
app.command()(writing.groom)
app.command()(transfer.init)
app.command()(sync.sync)

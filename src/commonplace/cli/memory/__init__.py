"""`commonplace memory`: what was learned, from the command line.

The drop-in `rekall` command runs these commands too.
"""

from __future__ import annotations

import typer

from commonplace.cli.memory import code, entries, housekeeping, index, links, promotion, transfer

app = typer.Typer(
    help="Memory: bugs, patterns, decisions, pitfalls, configuration, references.",
    no_args_is_help=True,
)

app.command()(entries.add)
app.command()(entries.search)
app.command()(entries.show)
app.command("list")(entries.list_entries)
app.command()(entries.edit)
app.command()(entries.rm)
app.command()(links.link)
app.command()(links.related)
app.command()(links.graph)
app.command()(links.suggest)
app.command()(housekeeping.decide)
app.command()(links.generalize)
app.command()(housekeeping.confirm)
app.command()(housekeeping.timeline)
app.command()(promotion.promote)
app.command()(entries.stale)
app.command()(housekeeping.purge)
app.command()(code.verify)
app.add_typer(code.cite, name="cite")
app.command("export")(transfer.export_entries)
app.command("import")(transfer.import_entries)
app.command()(index.stats)
app.command()(index.reindex)
app.command()(index.embed)

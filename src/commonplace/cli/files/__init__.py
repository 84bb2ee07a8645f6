"""`commonplace files`: projects of files from the command line."""

from __future__ import annotations

import typer

from commonplace.cli.files import content, folder, index, search, sync

app = typer.Typer(help="Files: projects of text files with search.", no_args_is_help=True)

app.command()(content.put)
app.command()(content.get)
app.command()(content.ls)
app.command()(content.rm)
app.command()(content.mv)
app.command()(content.restore)
app.command()(content.edit)
app.command()(search.search)
app.command()(search.grep)
app.command()(search.symbols)
app.command("import")(folder.import_folder)
app.command()(folder.export)
app.command()(sync.sync)
app.command()(index.reindex)
app.command()(index.projects)
app.command()(index.status)

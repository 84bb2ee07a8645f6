"""`commonplace migrate`: update the database schema, and move a data folder into it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli.moving import open_move, print_lacking, print_moved, require_source
from commonplace.cli.printing import JsonFlag, out, print_json, table
from commonplace.cli.session import session
from commonplace.kernel.json_types import JsonObject
from commonplace.kernel.settings import Settings

if TYPE_CHECKING:
    from commonplace.bootstrap.move_in import MovedPart

VECTOR_LENGTH = "vector length"


@dataclass(frozen=True, slots=True)
class SchemaStep:
    """One component of the schema: version found, version needed, and work that followed."""

    component: str
    found: int | str
    needed: int | str
    files_queued: int = 0
    chunks_indexed: int = 0

    @property
    def newer(self) -> bool:
        """Tell whether a later program wrote this schema; lengths and modes have no order."""
        if (
            not isinstance(self.found, int)
            or not isinstance(self.needed, int)
            or self.component == VECTOR_LENGTH
        ):
            return False
        return self.found > self.needed


def migrate(
    check: Annotated[
        bool,
        typer.Option("--check", help="Change nothing; exit code 1 if a migration is needed."),
    ] = False,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="DATA_DIR",
            help="Then bring the state of this data folder into PostgreSQL.",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Bring the schema of the database up to this version of commonplace.

    Servers on PostgreSQL do not start until this is done. With --from, what a data folder holds
    and the database lacks is stored there, read back and compared. What the database holds
    already is not changed, so the command can be repeated.

    Examples:
      commonplace migrate --check
      commonplace migrate
      commonplace migrate --from ~/.local/share/commonplace
    """
    from commonplace.bootstrap.team import on_postgres

    settings = session().config().settings
    if source is not None:
        require_source(source, settings)
    steps = list(
        _on_postgres(settings, check) if on_postgres(settings) else _on_sqlite(settings, check)
    )
    behind = [step for step in steps if step.found != step.needed]
    moved: list[MovedPart] = []
    lacking: dict[str, list[str]] = {}
    left: dict[str, str] = {}
    if source is not None and not (check and behind):
        with open_move(settings) as move:
            if check:
                lacking = move.find_lacking(source)
            else:
                moved, left = move.run(source), move.left_behind(source)
    if as_json:
        answer: JsonObject = {
            "current": not behind or not check,
            "components": [asdict(step) for step in steps],
        }
        if source is not None:
            parts = [asdict(part) for part in moved]
            answer |= {"lacking": lacking} if check else {"moved": parts, "left": left}
        print_json(answer)
    else:
        _print_steps(steps, check)
        print_moved(moved, left)
        print_lacking(lacking)
    if check and (behind or lacking):
        raise typer.Exit(1)


def _print_steps(steps: Sequence[SchemaStep], check: bool) -> None:
    rows = [
        (step.component, str(step.found), str(step.needed), _describe_step(step, check))
        for step in steps
    ]
    out.print(table(("component", "found", "needed", ""), rows))


def _describe_step(step: SchemaStep, check: bool) -> str:
    if step.chunks_indexed:
        return f"done, {step.chunks_indexed} chunks reindexed"
    if step.found == step.needed:
        return "current"
    if check:
        return "newer than this program" if step.newer else "run: commonplace migrate"
    return (
        f"done, {step.files_queued} files queued to be embedded again"
        if step.files_queued
        else "done"
    )


def _on_postgres(settings: Settings, check: bool) -> Iterator[SchemaStep]:
    from commonplace.bootstrap.team import direct_url, postgres_components
    from commonplace.files.store.postgres_embeddings import fit_length, vector_length
    from commonplace.files.store.postgres_words import fit_mode, lexical_mode
    from commonplace.storage.postgres import migrations as postgres_schema
    from commonplace.storage.postgres.database import open_database

    components, search = postgres_components(), settings.mcp.files.search
    dimensions = search.embedding.dimensions
    with open_database(direct_url(settings), pool_size=1) as database:
        if check:
            standings = database.read_now(
                lambda connection: postgres_schema.read_versions(connection, components)
            )
            yield from (
                SchemaStep(standing.component, standing.found, standing.needed)
                for standing in standings
            )
            ready = all(standing.found == standing.needed for standing in standings)
            yield SchemaStep(
                VECTOR_LENGTH, database.read_now(vector_length) if ready else 0, dimensions
            )
            yield SchemaStep(
                "lexical mode", database.read_now(lexical_mode) if ready else "bm25", search.lexical
            )
            return
        for standing in postgres_schema.migrate(database, components):
            yield SchemaStep(standing.component, standing.found, standing.needed)
        before, queued = fit_length(database, dimensions)
        yield SchemaStep(VECTOR_LENGTH, before, dimensions, queued)
        mode, indexed = fit_mode(database, search.lexical)
        yield SchemaStep("lexical mode", mode, search.lexical, chunks_indexed=indexed)


def _on_sqlite(settings: Settings, check: bool) -> Iterator[SchemaStep]:
    """Migrate the SQLite files; any process that opens them would do it too."""
    from commonplace.files.assembly import database_path
    from commonplace.storage.migrations import load_migrations
    from commonplace.storage.sqlite.database import Database
    from commonplace.storage.sqlite.migrations import migrate, schema_version

    places = {
        "search": database_path(settings),
        "files": database_path(settings),
        "memory": settings.data / "memory.db",
    }
    for component, path in places.items():
        migrations = load_migrations(f"commonplace.{component}", "migrations/sqlite")
        if check and not path.exists():
            yield SchemaStep(component, 0, migrations[-1].version)
            continue
        database = Database(path)
        try:
            found = schema_version(database.reader(), component)
            if not check:
                migrate(database, component, migrations)
        finally:
            database.close()
        yield SchemaStep(component, found, migrations[-1].version)

"""Commands on projects and the search index: reindex, projects, status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli.files.access import (
    print_answer,
    run,
    service,
    wait_for_index,
)
from commonplace.cli.printing import JsonFlag, out, print_json, say, table
from commonplace.cli.session import session
from commonplace.kernel.auth import local_user

if TYPE_CHECKING:
    pass


def reindex(
    project: Annotated[
        str | None, typer.Option("--project", "-p", help="One project; without it, all.")
    ] = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Delete the index first and rebuild it.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Bring the search index up to date with the files.

    Example:
      commonplace files reindex --project demo --rebuild
    """
    queued = run(service().reindex(local_user(), project, rebuild=rebuild))
    settled = wait_for_index()
    print_answer(
        {"queued": queued, "up_to_date": settled},
        as_json,
        "{queued} files indexed" if settled else "{queued} files queued",
    )


def projects(as_json: JsonFlag = False) -> None:
    """List projects with their files and bytes."""
    answer = session().call("file_projects", {})
    if as_json:
        print_json(answer)
    else:
        out.print(
            table(
                ("project", "files", "bytes"),
                [(p["project"], p["files"], p["size_bytes"]) for p in answer["projects"]],
            )
        )


def status(
    project: Annotated[str | None, typer.Option("--project", "-p", help="One project.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show how far the search index is behind. Exit code 1 if jobs were given up."""
    answer = session().call("file_index_status", {} if project is None else {"project": project})
    if as_json:
        print_json(answer)
    else:
        out.print(
            table(
                ("what", "value"),
                [(key, value) for key, value in answer.items() if key != "dead_letters"],
            )
        )
        for letter in answer["dead_letters"]:
            say(f"given up: {letter['file_path']}: {letter['error']}")
    if answer["dead"]:
        raise typer.Exit(1)

"""Access to the files service, and options that the commands share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.progress import Progress

from commonplace.cli.printing import err, print_json, say
from commonplace.cli.session import session
from commonplace.files.errors import NOT_FOUND
from commonplace.kernel.auth import local_user
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import JsonObject

if TYPE_CHECKING:
    from commonplace.files.service import FilesService


Result = TypeVar("Result")


SETTLE_SECONDS = 600.0


SERVER_SECONDS = 10.0  # if a server is running: it continues to index


Project = Annotated[
    str, typer.Option("--project", "-p", help="Project the files belong to.", show_default=True)
]


PathArgument = Annotated[str, typer.Argument(help="Path in the project, such as /notes/a.md.")]


Prefix = Annotated[str, typer.Option("--prefix", help="Only paths that start with this.")]


def service() -> FilesService:
    return session().app().services.files


def run(work: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run(work)


@contextmanager
def progress_bar(description: str, total: int | None = None) -> Iterator[Any]:
    """Show a progress bar on a terminal; the caller updates it with `show(done, total)`."""
    with Progress(console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task(description, total=total)

        def show(done: int, whole: int | None = None) -> None:
            progress.update(task, completed=done, total=total if whole is None else whole)

        yield show


@contextmanager
def index_progress() -> Iterator[Callable[[int], None]]:
    """Show how much of the index is left; the caller tells how many files wait."""
    with progress_bar("indexing") as show:
        most = 0

        def progress(waiting: int) -> None:
            nonlocal most
            most = max(most, waiting)
            show(most - waiting, most)

        yield progress


def wait_for_index() -> bool:
    """Wait until the index has caught up, with a progress bar.

    Wait only briefly if a server is running, because it continues to index.
    """

    async def wait() -> bool:
        with index_progress() as progress:
            return await service().wait_until_indexed(
                local_user(),
                SERVER_SECONDS if session().beside_server() else SETTLE_SECONDS,
                progress,
            )

    settled = run(wait())
    if not settled:
        who = (
            "the running server goes on indexing"
            if session().beside_server()
            else "commonplace files reindex goes on indexing"
        )
        say(f"The index is not up to date yet; {who}. See: commonplace files status")
    return settled


@contextmanager
def disk_errors(doing: str) -> Iterator[None]:
    """Turn an OSError into an error that names the path and the reason."""
    try:
        yield
    except OSError as error:
        code = NOT_FOUND if isinstance(error, FileNotFoundError) else INVALID_ARGUMENT
        reason = error.strerror or type(error).__name__
        raise CommonplaceError(
            code, f"{doing}: {reason}.", hint="Check the path and its permissions."
        ) from error


def report_more(answer: JsonObject) -> None:
    for note in answer.get("notes", ()):  # a limit that was lowered
        say(f"note: {note}")
    if answer["has_more"]:
        say("there is more: raise --limit" if "notes" not in answer else "there is more")


def print_answer(answer: JsonObject, as_json: bool, line: str) -> None:
    if as_json:
        print_json(answer)
    else:
        say(line.format(**answer))


def line_range(text: str) -> dict[str, int]:
    """Read the option --lines as the arguments of a tool."""
    first, dash, last = text.partition("-")
    if not first.isdecimal() or (dash and not last.isdecimal()):
        raise typer.BadParameter("write a line as 10 or lines as 10-40", param_hint="--lines")
    return {"start_line": int(first), "end_line": int(last or first)}

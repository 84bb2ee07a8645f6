"""Commands on files and directories: put, get, ls, rm, mv, restore, edit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli.files.access import (
    PathArgument,
    Project,
    disk_errors,
    line_range,
    print_answer,
    report_more,
    service,
    wait_for_index,
)
from commonplace.cli.printing import JsonFlag, out, print_json, say, table
from commonplace.cli.session import session
from commonplace.cli.terminal import write_text
from commonplace.files.errors import PAYLOAD_TOO_LARGE
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import JsonObject

if TYPE_CHECKING:
    pass


def _read_bytes(source: Path | None, limit: int) -> bytes:
    """Read a file or standard input, up to the size limit of a stored file."""
    if source is None:
        data = sys.stdin.buffer.read(limit + 1)
    else:
        with disk_errors(f"Cannot read {source}"), source.open("rb") as file:
            data = file.read(limit + 1)
    if len(data) > limit:
        raise CommonplaceError(
            PAYLOAD_TOO_LARGE,
            f"{source or 'Standard input'} has more than {limit} bytes, the limit of a file.",
            hint="Split it into several files.",
            details={"limit_bytes": limit},
        )
    return data


def _write(arguments: JsonObject) -> JsonObject:
    """Store a text, in parts if it is above the payload limit."""
    from commonplace.dispatch.transfer import Reply, TransferReply, run, write_in_parts

    errors: list[CommonplaceError] = []

    def call(tool: str, given: JsonObject) -> Reply:
        try:
            return TransferReply(session().call(tool, given))
        except CommonplaceError as error:
            errors.append(error)
            return TransferReply(None, error.as_dict())

    reply = run(write_in_parts(arguments), call)
    if reply.error is not None:
        raise next(error for error in errors if error.as_dict() == reply.error)
    stored: JsonObject = reply.output
    return stored


def put(
    path: PathArgument,
    source: Annotated[
        Path | None, typer.Argument(help="File to store; without it, standard input.")
    ] = None,
    project: Project = "default",
    append: Annotated[
        bool, typer.Option("--append", help="Add at the end instead of replacing.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Store a file.

    Example:
      commonplace files put /notes/today.md today.md
    """
    from commonplace.files.engine.content import ENCODE_ADVICE
    from commonplace.files.engine.folder import text_of

    content = text_of(_read_bytes(source, service().settings.max_file_bytes))
    if content is None:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"{source or 'Standard input'} is binary, or text that is not UTF-8.",
            hint=ENCODE_ADVICE,
        )
    arguments = {
        "project": project,
        "path": path,
        "content": content,
        "mode": "APPEND" if append else "TRUNCATE",
    }
    answer = _write(arguments)
    wait_for_index()
    if as_json:
        print_json(answer)
    else:
        say(f"{path}: {answer['size']} bytes")


def get(
    path: PathArgument,
    project: Project = "default",
    offset: Annotated[int, typer.Option(help="First byte.")] = 0,
    length: Annotated[int, typer.Option(help="Bytes to read; -1 = to the end.")] = -1,
    lines: Annotated[
        str, typer.Option("--lines", help="Lines instead of bytes, as 10 or 10-40.")
    ] = "",
    as_json: JsonFlag = False,
) -> None:
    """Print a file, or some of its lines.

    Example:
      commonplace files get /notes/locks.md --project demo > locks.md
      commonplace files get /notes/locks.md --project demo --lines 1-2
    """
    arguments = {"project": project, "path": path, "offset": offset, "length": length}
    answer = session().call("file_read", {**arguments, **(line_range(lines) if lines else {})})
    if as_json:
        print_json(answer)
    else:
        write_text(answer["content"])


def ls(
    path: Annotated[str, typer.Argument(help="Directory; without it, the project root.")] = "",
    project: Project = "default",
    depth: Annotated[int, typer.Option(help="Levels below the path.")] = 1,
    limit: Annotated[int, typer.Option(help="Maximum number of entries.")] = 256,
    as_json: JsonFlag = False,
) -> None:
    """List files and directories.

    Example:
      commonplace files ls /notes --project demo --depth 3
    """
    answer = session().call(
        "file_list", {"project": project, "path": path, "depth": depth, "limit": limit}
    )
    if as_json:
        print_json(answer)
        return
    entries = answer["entries"]
    named = any("source_path" in entry for entry in entries)
    rows = [
        (
            e["path"] + ("/" if e["type"] == "DIRECTORY" else ""),
            e["size"] or "",
            e["updated_at"],
            *([e.get("source_path", "")] * named),
        )
        for e in entries
    ]
    out.print(table(("path", "bytes", "updated", *(["original name"] * named)), rows))
    report_more(answer)


def rm(
    path: PathArgument,
    project: Project = "default",
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="Delete a directory and everything below it.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Delete a file or a directory; `restore` brings it back during the retention period.

    Example:
      commonplace files rm /notes --recursive --project demo
    """
    print_answer(
        session().call("file_delete", {"project": project, "path": path, "recursive": recursive}),
        as_json,
        "{deleted} deleted",
    )


def mv(
    path: PathArgument,
    new_path: PathArgument,
    project: Project = "default",
    as_json: JsonFlag = False,
) -> None:
    """Rename a file or a directory.

    Example:
      commonplace files mv /notes/locks.md /notes/locking.md --project demo
    """
    print_answer(
        session().call("file_rename", {"project": project, "path": path, "new_path": new_path}),
        as_json,
        "{renamed} renamed",
    )
    wait_for_index()


def restore(path: PathArgument, project: Project = "default", as_json: JsonFlag = False) -> None:
    """Bring back a deleted file, or everything deleted below a directory.

    Example:
      commonplace files restore /notes --project demo
    """
    print_answer(
        session().call("file_restore", {"project": project, "path": path}),
        as_json,
        "{restored} restored",
    )
    wait_for_index()


def edit(
    path: PathArgument,
    old: Annotated[str, typer.Argument(help="Exact text to replace.")],
    new: Annotated[str, typer.Argument(help="Text to put in its place.")],
    project: Project = "default",
    replace_all: Annotated[bool, typer.Option("--all", help="Every occurrence.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Replace an exact piece of text that occurs once.

    Example:
      commonplace files edit /notes/locks.md "30 seconds" "60 seconds" --project demo
    """
    arguments = {
        "project": project,
        "path": path,
        "old_text": old,
        "new_text": new,
        "replace_all": replace_all,
    }
    print_answer(session().call("file_edit", arguments), as_json, "{replacements} replaced")
    wait_for_index()

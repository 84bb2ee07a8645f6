"""Access to the memory service, and options that the commands share."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from commonplace.cli.session import session

if TYPE_CHECKING:
    from commonplace.memory.service import MemoryService

T = TypeVar("T")
MODEL_SECONDS = 10.0  # wait for the model: a command cannot answer better later
Id = Annotated[
    str, typer.Argument(metavar="ID", help="Id of the entry, or its first 5 characters or more.")
]
Limit = Annotated[int, typer.Option("--limit", "-n", help="Most results.")]


class EntryTypeName(StrEnum):
    BUG = "bug"
    PATTERN = "pattern"
    DECISION = "decision"
    PITFALL = "pitfall"
    CONFIG = "config"
    REFERENCE = "reference"


def current_project(start: Path | None = None) -> str:
    """Return the name of the surrounding repository, or of the working directory."""
    here = (start or Path.cwd()).resolve()
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    return root.name


def split_tags(tags: list[str] | None) -> list[str]:
    return [tag.strip() for given in tags or [] for tag in given.split(",") if tag.strip()]


def project_name(name: str) -> str:
    return current_project() if name == "." else name


def service() -> MemoryService:
    return session().app().services.memory


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)

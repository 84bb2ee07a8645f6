"""A catalogue in a temporary folder, and short forms of its calls."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from commonplace.instructions.assembly import build_service
from commonplace.instructions.engine.groom import GroomMode
from commonplace.instructions.results.writing import (
    GovernanceUpdate,
    GroomResult,
    ImportResult,
    WriteResult,
)
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.store.folder import FolderOptions, FolderStore
from commonplace.instructions.use_cases.importing import EntryImportOptions
from commonplace.kernel.auth import local_user
from commonplace.kernel.settings import InstructionsSettings

CALLER = local_user()


def open_service(
    home: Path, options: FolderOptions | None = None, **settings: Any
) -> InstructionsService:
    return build_service(
        home / "in",
        home,
        InstructionsSettings(watch=False, **settings),
        mutation_enabled=lambda: True,
        options=options,
    )


def store_of(service: InstructionsService) -> FolderStore:
    store = service._store
    assert isinstance(store, FolderStore)
    return store


def add_entry(
    service: InstructionsService, entry: Any, *, overwrite: bool = True, **options: Any
) -> WriteResult:
    options = {"lax": True, **options}
    result = asyncio.run(service.add(CALLER, entry, overwrite=overwrite, **options))
    assert isinstance(result, WriteResult), result
    return result


def add(service: InstructionsService, id_: str, body: str = "Body") -> WriteResult:
    return add_entry(service, {"id": id_, "body": body})


def add_together(service: InstructionsService, entries: list[dict[str, str]]) -> list[Any]:
    """Add entries at once; return a result, a refusal or an exception for each."""

    async def gather() -> list[Any]:
        adds = [service.add(CALLER, entry, overwrite=True, lax=True) for entry in entries]
        return await asyncio.gather(*adds, return_exceptions=True)

    return asyncio.run(gather())


def ids_of(service: InstructionsService) -> list[str]:
    return [str(item["id"]) for item in service.list_entries(CALLER).items]


def has(service: InstructionsService, id_: str) -> bool:
    return service.get(CALLER, id_) is not None


def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not come to hold"
        time.sleep(0.01)


class CatalogueDesk:
    """A catalogue whose files are also edited by hand."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "in"
        self.folder.mkdir()
        self.service = open_service(home, write_retries=0)
        self.service.load()
        self.store = store_of(self.service)

    def add(self, id_: str, **fields: Any) -> WriteResult:
        return add_entry(self.service, {"id": id_, **({"body": f"Body of {id_}"} | fields)})

    def import_(self, mode: str, *entries: dict[str, Any]) -> ImportResult:
        return self.service.import_entries(CALLER, entries, EntryImportOptions(mode))

    def govern(self, id_: str, **patch: Any) -> GovernanceUpdate:
        update = self.service.update_governance(CALLER, id_, patch)
        assert update is not None
        return update

    def groom(self, **mode: bool) -> GroomResult:
        return self.service.groom(CALLER, GroomMode(**mode))

    def item(self, id_: str) -> dict[str, Any]:
        found = self.service.get(CALLER, id_)
        assert found is not None
        return dict(found.item)

    def ids(self) -> list[str]:
        return ids_of(self.service)

    def edit(self, id_: str, body: str) -> None:
        """Change or create a file by hand."""
        path = self.folder / f"{id_}.json"
        document = json.loads(path.read_text()) if path.exists() else {"id": id_}
        path.write_text(json.dumps({**document, "body": body}))

    def problems(self) -> dict[str, str]:
        return self.service.health(CALLER).configuration_problems

"""Imports of folders: which file is stored under which path, and what was left out."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from commonplace.dispatch.transfer import parts_of, temporary_path
from commonplace.files.engine.folder import FolderFile, Scan, Skipped, text_of
from commonplace.files.engine.naming import SpelledName, stored_paths
from commonplace.files.model import (
    MAX_PATH_CHARACTERS,
    FilePath,
    Provenance,
    StoredFile,
    WriteMode,
)
from commonplace.files.service import FilesService
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.hidden_characters import has_hidden
from commonplace.kernel.paging import in_batches
from commonplace.kernel.paths import spell_segment

INVENTORY_PAGE = 1_000
WRITES_AT_ONCE = 16  # they share a commit
BATCH_BYTES = 4_000_000


@dataclass(slots=True)
class ImportReport:
    """The result of an import.

    `missing`: stored by an earlier import of the folder and no longer there.
    """

    stored: int = 0
    unchanged: int = 0
    deleted: int = 0
    renamed: list[SpelledName] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    ignored: int = 0
    missing: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)  # stored with hidden characters

    @property
    def warnings(self) -> list[str]:
        if not self.hidden:
            return []
        return [
            (
                f"files with hidden characters: {len(self.hidden)}, the first is {self.hidden[0]}; "
                f"commonplace doctor --hidden lists them."
            )
        ]


@dataclass(frozen=True, slots=True)
class _Planned:
    candidate: FolderFile
    path: FilePath
    provenance: Provenance


class FolderImport:
    """An import of a folder below a directory of a project (`under`: "" or /a/b)."""

    def __init__(
        self,
        service: FilesService,
        caller: AuthContext,
        project: str,
        folder: Path,
        under: str = "",
    ) -> None:
        self._service = service
        self._caller = caller
        self._project = project
        self._folder = folder.resolve()
        self._under = under
        self._origin = hashlib.sha256(os.fsencode(self._folder)).hexdigest()
        self._paths: dict[str, FilePath] = {}  # of each source path
        self._taken: set[FilePath] = set()
        self.report = ImportReport()

    async def run(
        self,
        scan: Scan,
        *,
        delete: bool = False,
        progress: Callable[[int], None] = lambda done: None,
    ) -> ImportReport:
        """Store what is new or changed.

        With `delete`, delete what an earlier import stored and the folder no longer has.
        """
        self.report.skipped += scan.skipped
        self.report.ignored = len(scan.ignored)
        existing = await self._inventory()
        done = 0
        planned_files = self._plan(scan.files, existing)
        for batch in in_batches(planned_files, _size_of, BATCH_BYTES, WRITES_AT_ONCE):
            await asyncio.gather(
                *(self._store(planned, existing.get(planned.path)) for planned in batch)
            )
            done += len(batch)
            progress(done)
        self.report.missing = sorted(self._find_missing(existing.values()))
        self.report.renamed.sort(key=lambda renamed: renamed.source_path)
        self.report.skipped.sort(key=lambda skipped: skipped.path)
        self.report.hidden.sort()
        if delete:
            await self._delete_missing()
        return self.report

    async def _inventory(self) -> dict[str, StoredFile]:
        top = self._under.split("/")[1] if self._under else ""
        prefix = f"/{top}/" if top and spell_segment(top) == top else ""
        found: dict[str, StoredFile] = {}
        after = ""
        while page := await self._service.inventory(
            self._caller, self._project, prefix, after, INVENTORY_PAGE
        ):
            found |= {file.path: file for file in page}
            after = page[-1].path
        return found

    def _plan(
        self, files: Sequence[FolderFile], existing: dict[str, StoredFile]
    ) -> Iterator[_Planned]:
        sources = {path: file.provenance.source_path for path, file in existing.items()}
        self._paths = stored_paths([self._under + candidate.path for candidate in files], sources)
        self._taken = set(self._paths.values())
        for candidate in files:
            source = self._under + candidate.path
            path = self._paths[source]
            if len(path) > MAX_PATH_CHARACTERS:
                reason = (
                    f"its path would have {len(path)} characters; {MAX_PATH_CHARACTERS} is "
                    f"the limit"
                )
                self.report.skipped.append(Skipped(candidate.path, reason))
            else:
                yield _Planned(
                    candidate, path, Provenance(None if path == source else source, self._origin)
                )

    async def _store(self, planned: _Planned, existing: StoredFile | None) -> None:
        try:
            await self._store_text(planned, existing)
        except CommonplaceError as error:
            self.report.skipped.append(
                Skipped(planned.candidate.path, f"{error.code.name}: {error.message}")
            )
        except OSError as error:
            reason = f"it cannot be read: {error.strerror or type(error).__name__}"
            self.report.skipped.append(Skipped(planned.candidate.path, reason))

    async def _store_text(self, planned: _Planned, existing: StoredFile | None) -> None:
        most = self._service.settings.max_file_bytes
        with planned.candidate.source.open("rb") as file:
            data = file.read(most + 1)
        if len(data) > most:
            self.report.skipped.append(
                Skipped(
                    planned.candidate.path, f"more than {most} bytes, the most one file may hold"
                )
            )
            return
        content = text_of(data)
        if content is None:
            self.report.skipped.append(
                Skipped(planned.candidate.path, "binary, or text that is not UTF-8")
            )
            return
        if existing is not None and existing.content_hash == hashlib.sha256(data).hexdigest():
            if existing.provenance != planned.provenance:
                await self._service.note_source(
                    self._caller, self._project, planned.path, planned.provenance
                )
            self.report.unchanged += 1
        else:
            await store_text(
                self._service,
                self._caller,
                self._project,
                planned.path,
                content,
                planned.provenance,
            )
            self.report.stored += 1
            if has_hidden(content) or has_hidden(planned.provenance.source_path or ""):
                self.report.hidden.append(planned.path)
        if planned.provenance.source_path is not None:
            self.report.renamed.append(SpelledName(planned.provenance.source_path, planned.path))

    def _find_missing(self, existing: Iterable[StoredFile]) -> Iterator[str]:
        """Yield paths that an earlier import stored and that are no longer in the folder."""
        start = f"{self._under}/"
        for file in existing:
            source = file.provenance.source_path or file.path
            if (
                file.provenance.origin != self._origin
                or not source.startswith(start)
                or file.path in self._taken
            ):
                continue
            if source in self._paths or not os.path.lexists(self._folder / source[len(start) :]):
                yield file.path

    async def _delete_missing(self) -> None:
        for path in self.report.missing:
            self.report.deleted += await self._service.delete(self._caller, self._project, path)


def _size_of(planned: _Planned) -> int:
    """Return the size of a file, 0 if it cannot be told: reading it reports the error."""
    try:
        return planned.candidate.source.stat().st_size
    except OSError:
        return 0


async def store_text(
    service: FilesService,
    caller: AuthContext,
    project: str,
    path: str,
    content: str,
    provenance: Provenance,
) -> None:
    """Replace a file.

    A text above the request limit is written in parts to a temporary file and renamed; a failure
    leaves the old file as it was.
    """
    limit = service.settings.max_payload_bytes
    if len(content.encode("utf-8", "surrogatepass")) <= limit:
        await service.write(
            caller, project, path, content, mode=WriteMode.TRUNCATE, provenance=provenance
        )
        return
    temporary, expected = temporary_path(path), ""
    try:
        for part in parts_of(content, limit):
            _, entry = await service.write(
                caller, project, temporary, part, mode=WriteMode.APPEND, if_match=expected
            )
            expected = entry.content_hash or ""
        await service.rename(caller, project, temporary, path, overwrite=True)
    except CommonplaceError:
        with contextlib.suppress(CommonplaceError):
            await service.delete(caller, project, temporary)
        raise
    await service.note_source(caller, project, path, provenance)

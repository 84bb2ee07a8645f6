"""Folder adapter: keeps the catalogue in step with a folder that processes, editors and git share.

Readers hold `lock` for microseconds and check the journal and the marker. Writers hold a thread
lock and a file lock, and take `lock` only to look and to apply, never while the disk works.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from commonplace.instructions.engine.catalogue import Catalogue
from commonplace.instructions.fields import is_valid_id
from commonplace.instructions.model import (
    Author,
    CatalogueDifferences,
    Instruction,
    InstructionChange,
    RecordedChange,
    Rejection,
    RemovedInstruction,
    Stamp,
    StorageStatus,
    StoredEntry,
)
from commonplace.instructions.store.directory import MARKER, InstructionDirectory
from commonplace.instructions.store.history import KEEP_CREATED_BYTES, ChangeHistory
from commonplace.instructions.store.journal import LOCK_SECONDS, ROTATE_BYTES, Journal
from commonplace.instructions.store.kept.index import describe_state
from commonplace.instructions.store.marker import CatalogueMarker
from commonplace.instructions.store.parsing import parse_entries
from commonplace.instructions.store.protocol import Trace
from commonplace.instructions.store.staging import FileStager, StagedFile
from commonplace.kernel.gc_control import gc_paused
from commonplace.kernel.json_types import JsonObject

REMOVED = "-"
OWNERS_FILE = "owners.json"  # a change can affect every instruction without an owner


@dataclass(frozen=True, slots=True)
class FolderOptions:
    """Sizes, times and switches of a folder store."""

    agent: str | None = None  # MCP_AGENT_ID, recorded in the history
    watch: bool = True
    rotate_journal_bytes: int = ROTATE_BYTES
    keep_created_bytes: int = KEEP_CREATED_BYTES
    lock_seconds: float = LOCK_SECONDS


class FolderStore:
    """Catalogue of an instruction folder, with its files, journal and history."""

    def __init__(
        self,
        directory: InstructionDirectory,
        state: Path,
        *,
        clock: Callable[[], str],
        trace: Trace = lambda *_: None,
        may_write: Callable[[], bool] = lambda: True,
        options: FolderOptions | None = None,
    ) -> None:
        options = options or FolderOptions()
        self.directory = directory
        self.catalogue = Catalogue()
        self.lock = threading.RLock()
        self.loaded = False
        self._watch = options.watch
        self._may_write = may_write
        self._trace = trace
        self._clock = clock
        self._stager = FileStager(directory)
        self._history = ChangeHistory(
            state, options.agent, keep_created_bytes=options.keep_created_bytes
        )
        self._journal = Journal(
            state, rotate_bytes=options.rotate_journal_bytes, lock_seconds=options.lock_seconds
        )
        self._marker = CatalogueMarker(directory.path / MARKER)
        self._marker_usable = True
        self._token = ""
        self._stamps: dict[str, Stamp] = {}
        self._rejections: dict[str, Rejection] = {}  # by file name
        self._writer_lock = threading.RLock()
        self._opening = threading.Lock()
        self._closing = threading.Event()
        self._stop_watching: Callable[[], None] | None = None

    def open(self) -> None:
        """Load the folder once, then parse the rest and watch for edits in the background."""
        if self.loaded:
            return
        with self._opening:
            if self.loaded:
                return
            if self._may_write():
                self._stager.remove_orphans()
            self.load()
            threading.Thread(
                target=self.parse_all,
                args=(self._closing,),
                name="instructions-parser",
                daemon=True,
            ).start()
            self._start_watching()

    def _start_watching(self) -> None:
        if self._stop_watching is None and self._watch:
            from commonplace.instructions.store.watcher import FolderWatcher

            watcher = FolderWatcher(self)
            watcher.start()
            self._stop_watching = watcher.stop

    def close(self) -> None:
        """Stop the background work and close the files; the store can be used again."""
        self._closing.set()
        if self._stop_watching is not None:
            self._stop_watching()
            self._stop_watching = None
        with self._writer_lock, self.lock:
            self._journal.close()
            self._marker.close()
            self._history.close()

    def load(self) -> None:
        """Read the folder, once."""
        if not self.loaded:
            with self._writer_lock, self.lock:
                if not self.loaded:
                    self._load()

    def _load(self) -> None:
        # Journal and marker first, so that a write during the scan counts as a change.
        self._journal.read_tail()
        token = self._marker.read()
        if token is None:
            self._create_marker()
        else:
            self._token = token
        with gc_paused(freeze=True):
            self.catalogue.load(self._read_all())
        self.loaded = True
        self._trace(
            "catalog:load",
            {
                "count": len(self.catalogue),
                "rejected": len(self._rejections),
                "dir": str(self.directory.path),
            },
        )

    def _read_all(self) -> list[Instruction]:
        instructions: list[Instruction] = []
        for name, entry in self.directory.read_all():
            if entry.stamp is not None:
                self._stamps[name] = entry.stamp
            if entry.instruction is not None:
                instructions.append(entry.instruction)
            elif entry.rejection is not None:
                self._rejections[name] = entry.rejection
        return instructions

    def parse_all(self, stop: threading.Event) -> None:
        """Parse the instructions that loading left unparsed, then summarise them for lists."""
        with self.lock:
            entries = list(self.catalogue)  # in order of id: neighbours in lists share memory pages
        parse_entries(entries, stop)

    def catch_up(self) -> None:
        """Return None: `current` sees changes of other processes at once."""
        return

    @property
    def confirmed_at(self) -> str:
        """Return the present time."""
        return self._clock()

    def current(self) -> Catalogue:
        """Return the catalogue with every acknowledged change. The caller holds `lock`."""
        if not self.loaded:
            self._load()
        elif self._marker_usable:  # the marker also announces the write that creates the journal
            if not self._marker.is_current() or (
                self._journal.exists and not self._journal.is_current()
            ):
                self._catch_up()
        elif not self._journal.is_current() or self._marker.exists():
            self._catch_up()
        return self.catalogue

    def loaded_state(self) -> JsonObject:
        """Return what identifies the files that the catalogue was read from."""
        with self.lock:
            return describe_state(self.directory.path, self._stamps.items())

    def snapshot(self) -> tuple[list[Instruction], str]:
        """Return all instructions by id and the catalogue hash, for work without the lock."""
        with self.lock:
            catalogue = self.current()
            return list(catalogue), catalogue.hash

    def _create_marker(self) -> None:
        """Write a marker, unless this server may not change the folder."""
        if self._may_write():
            self._write_marker(CatalogueMarker.new_token())
        else:
            self._marker_usable = False

    def _write_marker(self, token: str) -> None:
        self._token = token
        self._marker_usable = self._marker.write(token)

    def _catch_up(self) -> None:
        """Apply new lines of the journal; compare the folder if they do not explain the marker."""
        tail = self._journal.read_tail()
        compare = tail.incomplete
        for line in tail.lines:
            self._token = line.token
        if not compare:
            for name in dict.fromkeys(f"{line.id}.json" for line in tail.lines):
                self._apply(name, self.directory.read(name))
        if not self._marker.is_current() if self._marker_usable else self._marker.exists():
            compare = self._follow_marker() or compare
        if compare:
            self.synchronise()

    def _follow_marker(self) -> bool:
        """Read a changed marker; return whether the folder must be compared."""
        token = self._marker.read()
        self._marker_usable = token is not None
        if token is None:
            self._trace("catalog:marker", {"missing": True, "attemptedReload": True})
            self._create_marker()
            return True
        if token == self._token:
            return False
        tail = self._journal.read_tail()
        for line in tail.lines:
            self._apply(f"{line.id}.json", self.directory.read(f"{line.id}.json"))
        self._token = token
        return tail.incomplete or all(line.token != token for line in tail.lines)

    def synchronise(
        self, names: Iterable[str] | None = None, *, thorough: bool = False
    ) -> CatalogueDifferences:
        """Compare the catalogue with the folder, or with these files of it.

        Reads only files whose stamp changed, unless `thorough`.
        """
        if names is None:
            with self.lock:
                known = dict(self._stamps)
            found = dict(self.directory.stamps())
            names = [name for name, stamp in found.items() if thorough or known.get(name) != stamp]
            names += [name for name in known if name not in found]
        names = list(names)
        owners_changed = OWNERS_FILE in names and (
            self._stamps.get(OWNERS_FILE) != self.directory.stamp_of(OWNERS_FILE)
        )
        if owners_changed:
            names = list(dict.fromkeys([*names, *self.directory.names(), *self._stamps]))
            thorough = True
        counts = {"added": 0, "updated": 0, "removed": 0}
        for name in names:
            change = self._compare_file(name, thorough)
            if change is not None:
                counts[change] += 1
        differences = CatalogueDifferences(**counts)
        if differences.any:
            self._trace("catalog:compare", counts)
        return differences

    def _compare_file(self, name: str, thorough: bool) -> str | None:
        """Read one file if its stamp changed; return what that did to the catalogue."""
        if not thorough and self._stamps.get(name) == self.directory.stamp_of(name):
            return None
        entry = self.directory.read(name)
        with self.lock:
            while entry.stamp != self.directory.stamp_of(name):  # written meanwhile
                entry = self.directory.read(name)
            before = self.catalogue.stored(name[:-5])
            if thorough or self._stamps.get(name) != entry.stamp:
                self._apply(name, entry)
            after = self.catalogue.stored(name[:-5])
        if (
            before is not None
            and self._may_write()
            and (after is None or before.fingerprint != after.fingerprint)
        ):
            with contextlib.suppress(OSError):  # a read must not fail for lack of a history
                self._history.record_manual_edit(
                    before.id, before.document, after.document if after else None, self._clock()
                )
        if before is None:
            return "added" if after is not None else None
        if after is None:
            return "removed"
        return "updated" if before.document != after.document else None

    def refresh(self, *ids: str) -> None:
        """Take over unannounced changes of these files. Inside `exclusive` only."""
        for id_ in ids:
            if is_valid_id(id_):
                self._compare_file(f"{id_}.json", thorough=False)

    def reload(self) -> None:
        """Read every file again."""
        with self._writer_lock:
            self.load()
            self.synchronise(thorough=True)

    def _apply(self, name: str, entry: StoredEntry) -> None:
        """Update the catalogue with the content of a file. The caller holds `lock`."""
        if entry.stamp is None:
            self._stamps.pop(name, None)
        else:
            self._stamps[name] = entry.stamp
        if entry.rejection is None:
            self._rejections.pop(name, None)
        else:
            self._rejections[name] = entry.rejection
        if entry.instruction is not None:
            self.catalogue.put(entry.instruction)
        else:
            self.catalogue.drop(name[:-5])

    def apply_stored(self, id_: str) -> StoredEntry:
        """Read one file into the catalogue, whatever its stamp."""
        self.directory.file_of(id_)
        name = f"{id_}.json"
        with self.lock:
            entry = self.directory.read(name)
            self._apply(name, entry)
            return entry

    def has_entry(self, id_: str) -> bool:
        """Tell whether a file is stored under an id, readable or not."""
        return is_valid_id(id_) and self.directory.stamp_of(f"{id_}.json") is not None

    def read(self, id_: str) -> StoredEntry:
        """Read one file, without changing the catalogue."""
        return self.directory.read(f"{id_}.json")

    def read_bytes(self, id_: str) -> bytes | None:
        """Return the content of an instruction's file."""
        return self.directory.read_bytes(id_)

    def rejection_of(self, id_: str) -> Rejection | None:
        """Return why the file of an id is not served."""
        return self._rejections.get(f"{id_}.json")

    def rejections(self) -> list[Rejection]:
        """Return all rejected files, sorted by name."""
        return sorted(self._rejections.values(), key=lambda rejection: rejection.file)

    def history(self, id_: str) -> list[RecordedChange]:
        """Return the recorded changes of an instruction, oldest first."""
        return self._history.changes(id_)

    def removed(self) -> list[RemovedInstruction]:
        """Return the instructions that are recorded but no longer in the folder."""
        return self._history.removed(self.has_entry)

    def status(self) -> StorageStatus:
        """Return the state of the folder, with the files as they were last read."""
        with self.lock:
            sizes = [stamp[1] for stamp in self._stamps.values()]
        return self.directory.status(sizes)

    @contextmanager
    def exclusive(self) -> Iterator[Catalogue]:
        """Become the only writer, with all changes of others applied."""
        with self._writer_lock:
            self.directory.ensure()
            with self._journal.locked():
                with self.lock:
                    catalogue = self.current()
                    interrupted = [id_ for id_ in self._journal.interrupted_ids() if id_]
                    if interrupted:
                        self._recover_interrupted_commit(interrupted)
                yield catalogue

    def _recover_interrupted_commit(self, ids: Sequence[str]) -> None:
        """Announce the files of a process that died between its files and its journal line."""
        hashes = []
        for id_ in ids:
            with contextlib.suppress(ValueError):
                instruction = self.apply_stored(id_).instruction
                hashes.append((id_, instruction.source_hash if instruction else REMOVED))
        self._announce(hashes)

    def _announce(self, hashes: Sequence[tuple[str, str]]) -> None:
        token = CatalogueMarker.new_token()
        self._journal.append(hashes, token)
        self._write_marker(token)

    def commit(self, changes: Sequence[InstructionChange], author: Author) -> None:
        """Make changes durable, then visible here and to other processes.

        All files are in place before any is announced. After an error the files that were already
        placed stay, and are announced too. Inside `exclusive` only.
        """
        if not changes:
            return
        contents = [(change.id, change.content) for change in changes if change.content is not None]
        staged: dict[str, StagedFile] = {}
        if contents:
            files = self._stager.stage(contents, lambda: self._record(changes, author))
            staged = {file.id: file for file in files}
        else:
            self._record(changes, author)
        placed: list[InstructionChange] = []
        try:
            try:
                for change in changes:
                    if change.after is None:
                        self._stager.remove(change.id)
                    else:
                        self._stager.place(staged[change.id])
                    placed.append(change)
            finally:
                self._stager.sync_folder()  # also after an error: placed files are announced
        finally:
            placed_ids = {change.id for change in placed}
            self._stager.discard([file for id_, file in staged.items() if id_ not in placed_ids])
            with self.lock:
                self._apply_placed(placed, staged)

    def _record(self, changes: Sequence[InstructionChange], author: Author) -> None:
        """Write history and intent, before the files change."""
        at = self._clock()
        for change in changes:
            before = self.catalogue.stored(change.id)
            self._history.record(
                change.id,
                change.action,
                before.document if before else None,
                change.after.document if change.after else None,
                at,
                author,
            )
        self._journal.announce_intent(change.id for change in changes)

    def _apply_placed(
        self, placed: Sequence[InstructionChange], staged: dict[str, StagedFile]
    ) -> None:
        for change in placed:
            name = f"{change.id}.json"
            if change.as_written:
                self._apply(name, self.directory.read(name))
            else:
                stamp = staged[change.id].stamp if change.after is not None else None
                self._apply(name, StoredEntry(stamp, change.after))
        self._announce(
            [
                (change.id, change.after.source_hash if change.after else REMOVED)
                for change in placed
            ]
        )

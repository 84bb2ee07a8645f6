"""The catalogue in memory kept in step with its folder, across threads, processes, editors and git.

Reads hold `lock` for microseconds and stat the journal and the marker. Writers are one at a time (a
thread lock, then a file lock); they hold `lock` only to look and to apply, never while the disk
works.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commonplace.instructions.engine.catalogue import Catalogue
from commonplace.instructions.model import Actor, Instruction, Rejection, is_valid_id
from commonplace.instructions.store.directory import MARKER, Directory, Reading, Staged, Stamp
from commonplace.instructions.store.history import History
from commonplace.instructions.store.journal import Journal, Marker
from commonplace.kernel.gc_control import gc_paused

REMOVED = "-"
OWNERS = "owners.json"  # who owns what names no owner: when it changes, so may every instruction
SETTLED_AT_ONCE = 6  # half a millisecond's work: a call that arrives meanwhile waits no longer
SETTLE_PAUSE_SECONDS = 0.0003
Trace = Callable[[str, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Change:
    """One instruction as it shall be; `after` None removes it."""

    id: str
    after: Instruction | None
    content: bytes | None
    action: str
    as_written: bool = False  # the file keeps what it says: read it back, its time may count


@dataclass(frozen=True, slots=True)
class Differences:
    """What a comparison with the folder found."""

    added: int = 0
    updated: int = 0
    removed: int = 0

    @property
    def any(self) -> bool:
        return bool(self.added or self.updated or self.removed)


class Shelf:
    """Owns the catalogue, its files and what is known of them."""

    def __init__(
        self,
        directory: Directory,
        state: Path,
        *,
        clock: Callable[[], str],
        trace: Trace = lambda *_: None,
        may_write: Callable[[], bool] = lambda: True,
        agent: str | None = None,
    ) -> None:
        self.directory = directory
        self.state = state
        self.catalogue = Catalogue()
        self.rejections: dict[str, Rejection] = {}
        self.lock = threading.RLock()
        self.loaded = False
        self.history = History(state, agent)
        self._may_write = may_write
        self.trace = trace
        self._clock = clock
        self._writer = threading.RLock()
        self._journal = Journal(state)
        self._marker = Marker(directory.path / MARKER)
        self._marker_usable = True
        self._token = ""
        self._stamps: dict[str, Stamp] = {}

    # Reading

    def ensure_loaded(self) -> None:
        if not self.loaded:
            with self._writer, self.lock:
                if not self.loaded:
                    self._load()

    def fresh(self) -> Catalogue:
        """The catalogue with everything other processes acknowledged. The caller holds `lock`."""
        if not self.loaded:
            self._load()
        elif (
            self._marker_usable
        ):  # a first write, which begins the journal, is told by the marker too
            if not self._marker.current() or (self._journal.begun and not self._journal.current()):
                self._catch_up()
        elif not self._journal.current() or self._marker.appeared():
            self._catch_up()
        return self.catalogue

    def snapshot(self) -> tuple[list[Instruction], str]:
        """Every instruction by id, and the hash of the whole: to go through all of them without
        holding up other calls.
        """
        with self.lock:
            catalogue = self.fresh()
            return list(catalogue), catalogue.hash

    def _load(self) -> None:
        # this and the marker first, so that a write during the scan is seen as news
        self._journal.tail()
        token = self._marker.read()
        if token is None:
            self._offer_marker()
        else:
            self._token = token
        with gc_paused(freeze=True):
            self.catalogue.load(self._read_all())
        self.loaded = True
        self.trace(
            "catalog:load",
            {
                "count": len(self.catalogue),
                "rejected": len(self.rejections),
                "dir": str(self.directory.path),
            },
        )

    def settle(self, stop: threading.Event) -> None:
        """Work out what a first load left unread, a little at a time, so that later calls find
        it done and present ones are not held up.
        """
        with self.lock:
            entries = list(
                self.catalogue
            )  # in the order that lists show: neighbours there lie side by side in memory too
        for start in range(0, len(entries), SETTLED_AT_ONCE):
            for entry in entries[start : start + SETTLED_AT_ONCE]:
                entry.document  # noqa: B018 (looked at, it is there)
            time.sleep(SETTLE_PAUSE_SECONDS)
            if stop.is_set():
                return
        with gc_paused(freeze=True):  # nor need the collector walk through them
            return

    def _read_all(self) -> list[Instruction]:
        instructions: list[Instruction] = []
        for name, reading in self.directory.read_all():
            if reading.stamp is not None:
                self._stamps[name] = reading.stamp
            if reading.instruction is not None:
                instructions.append(reading.instruction)
            elif reading.rejection is not None:
                self.rejections[name] = reading.rejection
        return instructions

    def _offer_marker(self) -> None:
        """Write a marker where there is none.

        A server that may not change the catalogue writes nothing into its folder.
        """
        if self._may_write():
            self._put_marker(Marker.token())
        else:
            self._marker_usable = False

    def _put_marker(self, token: str) -> None:
        self._token = token
        self._marker_usable = self._marker.write(token)

    def _catch_up(self) -> None:
        """Apply the journal's tail; where the journal or a foreign marker cannot tell what
        changed, compare the folder.
        """
        tail = self._journal.tail()
        compare = tail.lost
        for line in tail.lines:
            self._token = line.token
        if not compare:
            for name in dict.fromkeys(f"{line.id}.json" for line in tail.lines):
                self._apply(name, self.directory.read(name))
        if not self._marker.current() if self._marker_usable else self._marker.appeared():
            token = self._marker.read()
            self._marker_usable = token is not None
            if token is None:
                self.trace("catalog:marker", {"missing": True, "attemptedReload": True})
                compare = True
                self._offer_marker()
            elif token != self._token:
                again = self._journal.tail()
                known = False
                for line in again.lines:
                    known = known or line.token == token
                    self._apply(f"{line.id}.json", self.directory.read(f"{line.id}.json"))
                compare = compare or again.lost or not known
                self._token = token
        if compare:
            self.compare()

    def compare(self, names: Iterable[str] | None = None, *, thorough: bool = False) -> Differences:
        """Bring the catalogue in line with the folder, or with these files of it, reading only
        what has another stamp (or all).
        """
        with self.lock:
            known = dict(self._stamps) if names is None else {}
        if names is None:
            seen = dict(self.directory.stamps())
            names = [name for name, stamp in seen.items() if thorough or known.get(name) != stamp]
            names += [name for name in known if name not in seen]
        names = list(names)
        if OWNERS in names and self._stamps.get(OWNERS) != self.directory.stamp_of(OWNERS):
            names, thorough = (
                list(dict.fromkeys([*names, *self.directory.names(), *self._stamps])),
                True,
            )
        counts = {"added": 0, "updated": 0, "removed": 0}
        for name in names:
            change = self._look_at(name, thorough)
            if change is not None:
                counts[change] += 1
        found = Differences(**counts)
        if found.any:
            self.trace("catalog:compare", counts)
        return found

    def _look_at(self, name: str, thorough: bool) -> str | None:
        """Read one file if it is not as we know it; what that did to the catalogue."""
        if not thorough and self._stamps.get(name) == self.directory.stamp_of(name):
            return None
        reading = self.directory.read(name)
        with self.lock:
            while reading.stamp != self.directory.stamp_of(
                name
            ):  # somebody wrote it since: theirs is the news
                reading = self.directory.read(name)
            before = self.catalogue.get(name[:-5])
            if thorough or self._stamps.get(name) != reading.stamp:
                self._apply(name, reading)
            after = self.catalogue.get(name[:-5])
        if (
            before is not None
            and self._may_write()
            and (after is None or before.fingerprint != after.fingerprint)
        ):
            with contextlib.suppress(
                OSError
            ):  # a read must not fail because its history cannot be written
                self.history.record_by_hand(
                    before.id, before.document, after.document if after else None, self._clock()
                )
        if before is None:
            return "added" if after is not None else None
        if after is None:
            return "removed"
        return "updated" if before.document != after.document else None

    def look_at(self, *ids: str) -> None:
        """Take in what others did to these files, told or not yet, before they are written.

        Inside `writing` only.
        """
        for id_ in ids:
            if is_valid_id(id_):
                self._look_at(f"{id_}.json", thorough=False)

    def _apply(self, name: str, reading: Reading) -> None:
        """Make the catalogue say what a file says. The caller holds `lock`."""
        if reading.stamp is None:
            self._stamps.pop(name, None)
        else:
            self._stamps[name] = reading.stamp
        if reading.rejection is None:
            self.rejections.pop(name, None)
        else:
            self.rejections[name] = reading.rejection
        if reading.instruction is not None:
            self.catalogue.put(reading.instruction)
        else:
            self.catalogue.drop(name[:-5])

    def read_one(self, id_: str) -> Reading:
        """Look at one file now, whatever the stamps say, and apply it."""
        self.directory.file_of(id_)
        name = f"{id_}.json"
        with self.lock:
            reading = self.directory.read(name)
            self._apply(name, reading)
            return reading

    def reload(self) -> None:
        """Read every file again."""
        with self._writer:
            self.ensure_loaded()
            self.compare(thorough=True)

    def close(self) -> None:
        with self._writer, self.lock:
            self._journal.close()
            self._marker.close()
            self.history.close()

    # Writing

    @contextmanager
    def writing(self) -> Iterator[Catalogue]:
        """Exclusive use for a change, with everything others wrote already applied.

        Look under `lock`, then `commit`.
        """
        with self._writer:
            self.directory.ensure()
            with self._journal.locked():
                with self.lock:
                    catalogue = self.fresh()
                    begun = [id_ for id_ in self._journal.unfinished() if id_]
                    if begun:
                        self._finish_for_the_dead(begun)
                yield catalogue

    def _finish_for_the_dead(self, ids: Sequence[str]) -> None:
        """A holder died between its files and its journal line: tell everybody to look at those
        files.
        """
        known = []
        for id_ in ids:
            with contextlib.suppress(ValueError):
                self.directory.file_of(id_)
                reading = self.directory.read(f"{id_}.json")
                self._apply(f"{id_}.json", reading)
                known.append(
                    (id_, reading.instruction.source_hash if reading.instruction else REMOVED)
                )
        self._announce(known)

    def _announce(self, changes: Sequence[tuple[str, str]]) -> None:
        token = Marker.token()
        self._journal.append(changes, token)
        self._put_marker(token)

    def commit(self, changes: Sequence[Change], actor: Actor) -> None:
        """Make the changes durable, then visible here and to the other processes.

        All files are in place before any is announced.

        Inside `writing` only. An error leaves the files that were already placed, and they are
        announced too.
        """
        if not changes:
            return
        at = self._clock()
        contents = [(change.id, change.content) for change in changes if change.content is not None]

        def note() -> (
            None
            # what the next holder and the history need, should this process die before its files
            # are in
            # place
        ):
            for change in changes:
                before = self.catalogue.get(change.id)
                after = change.after.document if change.after else None
                self.history.record(
                    change.id, change.action, before.document if before else None, after, at, actor
                )
            self._journal.intend(change.id for change in changes)

        staged: dict[str, Staged] = {
            item.id: item for item in self.directory.stage_all(contents, note)
        }
        if not contents:
            note()
        placed: list[Change] = []
        try:
            try:
                for change in changes:
                    if change.after is None:
                        self.directory.remove(change.id)
                    else:
                        self.directory.place(staged[change.id])
                    placed.append(change)
            finally:
                # also what was placed before another failed: it is announced, so it must last
                self.directory.sync()
        finally:
            self.directory.discard(
                [
                    item
                    for id_, item in staged.items()
                    if id_ not in {change.id for change in placed}
                ]
            )
            with self.lock:
                for change in placed:
                    name = f"{change.id}.json"
                    stamp = staged[change.id].stamp if change.after is not None else None
                    self._apply(
                        name,
                        self.directory.read(name)
                        if change.as_written
                        else Reading(stamp, change.after),
                    )
                self._announce(
                    [
                        (change.id, change.after.source_hash if change.after else REMOVED)
                        for change in placed
                    ]
                )

"""Compare anchors with repositories; what is read is kept while the files do not change."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TypeVar

from commonplace.kernel.auth import Tenant
from commonplace.kernel.lru import LruCache
from commonplace.memory.anchors import AnchorState, AnchorVerdict, CodeAnchor, LineRange
from commonplace.memory.code.checkout import CheckoutTree
from commonplace.memory.code.git import head_commit, last_change
from commonplace.memory.code.protocol import (
    FILE_BYTES,
    CodeTree,
    FileVersion,
    LastChange,
    UnreadableFileError,
)
from commonplace.memory.code.repositories import Repositories
from commonplace.memory.code.suffixes import suffixes_of
from commonplace.memory.code.views import FileView, FileViews, TreeIndex
from commonplace.memory.engine.code.fingerprint import Fingerprint
from commonplace.memory.engine.code.states import decide
from commonplace.memory.errors import ANCHOR_NOT_FOUND, failure

log = logging.getLogger("commonplace.memory.code")
Result = TypeVar("Result")
INDEX_SECONDS = 5.0  # how old the index of a repository may be in a search
FIRST_SECONDS = 0.5  # how long a search waits for the first index
_IndexKey = tuple[str, tuple[str, ...]]  # a repository and suffixes
KEPT_VERDICTS = 50_000
KEPT_INDEXES = 64
MOST_GIT_CALLS = 50  # of one listing
NAMED_SYMBOLS = 8  # in a hint
USABLE_FILE = f"Name a text of at most {FILE_BYTES:,} bytes that is not a symbolic link."
NOT_REACHED = "the repository is not below memory.roots, nor a stored project"


@dataclass(frozen=True, slots=True)
class _Kept:
    """A verdict, and what it was decided from."""

    verdict: AnchorVerdict
    version: FileVersion | None  # of the file at the path of the anchor
    generation: int | None  # of the index; None if only that file was read


class _KeptIndex:
    """An index of a repository, when it was refreshed, and whether that is under way."""

    def __init__(self, index: TreeIndex) -> None:
        self.index = index
        self.refreshed = -INDEX_SECONDS
        self.guard = threading.Lock()
        self._ready = threading.Event()

    @property
    def is_due(self) -> bool:
        return time.monotonic() - self.refreshed >= INDEX_SECONDS

    def refresh(self) -> None:
        """Refresh the index; of two callers the second waits for the first."""
        asked = time.monotonic()
        with self.guard:
            if self.refreshed <= asked:
                began = time.monotonic()
                self.index.refresh()
                self.refreshed = began
                self._ready.set()

    def refresh_later(self) -> None:
        """Refresh the index in a thread of its own, unless one does."""
        if self.is_due and not self.guard.locked():
            threading.Thread(target=self._refresh_quietly, name="anchors", daemon=True).start()

    def wait(self, seconds: float) -> None:
        """Wait until the index was made once; raises UnreadableFileError if that takes longer."""
        if not self._ready.wait(seconds):
            raise UnreadableFileError("the repository is being read")

    def _refresh_quietly(self) -> None:
        try:
            self.refresh()
        except OSError as error:
            log.info("a repository could not be read again: %s", error.strerror)


class CodeChecker:
    """Implements `AnchorChecker` over folders and stored projects. Thread-safe."""

    def __init__(self, repositories: Repositories) -> None:
        self._repositories = repositories
        self._views = FileViews()
        self._verdicts: LruCache[tuple[str, CodeAnchor], _Kept] = LruCache(KEPT_VERDICTS)
        self._indexes: LruCache[_IndexKey, _KeptIndex] = LruCache(KEPT_INDEXES)

    def close(self) -> None:
        """End the process that parses."""
        self._views.outlines.close()

    def default_repository(self) -> str | None:
        """Return the name of the repository around a local caller."""
        top = self._repositories.around()
        return None if top is None else self._repositories.name_of(top)

    async def take(self, tenant: Tenant, anchor: CodeAnchor) -> CodeAnchor:
        """Return an anchor with the hash of its text, if its repository can be read."""
        return await self._run(lambda: self.take_now(tenant, anchor))

    async def check(
        self, tenant: Tenant, anchors: Sequence[CodeAnchor], *, fresh: bool
    ) -> tuple[AnchorVerdict, ...]:
        """Return the state of each anchor."""
        if not anchors:
            return ()
        return await self._run(lambda: self.check_now(tenant, anchors, fresh=fresh))

    async def last_changes(
        self, tenant: Tenant, verdicts: Sequence[AnchorVerdict]
    ) -> Mapping[CodeAnchor, LastChange]:
        """Return the last commits that touched the definitions or the files of anchors.

        Where git tells.
        """
        return await self._run(lambda: self._last_changes(tenant, verdicts))

    async def _run(self, work: Callable[[], Result]) -> Result:
        if self._repositories.projects is not None:
            self._repositories.projects.prepare()
        return await asyncio.to_thread(work)

    def take_now(self, tenant: Tenant, anchor: CodeAnchor) -> CodeAnchor:
        """Return an anchor with the hash of its text. Blocks; see `take`."""
        tree = self._repositories.find(tenant, anchor.repository)
        if tree is None:
            return anchor
        commit = head_commit(tree.root) if isinstance(tree, CheckoutTree) else ""
        try:
            view = self._views.view(tree, anchor.path, tree.version(anchor.path))
        except UnreadableFileError as error:
            problem = f"The file {anchor.path} cannot be used: {error}."
            raise _not_found(anchor, problem, hint=USABLE_FILE) from error
        if view is None:
            hint = "Write / between folders." if "\\" in anchor.path else None
            problem = f"The repository {anchor.repository} has no file {anchor.path}."
            raise _not_found(anchor, problem, hint=hint)
        if anchor.symbol is None:
            first, last = anchor.lines or (1, len(view.text.lines))
            span = view.text.trim(first, last)
            if span is None or last > len(view.text.lines):
                raise _no_text(anchor, len(view.text.lines))
            found = str(view.text.fingerprint([span if anchor.lines else (first, last)]))
            return replace(anchor, lines=span if anchor.lines else None, hash=found, commit=commit)
        symbol, spans = _find_symbol(view, anchor)
        around = min(first for first, _ in spans), max(last for _, last in spans)
        definitions = (view.symbols() or {}).values()
        found = str(view.text.fingerprint(spans, definitions))
        return replace(anchor, symbol=symbol, lines=around, hash=found, commit=commit)

    def check_now(
        self, tenant: Tenant, anchors: Sequence[CodeAnchor], *, fresh: bool
    ) -> tuple[AnchorVerdict, ...]:
        """Return the state of each anchor. Blocks; see `check`."""
        trees: dict[str, CodeTree | None] = {}
        refreshed: set[_IndexKey] = set()
        verdicts = []
        for anchor in anchors:
            if anchor.repository not in trees:
                trees[anchor.repository] = self._repositories.find(tenant, anchor.repository)
            tree = trees[anchor.repository]
            if tree is None:
                verdicts.append(AnchorVerdict(anchor, AnchorState.UNKNOWN, reason=NOT_REACHED))
            else:
                verdicts.append(self._decide(tree, anchor, fresh, refreshed))
        return tuple(verdicts)

    def _decide(
        self, tree: CodeTree, anchor: CodeAnchor, fresh: bool, refreshed: set[_IndexKey]
    ) -> AnchorVerdict:
        key = tree.identity, anchor
        kept = self._verdicts.get(key)
        try:
            version = tree.version(anchor.path)
            known = kept is not None and kept.version == version
            if kept is not None and known and (version is None or version.settled):
                if kept.generation is None:
                    return kept.verdict
                index = self._index(tree, anchor.path, fresh, refreshed)
                if index.generation == kept.generation:
                    return kept.verdict
            view = self._views.view(tree, anchor.path, version)
            others = _LazyFiles(lambda: self._index(tree, anchor.path, fresh, refreshed))
            verdict = decide(anchor, view, others)
        except UnreadableFileError as error:
            return AnchorVerdict(anchor, AnchorState.UNKNOWN, reason=str(error))
        used = others.used
        self._verdicts.put(key, _Kept(verdict, version, used.generation if used else None))
        return verdict

    def _index(
        self, tree: CodeTree, path: str, fresh: bool, refreshed: set[_IndexKey]
    ) -> TreeIndex:
        suffixes = suffixes_of(path)
        key = tree.identity, suffixes
        kept = self._indexes.get(key)
        if kept is None:
            kept = _KeptIndex(TreeIndex(tree, self._views, suffixes))
            self._indexes.put(key, kept)
        if not fresh:
            kept.refresh_later()
            kept.wait(FIRST_SECONDS)
        elif key not in refreshed:
            kept.refresh()
            refreshed.add(key)
        return kept.index

    def _last_changes(
        self, tenant: Tenant, verdicts: Sequence[AnchorVerdict]
    ) -> Mapping[CodeAnchor, LastChange]:
        known: dict[tuple[str, str, str, LineRange | None], LastChange | None] = {}
        found: dict[CodeAnchor, LastChange] = {}
        for verdict in verdicts:
            anchor = verdict.anchor
            tree = self._repositories.find(tenant, anchor.repository)
            if not isinstance(tree, CheckoutTree):
                continue
            lines = verdict.lines if verdict.path == anchor.path else None
            key = anchor.repository, anchor.path, anchor.commit, lines
            if key not in known:
                if len(known) >= MOST_GIT_CALLS:
                    break
                known[key] = last_change(tree.root, anchor.path, anchor.commit, lines)
            change = known[key]
            if change is not None:
                found[anchor] = change
        return found


class _LazyFiles:
    """The other files of a repository, indexed when they are first asked for."""

    def __init__(self, open_index: Callable[[], TreeIndex]) -> None:
        self._open = open_index
        self.used: TreeIndex | None = None

    def with_line(self, number: int) -> Sequence[FileView]:
        return tuple(self._index().with_line(number))

    def renamed(self, wanted: Fingerprint, share: float) -> Sequence[FileView]:
        return tuple(self._index().renamed(wanted, share))

    @property
    def gap(self) -> str:
        return self._index().gap

    def _index(self) -> TreeIndex:
        if self.used is None:
            self.used = self._open()
        return self.used


def _find_symbol(view: FileView, anchor: CodeAnchor) -> tuple[str, Sequence[LineRange]]:
    """Return the qualified name and the lines of a symbol, also of its last part alone."""
    symbols = view.symbols()
    if symbols is None:
        raise _not_found(
            anchor,
            f"{anchor.path} cannot be parsed, so its symbols are not known.",
            hint="Give its lines instead.",
        )
    wanted = anchor.symbol or ""
    if wanted in symbols:
        return wanted, symbols[wanted]
    named = [name for name in symbols if name.endswith((f".{wanted}", f" > {wanted}"))]
    if len(named) == 1:
        return named[0], symbols[named[0]]
    near = named or get_close_matches(wanted, symbols, NAMED_SYMBOLS) or list(symbols)
    hint = f"Name one of: {', '.join(near[:NAMED_SYMBOLS])}." if symbols else None
    problem = "has no symbol" if not named else "has several symbols"
    raise _not_found(anchor, f"{anchor.path} {problem} {wanted}.", hint=hint)


def _no_text(anchor: CodeAnchor, count: int) -> Exception:
    """Say why there is no text at the lines of an anchor, in a file of `count` lines."""
    if not count or anchor.lines is None:
        return _not_found(anchor, f"{anchor.path} is empty.", hint=USABLE_FILE)
    if anchor.lines[1] > count:
        problem = f"{anchor.path} ends with line {count}."
    else:
        problem = f"{anchor.place} has only empty lines."
    return _not_found(anchor, problem, hint="Give lines that have text.")


def _not_found(anchor: CodeAnchor, message: str, hint: str | None = None) -> Exception:
    return failure(
        ANCHOR_NOT_FOUND,
        message,
        hint=hint or "Give a path from the top of the repository, as it is now.",
        repository=anchor.repository,
        path=anchor.path,
    )

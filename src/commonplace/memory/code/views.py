"""Files of a repository as they are compared, kept while they do not change."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from commonplace.kernel.lru import LruCache
from commonplace.memory.anchors import LineRange
from commonplace.memory.code.protocol import CodeTree, FileVersion, UnreadableFileError
from commonplace.memory.engine.code.fingerprint import Fingerprint, SourceText
from commonplace.memory.engine.code.states import Symbols
from commonplace.search.code.parser_process import ParserProcess

KEPT_BYTES = 48_000_000  # of texts
KEPT_OUTLINES = 4_000  # files
_WIDTH = array("I").itemsize


class Outlines:
    """What files define, by their content. Thread-safe."""

    def __init__(self) -> None:
        self._parser = ParserProcess()
        self._kept: LruCache[tuple[str, bytes], _Outline] = LruCache(KEPT_OUTLINES)

    def symbols(self, path: str, content: bytes, text: SourceText) -> Symbols | None:
        """Return the lines of each definition without empty lines; None if it is not parsed."""
        # Not the digest of the text: white space means something in Python.
        key = path.rpartition("/")[2].rpartition(".")[2], hashlib.sha256(content).digest()
        outline = self._kept.get(key)
        if outline is None:
            outline = self._parse(path, content, text)
            self._kept.put(key, outline)
        return outline.symbols

    def _parse(self, path: str, content: bytes, text: SourceText) -> _Outline:
        structure = self._parser.structure(path, content)
        if structure.note:
            return _Outline(None)
        symbols: dict[str, list[LineRange]] = {}
        for definition in structure.definitions:
            span = text.trim(definition.start_line, definition.end_line)
            if span is not None:
                symbols.setdefault(definition.qualified, []).append(span)
        return _Outline(symbols)

    def close(self) -> None:
        """End the process that parses."""
        self._parser.close()


@dataclass(frozen=True, slots=True)
class _Outline:
    symbols: Symbols | None


class FileView:
    """A file as it is now; its definitions are parsed when they are asked for."""

    __slots__ = ("_content", "_outlines", "path", "text", "version")

    def __init__(self, path: str, version: FileVersion, content: bytes, outlines: Outlines) -> None:
        self.path = path
        self.version = version
        self.text = SourceText(content)
        self._content = content
        self._outlines = outlines

    def symbols(self) -> Symbols | None:
        """Return what the file defines; None if it cannot be parsed."""
        return self._outlines.symbols(self.path, self._content, self.text)


class FileViews:
    """Views of files of all repositories. Thread-safe."""

    def __init__(self) -> None:
        self.outlines = Outlines()
        self._kept: LruCache[tuple[str, str], FileView] = LruCache(
            max_size=KEPT_BYTES, size_of=lambda view: 3 * view.text.size + 1_000
        )

    def view(self, tree: CodeTree, path: str, version: FileVersion | None) -> FileView | None:
        """Return a file of a known version, None if there is none; raises UnreadableFileError."""
        if version is None:
            return None
        key = tree.identity, path
        kept = self._kept.get(key)
        if kept is not None and kept.version == version and version.settled:
            return kept
        content = tree.read(path)
        if content is None:
            return None
        fresh = FileView(path, version, content, self.outlines)
        self._kept.put(key, fresh)
        return fresh


class TreeIndex:
    """The hashes of the lines of all files of some suffixes, to find texts that moved.

    Implements `OtherFiles`. Refreshing reads only the files that changed.
    """

    def __init__(self, tree: CodeTree, views: FileViews, suffixes: tuple[str, ...]) -> None:
        self._tree = tree
        self._views = views
        self._suffixes = suffixes
        self._lines: dict[str, tuple[FileVersion, bytes]] = {}
        self.generation = 0  # counts the times that something had changed
        self.gap = ""

    def refresh(self) -> None:
        """Look at the files again."""
        listed = self._tree.files(self._suffixes)
        lines: dict[str, tuple[FileVersion, bytes]] = {}
        changed = listed.gap != self.gap or self.generation == 0
        for path, version in listed.versions.items():
            known = self._lines.get(path)
            if known is not None and known[0] == version and version.settled:
                lines[path] = known
                continue
            packed = self._pack(path)
            if packed is not None:
                lines[path] = (version, packed)
                changed = changed or known is None or known[1] != packed
        changed = changed or lines.keys() != self._lines.keys()
        self._lines, self.gap = lines, listed.gap
        self.generation += changed

    def _pack(self, path: str) -> bytes | None:
        try:
            content = self._tree.read(path)
        except UnreadableFileError:
            return None
        return None if content is None else SourceText(content).hashes.tobytes()

    def with_line(self, number: int) -> Iterator[FileView]:
        """Yield the files that have a line of this hash."""
        wanted = array("I", [number]).tobytes()
        for path, (_, packed) in self._lines.items():
            if _contains(packed, wanted):
                yield from self._open(path)

    def renamed(self, wanted: Fingerprint, share: float) -> Iterator[FileView]:
        """Yield the files with more than a share of the lines of a file, best first."""
        numbers = [array("I", [number]).tobytes() for number in wanted.file_sample]
        counts = [
            (-sum(_contains(packed, number) for number in numbers), path)
            for path, (_, packed) in self._lines.items()
        ]
        for count, path in sorted(counts):
            if -count <= share * len(numbers):
                return
            if wanted.resembles_file(array("I", self._lines[path][1])):
                yield from self._open(path)

    def _open(self, path: str) -> Iterator[FileView]:
        try:
            view = self._views.view(self._tree, path, self._tree.version(path))
        except UnreadableFileError:
            return
        if view is not None:
            yield view


def _contains(packed: bytes, number: bytes) -> bool:
    at = packed.find(number)
    while at >= 0 and at % _WIDTH:
        at = packed.find(number, at + 1)
    return at >= 0

"""Original names of stored files: which stored path belongs to which source path."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from commonplace.files.errors import INVALID_PATH
from commonplace.files.model import FileEntry, FilePath, ancestors
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.paths import is_spelling_of, number_segment, spell_segment


@dataclass(frozen=True, slots=True)
class SpelledName:
    """A file that is stored under another path than it has in its folder."""

    source_path: str
    path: str


def check_source_path(path: FilePath, source: str) -> str | None:
    """Return the source path to store for a path; None if both are the same.

    Each segment must be the stored one or what it spells, so that an export never leaves its
    folder. INVALID_PATH.
    """
    names, originals = path.split("/"), source.split("/")
    forbidden = {"", ".", ".."}
    legal = source.startswith("/") and not forbidden & set(originals[1:]) and "\0" not in source
    if not legal or len(names) != len(originals) or not all(map(is_spelling_of, names, originals)):
        raise CommonplaceError(
            INVALID_PATH,
            "source_path: it is not a name that the path stands for.",
            hint="Spell each byte outside a-z, A-Z, 0-9, _ - . as _xHH in path: /[id].md is "
            "stored as /_x5Bid_x5D.md.",
            details={"field": "source_path"},
        )
    return None if source == path else source


def moved_source(source: str, old: FilePath, new: FilePath, moved: int) -> str | None:
    """Return the source path of a file after a move; None if its new path needs none.

    `moved` is how many segments the renamed path has: segments that were not renamed keep their
    original.
    """
    originals, before, after = source.split("/"), old.split("/"), new.split("/")
    below = len(before) - 1 - moved
    named = len(after) - below
    result = [*after[:named], *originals[len(originals) - below :]]
    for at in range(min(named, moved + 1)):
        if after[at] != before[at]:
            break
        result[at] = originals[at]
    joined = "/".join(result)
    return None if joined == new else joined


def export_target(folder: Path, entry: FileEntry, taken: set[Path]) -> Path:
    """Return where an export writes a file, and add that to `taken`.

    That is its original path, or the stored one if the original is taken or impossible on disk.
    """
    target = folder / entry.path[1:]
    if entry.source_path is not None:
        original = folder / entry.source_path[1:]
        inside = (
            original.parts[: len(folder.parts)] == folder.parts
            and original.name == entry.source_path.rpartition("/")[2]
        )
        if inside and ".." not in original.parts[len(folder.parts) :] and original not in taken:
            target = original
    taken.add(target)
    return target


@dataclass(slots=True)
class _Folder:
    files: set[str] = field(default_factory=set)
    folders: dict[str, _Folder] = field(default_factory=lambda: defaultdict(_Folder))


def stored_paths(sources: Iterable[str], existing: Mapping[str, str | None]) -> dict[str, FilePath]:
    """Choose the stored path of each source path (`/a/[id].md`).

    Legal names are unchanged; other names are spelled, with a number if a sibling or an existing
    file has that name. `existing` maps the paths of live files to their source paths: a file that
    was stored before keeps its path.
    """
    root = _Folder()
    for source in sources:
        *above, name = source.split("/")[1:]
        folder = root
        for segment in above:
            folder = folder.folders[segment]
        folder.files.add(name)
    known = {source: path for path, source in existing.items() if source is not None}
    directories: set[str] = {
        directory for path in existing for directory in ancestors(FilePath(path))
    }
    return dict(_Chooser(existing, known, directories).choose(root, "", ""))


@dataclass(frozen=True, slots=True)
class _Chooser:
    existing: Mapping[str, str | None]
    known: Mapping[str, str]
    directories: set[str]

    def choose(self, folder: _Folder, stored: str, source: str) -> Iterator[tuple[str, FilePath]]:
        names = {*folder.files, *folder.folders}
        used = {name for name in names if spell_segment(name) == name}
        for name in sorted(names, key=lambda name: (name not in used, name)):
            original, is_file = f"{source}/{name}", name in folder.files
            chosen = (
                name
                if spell_segment(name) == name
                else self._spell_free(stored, original, is_file, used)
            )
            used.add(chosen)
            if is_file:
                yield original, FilePath(f"{stored}/{chosen}")
            else:
                yield from self.choose(folder.folders[name], f"{stored}/{chosen}", original)

    def _spell_free(self, stored: str, original: str, is_file: bool, used: set[str]) -> str:
        directory, _, name = self.known.get(original, "").rpartition("/")
        if is_file and name and directory == stored and name not in used:
            return name
        spelled, count = spell_segment(original.rpartition("/")[2]), 1
        while (chosen := number_segment(spelled, count)) in used or self._is_taken(
            f"{stored}/{chosen}", original, is_file
        ):
            count += 1
        return chosen

    def _is_taken(self, path: str, original: str, is_file: bool) -> bool:
        if path in self.existing:
            return not is_file or self.existing[path] != original
        return is_file and path in self.directories

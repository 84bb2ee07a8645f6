"""Chunks that a query names: by symbols it mentions, files, and frames of stack traces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from commonplace.files.model import FilePath, Project
from commonplace.files.store.protocol import SymbolStore
from commonplace.files.symbols import ChunkPlace, SymbolDefinition
from commonplace.search.relevance.evidence import path_share
from commonplace.search.relevance.file_kind import FileKind, kind_of_path
from commonplace.search.relevance.query import QueryReading, QueryShape
from commonplace.search.relevance.traces import NamedPlace

MOST_NAMES = 32
MOST_DEFINITIONS = 8  # of one name; a name with more tells little
MOST_READ = 40  # definitions of one name to choose from: the index returns them by path
MOST_PATHS = 16
MOST_FILES = 4  # of one name of a file
LEAST_SHARE = 0.3  # of a path that must fit
PATH_STRENGTH = 100.0
FRAME_STRENGTH = 3.0
DOUBTFUL = {
    FileKind.TEST: 0.3,
    FileKind.PROSE: 0.3,
    FileKind.HISTORY: 0.1,
    FileKind.DATA: 0.5,
    FileKind.GENERATED: 0.1,
    FileKind.BUILT: 0.5,
}

Line = tuple[FilePath, int]


@dataclass(frozen=True, slots=True)
class Mentions:
    """Keys of chunks, the most certain first; what they define; how often a name is defined."""

    keys: tuple[str, ...] = ()
    places: Mapping[str, ChunkPlace] = field(default_factory=dict)
    defines: Mapping[str, frozenset[str]] = field(default_factory=dict)
    definers: Mapping[str, int] = field(default_factory=dict)


async def find_mentions(
    symbols: SymbolStore,
    tenant: str,
    project: Project,
    reading: QueryReading,
    *,
    most: int,
    prefix: str = "",
) -> Mentions:
    """Find at most `most` chunks below a prefix that the query names."""
    frames = [place for place in reading.places if place.symbol]
    names = _names(reading, frames)
    if not names and not reading.places:
        return Mentions()
    found = await symbols.definitions(tenant, project, names, MOST_READ, prefix)
    defined = _choose(found, names, reading)
    strengths: dict[Line, float] = {}
    holding: dict[Line, set[str]] = {}
    for name, rows in defined.items():
        for row in rows:
            line = (row.path, row.definition.line)
            _add(strengths, line, reading.symbols.get(name, 0.0) / len(rows), reading)
            holding.setdefault(line, set()).add(name)
    for path_named in dict.fromkeys(place.path for place in reading.places[:MOST_PATHS]):
        places = [place for place in reading.places if place.path == path_named]
        for path, share in await _files(symbols, tenant, project, path_named, prefix):
            for place in places:
                line = (path, _line_of(place, defined.get(place.symbol or "", ()), path))
                _add(strengths, line, share * _strength_of(place, reading), reading)
    order = sorted(strengths, key=lambda line: (-strengths[line], line))[: 2 * most]
    rows_at = await symbols.chunks_at(tenant, project, order)
    return _collect(rows_at, order, holding, most, {n: len(rows) for n, rows in defined.items()})


def _choose(
    found: Iterable[SymbolDefinition], names: Iterable[str], reading: QueryReading
) -> dict[str, list[SymbolDefinition]]:
    """Return the definitions of each name as it is written, those of tests and mocks last."""
    wanted = set(names)
    defined: dict[str, list[SymbolDefinition]] = {}
    for row in found:
        if row.definition.name in wanted:
            defined.setdefault(row.definition.name, []).append(row)
    return {
        name: sorted(rows, key=lambda row: -_trust(row.path, reading))[:MOST_DEFINITIONS]
        for name, rows in defined.items()
    }


def _names(reading: QueryReading, frames: Iterable[NamedPlace]) -> list[str]:
    inner = sorted(frames, key=lambda place: place.depth or 0)
    symbols = [place.symbol for place in inner[:8] if place.symbol]
    return list(dict.fromkeys((*symbols, *reading.symbols)))[:MOST_NAMES]


async def _files(
    symbols: SymbolStore, tenant: str, project: Project, named: str, prefix: str
) -> list[tuple[FilePath, float]]:
    """Return the files that fit a named path best, and how well they fit."""
    name = named.rstrip("/").rpartition("/")[2]
    paths = await symbols.files_named(tenant, project, name, 4 * MOST_FILES)
    fitting = [(path, path_share(path, named)) for path in paths if path.startswith(prefix)]
    best = max((share for _, share in fitting), default=0.0)
    if best < LEAST_SHARE:
        return []
    return [(path, share) for path, share in fitting if share == best][:MOST_FILES]


def _strength_of(place: NamedPlace, reading: QueryReading) -> float:
    if reading.shape is QueryShape.PATH:
        return PATH_STRENGTH
    if place.depth is not None:
        return FRAME_STRENGTH / (1 + 0.35 * place.depth)
    return 1.0 if place.line is not None else 0.5


def _line_of(place: NamedPlace, rows: Iterable[SymbolDefinition], path: FilePath) -> int:
    """Return the line of the symbol that a frame names, near its line; its line if there is none.

    Frames come from other versions of a file, so a name is the better guide.
    """
    lines = [row.definition.line for row in rows if row.path == path]
    if lines:
        return min(lines, key=lambda line: (abs(line - (place.line or 0)), line))
    return place.line or 1


def _add(strengths: dict[Line, float], line: Line, strength: float, reading: QueryReading) -> None:
    strengths[line] = strengths.get(line, 0.0) + _trust(line[0], reading) * strength


def _trust(path: FilePath, reading: QueryReading) -> float:
    """Return how likely a file of this kind is meant, from 0 to 1."""
    kind = kind_of_path(path)
    asked = kind is FileKind.TEST and reading.wants_tests
    return 1.0 if asked else DOUBTFUL.get(kind, 1.0)


def _collect(
    rows: Iterable[ChunkPlace],
    order: list[Line],
    holding: Mapping[Line, set[str]],
    most: int,
    definers: Mapping[str, int],
) -> Mentions:
    by_path: dict[FilePath, list[ChunkPlace]] = {}
    for row in rows:
        by_path.setdefault(row.path, []).append(row)
    places: dict[str, ChunkPlace] = {}
    defines: dict[str, frozenset[str]] = {}
    for path, line in order:
        for row in by_path.get(path, ()):
            if row.start_line <= line <= row.end_line:
                if row.key not in places and len(places) >= most:
                    continue
                places[row.key] = row
                held = frozenset(holding.get((path, line), ()))
                defines[row.key] = defines.get(row.key, frozenset()) | held
    return Mentions(tuple(places), places, defines, definers)

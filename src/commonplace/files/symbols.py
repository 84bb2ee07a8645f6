"""Values of the symbol index: definitions, uses and paths of a project, and index versions."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.files.model import FilePath
from commonplace.search.code.chunking import CHUNKER_VERSION
from commonplace.search.code.structure import Definition, Import, Structure
from commonplace.search.lexical.text import ANALYSIS_VERSION


@dataclass(frozen=True, slots=True)
class IndexVersions:
    """The versions that an index was made with.

    `model` is the identity of the embedding model, empty without one. `grammars`: whether all
    grammars are installed, so that files which lacked one can be read now. `extracts` is the
    version of what another domain finds in files, 0 if nobody looks.
    """

    chunker: int = CHUNKER_VERSION
    analysis: int = ANALYSIS_VERSION
    model: str = ""
    grammars: bool = False
    extracts: int = 0

    def parameters(self) -> dict[str, int]:
        """Return what statements compare records with."""
        return {
            "chunker": self.chunker,
            "analysis": self.analysis,
            "grammars": int(self.grammars),
            "extracts": self.extracts,
        }


@dataclass(frozen=True, slots=True)
class FileSymbols:
    """What the index keeps about one file beside its chunks."""

    structure: Structure
    path_words: tuple[str, ...] = ()
    grammar_missing: bool = False
    has_extracts: bool = False  # it is of a kind that another domain finds something in
    extracts_note: str = ""  # why some of it is missing


@dataclass(frozen=True, slots=True)
class SymbolDefinition:
    """A definition and the file that has it."""

    path: FilePath
    language: str
    definition: Definition


@dataclass(frozen=True, slots=True)
class SymbolUse:
    """The lines on which a file uses a name, and those of calls and imports among them."""

    path: FilePath
    name: str
    lines: tuple[int, ...]
    calls: tuple[int, ...] = ()
    imports: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FileOutline:
    """The definitions and imports of a file, in order."""

    path: FilePath
    language: str
    definitions: tuple[SymbolDefinition, ...]
    imports: tuple[Import, ...]


@dataclass(frozen=True, slots=True)
class PathMatch:
    """A file whose path has some of the words that were asked for."""

    path: FilePath
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """The chunk at a line of a file, by the key that search uses."""

    key: str
    path: FilePath
    start: int
    end: int
    start_line: int
    end_line: int
    symbol: str
    kind: str

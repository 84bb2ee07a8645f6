"""From a name to its definition and uses, and from a passage to what stands around it.

Everything is by name, as the files were last indexed: two functions of the same name are both
found, and nobody resolves imports.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from commonplace.files.checks import check_prefix, clamp_limit, invalid
from commonplace.files.errors import INVALID_QUERY, nothing_at
from commonplace.files.model import FilePath, Project, file_path
from commonplace.files.store.protocol import FileStore, SymbolStore
from commonplace.files.symbols import FileOutline, SymbolDefinition, SymbolUse
from commonplace.kernel.errors import CommonplaceError
from commonplace.search.relevance.file_kind import FileKind, kind_of_path

MAX_CALLERS = 8
MAX_CALLEES = 12
MAX_DEFINITIONS_OF_CALLEE = 2  # more would be guesses: the name says too little
CHARACTERS = 6_000  # of neighbours, unless asked otherwise
MAX_CHARACTERS = 100_000
MAX_SYMBOLS = 200  # of one answer
MOST_ORDERED = 40  # definitions of a name to choose from: the index returns them by path
MAX_QUERY_CHARACTERS = 256
OUTLINE_SYMBOLS = 2_000  # of one file
LEAST_CHARACTERS = 80  # a shorter rest of the budget shows nothing
_CODE_KINDS = frozenset(("function", "method", "constructor", "macro", "class", "struct"))


@dataclass(frozen=True, slots=True)
class PassageNeighbour:
    """A passage beside another one: `enclosing`, `caller` or `callee` of it.

    `text` is the file's text from `start` to `end`; `cut` says that the definition goes on.
    """

    relation: str
    path: FilePath
    symbol: str
    kind: str
    start: int
    end: int
    start_line: int
    end_line: int
    text: str
    cut: bool = False


@dataclass(frozen=True, slots=True)
class SymbolQuery:
    """A question to the symbol index: a name, the outline of a file, or a passage of it."""

    name: str = ""
    path: str = ""
    start_line: int = 0
    end_line: int = 0
    prefix: str = ""
    uses: bool = True
    limit: int = 20
    characters: int = CHARACTERS

    def checked(self) -> SymbolQuery:
        """Return the question within its bounds; INVALID_QUERY, INVALID_ARGUMENT."""
        if bool(self.name.strip()) == bool(self.path):
            raise CommonplaceError(
                INVALID_QUERY,
                "Give either name or path.",
                hint="name finds definitions and uses; path gives the outline of a file.",
                details={"field": "name"},
            )
        if len(self.name) > MAX_QUERY_CHARACTERS:
            raise CommonplaceError(
                INVALID_QUERY,
                f"name has at most {MAX_QUERY_CHARACTERS} characters.",
                hint="Ask for one name, such as Session or Session.send.",
                details={"field": "name"},
            )
        check_prefix(self.prefix)
        for name in ("start_line", "end_line", "characters"):
            if getattr(self, name) < 0:
                shown = "max_characters" if name == "characters" else name
                raise invalid(shown, f"{shown} is not negative")
        if self.end_line and self.end_line < self.start_line:
            raise invalid("end_line", "end_line is not before start_line")
        if self.start_line and not self.path:
            raise invalid("start_line", "start_line needs the path of a file")
        most, _ = clamp_limit("limit", self.limit, self.limit, MAX_SYMBOLS)
        return replace(self, limit=most, characters=min(self.characters, MAX_CHARACTERS))


@dataclass(frozen=True, slots=True)
class SymbolResult:
    """The answer: definitions and uses of a name, or those of a file and what is around it."""

    definitions: tuple[SymbolDefinition, ...] = ()
    uses: tuple[SymbolUse, ...] = ()
    outline: FileOutline | None = None
    neighbours: tuple[PassageNeighbour, ...] = ()
    has_more: bool = False
    notes: tuple[str, ...] = ()


class Navigation:
    """Reads the symbol index of one database."""

    def __init__(self, symbols: SymbolStore, files: FileStore) -> None:
        self.symbols = symbols
        self._files = files

    async def find(self, tenant: str, project: Project, query: SymbolQuery) -> SymbolResult:
        """Answer a question; NOT_FOUND if there is no such file in the index."""
        query = query.checked()
        if query.path:
            return await self._about_file(tenant, project, query)
        limit = query.limit
        definitions = await self.definitions(tenant, project, query.name, limit + 1, query.prefix)
        uses = (
            await self.uses(tenant, project, query.name, limit + 1, query.prefix)
            if query.uses
            else []
        )
        notes = () if definitions else (f"no indexed file defines {query.name.strip()}",)
        return SymbolResult(
            tuple(definitions[:limit]),
            tuple(uses[:limit]),
            has_more=len(definitions) > limit or len(uses) > limit,
            notes=notes,
        )

    async def _about_file(self, tenant: str, project: Project, query: SymbolQuery) -> SymbolResult:
        path = file_path(query.path)
        outline = await self.symbols.outline(tenant, project, path)
        if outline is None:
            raise nothing_at(path)
        if query.start_line:
            lines = (query.start_line, query.end_line or query.start_line)
            around = await self.neighbours(tenant, project, path, lines, query.characters)
            return SymbolResult(
                tuple(_enclosing(outline.definitions, lines)), neighbours=tuple(around)
            )
        notes: tuple[str, ...] = ()
        if not outline.definitions:
            notes = ("this file has no definitions: it is indexed as plain text",)
        return SymbolResult(
            outline.definitions[:OUTLINE_SYMBOLS],
            outline=outline,
            has_more=len(outline.definitions) > OUTLINE_SYMBOLS,
            notes=notes,
        )

    async def definitions(
        self, tenant: str, project: Project, name: str, limit: int, prefix: str = ""
    ) -> list[SymbolDefinition]:
        """Return definitions of a name; with dots (`Class.method`) only inside that class.

        Those as written come first, mere declarations and those of tests and generated code later.
        """
        owner, last = split_qualified(name)
        found = await self.symbols.definitions(
            tenant, project, [last], max(limit, MOST_ORDERED) if not owner else 10 * limit, prefix
        )
        found.sort(key=lambda entry: _rank(entry, last))
        if owner:
            wanted = f"{owner}.{last}"
            found = [
                entry
                for entry in found
                if f".{entry.definition.qualified}".endswith(f".{wanted}")
                or f".{entry.definition.qualified}".lower().endswith(f".{wanted.lower()}")
            ]
        return found[:limit]

    async def uses(
        self, tenant: str, project: Project, name: str, limit: int, prefix: str = ""
    ) -> list[SymbolUse]:
        """Return the files that use the last part of a name, and where."""
        return await self.symbols.uses(tenant, project, [split_qualified(name)[1]], limit, prefix)

    async def neighbours(
        self,
        tenant: str,
        project: Project,
        path: FilePath,
        lines: tuple[int, int],
        characters: int = CHARACTERS,
    ) -> list[PassageNeighbour]:
        """Return what stands around some lines, within a budget of characters.

        First the definition around them, if it is larger than they are, then what they call, then
        who calls what they define.
        """
        outline = await self.symbols.outline(tenant, project, path)
        if outline is None or characters < LEAST_CHARACTERS:
            return []
        around = _enclosing(outline.definitions, lines)
        defined = _defined(outline.definitions, lines) or around[:1]
        callees = await self._callees(tenant, project, path, lines)
        callers = await self._callers(tenant, project, defined)
        known = {(path, entry.definition.start) for entry in defined}
        if around and around[0].definition.start_line >= lines[0]:
            around = []
        wanted = [("enclosing", entry) for entry in around[:1]]
        wanted += [("callee", entry) for entry in callees if _place(entry) not in known]
        wanted += [("caller", entry) for entry in callers if _place(entry) not in known]
        return await self._within(tenant, project, wanted, characters)

    async def _callees(
        self, tenant: str, project: Project, path: FilePath, lines: tuple[int, int]
    ) -> list[SymbolDefinition]:
        first, last = lines
        names: dict[str, int] = {}
        for use in await self.symbols.uses_of_file(tenant, project, path):
            called = next((line for line in use.calls if first <= line <= last), None)
            if called is not None:
                names[use.name] = called
        ordered = sorted(names, key=lambda name: (names[name], name))[: 4 * MAX_CALLEES]
        found = await self.symbols.definitions(
            tenant, project, ordered, MAX_DEFINITIONS_OF_CALLEE + 1
        )
        by_name: dict[str, list[SymbolDefinition]] = {}
        for entry in found:
            if entry.definition.name in names and entry.definition.kind in _CODE_KINDS:
                by_name.setdefault(entry.definition.name, []).append(entry)
        return [
            entry
            for name in ordered
            for entry in by_name.get(name, ())
            if len(by_name[name]) <= MAX_DEFINITIONS_OF_CALLEE
        ][:MAX_CALLEES]

    async def _callers(
        self, tenant: str, project: Project, defined: Sequence[SymbolDefinition]
    ) -> list[SymbolDefinition]:
        names = [entry.definition.name for entry in defined if entry.definition.kind in _CODE_KINDS]
        found: list[SymbolDefinition] = []
        for use in await self.symbols.uses(tenant, project, names[:4], MAX_CALLERS):
            outline = await self.symbols.outline(tenant, project, use.path)
            if outline is None:
                continue
            for line in use.calls[:2]:
                found += _enclosing(outline.definitions, (line, line))[:1]
        return list({_place(entry): entry for entry in found}.values())[:MAX_CALLERS]

    async def _within(
        self,
        tenant: str,
        project: Project,
        wanted: Iterable[tuple[str, SymbolDefinition]],
        characters: int,
    ) -> list[PassageNeighbour]:
        """Read the texts of definitions until the budget is spent; a long one is cut at a line."""
        chosen: list[PassageNeighbour] = []
        seen: set[tuple[FilePath, int]] = set()
        for relation, entry in wanted:
            if characters < LEAST_CHARACTERS or _place(entry) in seen:
                continue
            seen.add(_place(entry))
            made = await self._neighbour(tenant, project, relation, entry, characters)
            if made is not None:
                chosen.append(made)
                characters -= len(made.text)
        return chosen

    async def _neighbour(
        self,
        tenant: str,
        project: Project,
        relation: str,
        entry: SymbolDefinition,
        characters: int,
    ) -> PassageNeighbour | None:
        definition = entry.definition
        size = definition.end - definition.start
        content = await self._files.slice(
            tenant, project, entry.path, definition.start, min(size, 4 * characters)
        )
        if content is None:
            return None
        text = content.content.decode(errors="ignore")
        cut = len(content.content) < size or len(text) > characters
        if cut:
            text = text[:characters]
            text = text[: text.rfind("\n") + 1] or text
        if definition.name not in text:  # the file changed since it was indexed
            return None
        end = definition.start + len(text.encode())
        end_line = definition.start_line + text.rstrip("\n").count("\n")
        return PassageNeighbour(
            relation,
            entry.path,
            definition.qualified,
            definition.kind,
            definition.start,
            end,
            definition.start_line,
            end_line,
            text,
            cut,
        )


def _rank(entry: SymbolDefinition, name: str) -> tuple[bool, bool, bool]:
    """Return what decides the order of definitions; equal ones stay in the order of paths."""
    definition = entry.definition
    aside = kind_of_path(entry.path) in (FileKind.TEST, FileKind.GENERATED, FileKind.BUILT)
    return definition.name != name, definition.kind == "declaration", aside


def split_qualified(name: str) -> tuple[str, str]:
    """Return the owner and the last part of a name, spelled as in any of the languages."""
    parts = [
        part
        for part in name.strip().replace("::", ".").replace("#", ".").replace("->", ".").split(".")
        if part
    ]
    if not parts:
        return "", name.strip()
    return ".".join(parts[:-1]), parts[-1].removesuffix("()")


def _place(entry: SymbolDefinition) -> tuple[FilePath, int]:
    return entry.path, entry.definition.start


def _enclosing(
    definitions: Iterable[SymbolDefinition], lines: tuple[int, int]
) -> list[SymbolDefinition]:
    """Return the definitions around lines, the innermost first."""
    found = [
        entry
        for entry in definitions
        if entry.definition.kind in _CODE_KINDS
        and entry.definition.start_line <= lines[0]
        and entry.definition.end_line >= lines[1]
    ]
    return sorted(found, key=lambda entry: entry.definition.end - entry.definition.start)


def _defined(
    definitions: Iterable[SymbolDefinition], lines: tuple[int, int]
) -> list[SymbolDefinition]:
    """Return the definitions whose name stands on one of the lines."""
    return [
        entry
        for entry in definitions
        if entry.definition.kind in _CODE_KINDS and lines[0] <= entry.definition.line <= lines[1]
    ]

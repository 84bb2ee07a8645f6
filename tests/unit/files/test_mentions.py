"""What a query names is found by the symbol index: definitions, files, lines and frames."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from commonplace.files.mentions import Mentions, find_mentions
from commonplace.files.model import FilePath, Project
from commonplace.files.symbols import ChunkPlace, SymbolDefinition
from commonplace.search.code.structure import Definition
from commonplace.search.relevance.query import read_query

TRACE = """Opening fails

Traceback (most recent call last):
  File "/usr/lib/site-packages/acme/net/http.py", line 7, in connect
    open_socket()
  File "/usr/lib/site-packages/acme/net/tcp.py", line 90, in open_socket
    raise OSError
OSError: no
"""


class KnownSymbols:
    """A symbol index of a few definitions; every chunk has ten lines."""

    def __init__(self, **defined: tuple[tuple[str, int], ...]) -> None:
        self.defined = defined
        self.asked: list[str] = []

    async def definitions(
        self, tenant: str, project: str, names: Sequence[str], limit: int, prefix: str = ""
    ) -> list[SymbolDefinition]:
        self.asked += names
        return [
            SymbolDefinition(
                FilePath(path),
                "python",
                Definition(name, name, "function", 0, 9, line, line + 3, line, f"def {name}"),
            )
            for name in names
            for path, line in self.defined.get(name, ())[:limit]
            if path.startswith(prefix)
        ]

    async def files_named(self, tenant: str, project: str, name: str, limit: int) -> list[FilePath]:
        paths = {path for rows in self.defined.values() for path, _ in rows}
        return [FilePath(path) for path in sorted(paths) if path.endswith(f"/{name}")][:limit]

    async def chunks_at(
        self, tenant: str, project: str, places: Sequence[tuple[FilePath, int]]
    ) -> list[ChunkPlace]:
        found = {}
        for path, line in places:
            start = line // 10 * 10
            key = f"{path}#{start}"
            found[key] = ChunkPlace(key, path, 0, 1, start, start + 9, "", "function")
        return list(found.values())


def find(symbols: KnownSymbols, query: str, most: int = 10, prefix: str = "") -> Mentions:
    store: Any = symbols
    return asyncio.run(
        find_mentions(store, "t", Project("p"), read_query(query), most=most, prefix=prefix)
    )


def test_a_name_finds_its_definition() -> None:
    found = find(KnownSymbols(open_socket=(("/acme/tcp.py", 31),)), "open_socket")
    assert found.keys == ("/acme/tcp.py#30",)
    assert found.defines == {"/acme/tcp.py#30": frozenset({"open_socket"})}
    assert found.definers == {"open_socket": 1}


def test_a_question_without_names_asks_nothing() -> None:
    symbols = KnownSymbols(open_socket=(("/acme/tcp.py", 31),))
    assert find(symbols, "how is a connection opened?") == Mentions()
    assert symbols.asked == []


def test_frames_find_the_function_they_name_although_its_line_moved() -> None:
    symbols = KnownSymbols(
        open_socket=(("/acme/net/tcp.py", 31), ("/other/udp.py", 1)),
        connect=(("/acme/net/http.py", 52),),
    )
    assert find(symbols, TRACE).keys[:2] == ("/acme/net/tcp.py#30", "/acme/net/http.py#50")


def test_a_path_with_a_line_finds_the_chunk_at_the_line() -> None:
    symbols = KnownSymbols(run=(("/acme/net/tcp.py", 1), ("/acme/tcp.py", 1)))
    assert find(symbols, "net/tcp.py:44").keys == ("/acme/net/tcp.py#40",)
    assert find(symbols, "net/tcp.py").keys == ("/acme/net/tcp.py#0",)


def test_definitions_in_tests_come_last() -> None:
    symbols = KnownSymbols(Client=(("/tests/fake.py", 1), ("/acme/client.py", 1)))
    assert find(symbols, "Client").keys == ("/acme/client.py#0", "/tests/fake.py#0")
    assert find(symbols, "Client", most=1).keys == ("/acme/client.py#0",)


def test_the_prefix_holds_for_names_and_paths() -> None:
    symbols = KnownSymbols(Client=(("/acme/client.py", 1), ("/lib/client.py", 1)))
    assert find(symbols, "Client", prefix="/lib").keys == ("/lib/client.py#0",)
    assert find(symbols, "client.py", prefix="/lib").keys == ("/lib/client.py#0",)


def test_many_definitions_in_mocks_and_tests_do_not_hide_the_real_one() -> None:
    fakes = tuple((f"/mocks/client{number}.py", 1) for number in range(20))
    symbols = KnownSymbols(Client=(*fakes, ("/src/client.py", 31)))
    found = find(symbols, "Client", most=3)
    assert found.keys[0] == "/src/client.py#30"
    assert found.definers == {"Client": 8}

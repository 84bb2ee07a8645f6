"""Exact text, definitions, paths and stack traces win, on every database in the same order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from files_box import Box, MakeBox

from commonplace.kernel.auth import Tenant, tenant_hash
from commonplace.search.lexical.postgres import PostgresPostings
from commonplace.search.lexical.sqlite import SqlitePostings
from commonplace.search.model import Retrieval
from commonplace.search.retriever import HybridRetriever
from commonplace.storage.sqlite.database import Database

PROSE = (
    "Redirects, sessions and limits: how a session follows redirects and what limits there are. "
)
FILES = {
    "/acme/limits.py": "import os\n\nDEFAULT_MAX_REDIRECTS = 20\n\nOTHER = 3\n",
    "/acme/client.py": (
        "from acme.limits import DEFAULT_MAX_REDIRECTS\n\n\n"
        "class Client:\n"
        "    def follow_redirects(self, response):\n"
        "        limit = DEFAULT_MAX_REDIRECTS or DEFAULT_MAX_REDIRECTS\n"
        "        if response.history > limit:\n"
        "            raise TooManyRedirects(f'Exceeded {limit} redirects in this session')\n"
    ),
    "/acme/proxies.py": "def get_environment_proxies():\n    return {}\n",
    "/acme/api.py": (
        "from acme.proxies import get_environment_proxies\n\n"
        "proxies = get_environment_proxies() or get_environment_proxies()\n"
    ),
    "/tests/test_client.py": (
        "def test_follow_redirects():\n"
        "    Client().follow_redirects(None)\n"
        "    assert get_environment_proxies() == {}\n"
    ),
    "/README.md": "# Acme\n\n" + PROSE * 4 + "\n\nDEFAULT_MAX_REDIRECTS can be changed.\n",
    "/vendor/client.py": "class Client:\n    def follow_redirects(self, response):\n        pass\n",
}
TRACE = """Following redirects fails

Traceback (most recent call last):
  File "/home/me/app.py", line 3, in <module>
    main()
  File "/usr/lib/site-packages/acme/client.py", line 5, in follow_redirects
    raise
acme.TooManyRedirects: Exceeded 20 redirects in this session
"""
RIGHT = {
    "DEFAULT_MAX_REDIRECTS": "/acme/limits.py",
    "def get_environment_proxies": "/acme/proxies.py",
    "get_environment_proxies": "/acme/proxies.py",
    "Exceeded 20 redirects in this session": "/acme/client.py",
    "acme/api.py": "/acme/api.py",
    "client.py": "/acme/client.py",
    "acme/client.py:5": "/acme/client.py",
    "Client.follow_redirects": "/acme/client.py",
    "test for follow_redirects": "/tests/test_client.py",
    "how does a session follow redirects and what limits are there?": "/README.md",
    TRACE: "/acme/client.py",
}


class WordsOfBox:
    """A `Retriever` as the product has it, over the database that the box opens."""

    box: Box

    async def retrieve(self, *query: Any, **options: Any) -> Retrieval:
        database = self.box.database
        postings: Any = (
            SqlitePostings(database)
            if isinstance(database, Database)
            else PostgresPostings(database)
        )
        return await HybridRetriever(postings).retrieve(*query, **options)


def make_indexed(make_box: MakeBox) -> Box:
    retriever = WordsOfBox()
    box = retriever.box = make_box(retriever=retriever)
    for path, content in FILES.items():
        box.write(path, content)
    box.index()
    return box


@pytest.mark.parametrize("query", RIGHT)
def test_the_right_file_is_first(make_box: MakeBox, query: str) -> None:
    box = make_indexed(make_box)
    assert box.found(query)[0] == RIGHT[query]


def test_every_database_ranks_as_sqlite_does(make_box: MakeBox, tmp_path: Path) -> None:
    def make_sqlite(**options: Any) -> Box:
        (tmp_path / "sqlite").mkdir()
        return Box(tmp_path / "sqlite", **options)

    box, other = make_indexed(make_box), make_indexed(make_sqlite)
    for query in RIGHT:
        answers = [b.call("file_search", query=query, limit=20) for b in (box, other)]
        ranked = [
            [(chunk["file_path"], chunk["score"]) for chunk in answer["chunks"]]
            for answer in answers
        ]
        assert ranked[0] == ranked[1]
        assert len(ranked[0]) > 1
    other.close()


def test_explain_says_which_evidence_ranked_a_chunk(make_box: MakeBox) -> None:
    box = make_indexed(make_box)
    first, *others = box.call(
        "file_search", query="def get_environment_proxies", explain=True, limit=20
    )["chunks"]
    assert first["explain"]["exact"] == "def get_environment_proxies"
    assert first["explain"]["defines"] == ["get_environment_proxies"]
    assert first["explain"]["text_evidence"] > 0
    in_test = next(c for c in others if c["file_path"].startswith("/tests/"))
    assert in_test["explain"]["file_kind"] == "test"
    assert in_test["explain"]["log_odds"] < 0


def test_a_merged_passage_is_what_file_read_returns_and_all_its_chunks_were_served(
    make_box: MakeBox,
) -> None:
    box = make_indexed(make_box)
    blocks = "".join(
        f"def handler_{n}(request):\n    # walnut {n}\n    return request.walnut + {n}\n\n\n" * 6
        for n in range(6)
    )
    box.write("/acme/long.py", blocks)
    box.index()
    chunks = box.call("file_search", query="walnut handler request", explain=True)["chunks"]
    merged = [chunk for chunk in chunks if chunk["explain"].get("merged_chunks", 1) > 1]
    assert merged
    for chunk in chunks:
        start, end = chunk["file_seek_start_bytes"], chunk["file_seek_end_bytes"]
        text = box.read(chunk["file_path"], offset=start, length=end - start)
        assert text == chunk["chunk_content"]
    box.index()  # writes the times
    served = box.rows(
        "SELECT start_byte, end_byte FROM mcp_file_chunks "
        "WHERE last_served_at IS NOT NULL AND file_path = '/acme/long.py' ORDER BY start_byte"
    )
    covered = sorted(
        (chunk["file_seek_start_bytes"], chunk["file_seek_end_bytes"])
        for chunk in chunks
        if chunk["file_path"] == "/acme/long.py"
    )
    assert sum(end - start for start, end in served) == sum(end - start for start, end in covered)


def test_no_query_finds_a_file_of_another_tenant(make_box: MakeBox) -> None:
    box = make_indexed(make_box)
    assert tenant_hash(Tenant("t2")) != tenant_hash(Tenant("t1"))
    for query in RIGHT:
        assert box.call("file_search", tenant="t2", query=query)["chunks"] == []


def test_a_change_log_does_not_crowd_the_code_out_of_a_report(make_box: MakeBox) -> None:
    """It has a passage for every word of a long text; the code that is meant has one."""
    box = make_indexed(make_box)
    entry = "## Version {}\n\n" + "- The walrus parser refuses an empty token list. " * 8 + "\n\n"
    box.write("/CHANGELOG.md", "".join(entry.format(number) for number in range(80)))
    filler = "## Chapter {}\n\n" + "Ships sail over the calm sea at night. " * 10 + "\n\n"
    box.write("/docs/sea.md", "".join(filler.format(number) for number in range(160)))
    other = "".join(f"    part_{number} = source[{number}]\n" for number in range(40))
    box.write("/src/reading.py", f"def read_all(source):\n{other}    return token\n")
    box.index()
    report = (
        "The walrus parser refuses an empty token list\n\n"
        + "The walrus parser refuses an empty token list since the last version. " * 8
    )
    assert "/src/reading.py" in box.found(report, limit=20)


def test_a_message_that_stands_once_in_a_long_table_is_found(make_box: MakeBox) -> None:
    retriever = WordsOfBox()
    box = retriever.box = make_box(retriever=retriever)
    for number in range(20):
        box.write(f"/tests/a{number}.py", "set('content-type', 'application/json', body)\n" * 8)
        box.write(f"/tests/b{number}.py", "body = empty(json, content, type, set)\n" * 8)
    message = "Body cannot be empty when content-type is set to application/json"
    table = [f"E{number} = 'Route {number} failed for another reason'\n" for number in range(30)]
    table.insert(15, f"E99 = '{message}'\n")
    box.write("/acme/errors.py", "".join(table))
    box.index()
    assert box.found(message)[0] == "/acme/errors.py"

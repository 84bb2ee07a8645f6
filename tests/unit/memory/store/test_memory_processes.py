"""Several processes share one database: nothing is lost, everything is found, suggestions are
consistent.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.memory.model import SuggestionType
from memory_calls import Calls

WRITER = """
import asyncio, sys
from pathlib import Path
from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.memory.assembly import build_postgres_memory, open_memory
from commonplace.memory.model import EntryType

def opened(folder, url):
    if not url:
        return open_memory(Path(folder))
    from commonplace.storage.postgres.database import PostgresDatabase

    database = PostgresDatabase(url, pool_size=2)
    return build_postgres_memory(database, on_close=database.close)

async def main(folder, url, writer, count):
    service = opened(folder, url)
    for number in range(count):
        text = f"unremarkable text {writer} {number}"
        if number % 10 == 0:
            text = f"The export job of customer {number} failed because its disk was full; "
            text += "the cleanup had not run."
        draft = service.draft(EntryType.BUG, f"Writer {writer} entry {number}", text)
        added = await service.add(LOCAL_TENANT, draft)
        assert added.created
    service.close()

asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
"""


@pytest.mark.soak
def test_four_processes_lose_nothing(tmp_path: Path, url: str, soak: bool) -> None:
    count = 2_500 if soak else 40
    Calls(tmp_path, url=url).close()
    command = [sys.executable, "-c", WRITER, str(tmp_path), url]
    running = [subprocess.Popen([*command, str(writer), str(count)]) for writer in range(4)]
    assert [process.wait(timeout=3600 if soak else 240) for process in running] == [0, 0, 0, 0]
    memory = Calls(tmp_path, url=url)
    counts = memory.run(memory.service.store.counts(LOCAL_TENANT))
    assert counts.entries == 4 * count
    for writer in range(4):
        for number in range(1, count, max(1, count // 10)):
            title = f"Writer {writer} entry {number}"
            assert title in [
                r["title"] for r in memory("rekall_search", query=title, limit=20)["results"]
            ]
    pending, total = memory.run(
        memory.service.store.pending(LOCAL_TENANT, list(SuggestionType), 1_000_000)
    )
    keys = [suggestion.key for suggestion in pending]
    assert len(keys) == len(set(keys)) == total
    mentioned = {id_ for suggestion in pending for id_ in suggestion.entry_ids}
    assert len(memory.run(memory.service.store.get_all(LOCAL_TENANT, mentioned))) == len(mentioned)
    # Of four entries about one customer, whichever process came later saw the earlier ones.
    pairs = {
        suggestion.entry_ids for suggestion in pending if suggestion.type is SuggestionType.LINK
    }
    about = memory.run(memory.service.store.everything(LOCAL_TENANT))
    first = {entry.id for entry in about if "customer 0 " in entry.content}
    assert len(first) == 4
    assert len({id_ for pair in pairs if set(pair) <= first for id_ in pair}) == 4
    memory.close()


def test_two_services_on_one_database_see_each_other(tmp_path: Path, url: str) -> None:
    one, two = Calls(tmp_path, url=url), Calls(tmp_path, url=url)
    entry = one.add("Kept by the first", "words of the first")
    assert [r["id"] for r in two("rekall_search", query="words of the first")["results"]] == [entry]
    assert (
        two("rekall_add", type="bug", title="Kept by the first", content="words of the first")[
            "created"
        ]
        is False
    )
    one("rekall_show", id=entry)
    one.run(one.service.flush_accesses())
    assert two("rekall_show", id=entry)["access_count"] == 2
    one.close()
    two.close()

"""A data folder as a team leaves it after a year, made without going through tens of thousands
of calls and without a model.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from commonplace.files.assembly import build_files
from commonplace.kernel.auth import LOCAL_TENANT, AuthContext, Scope, Tenant, tenant_hash
from commonplace.kernel.clock import utc_now
from commonplace.memory.assembly import open_memory
from commonplace.memory.model import EntryType
from commonplace.storage.sqlite.database import Connection, Database

DATABASE = "commonplace.db"  # the default of settings.storage.url
PROJECT = "handbook"
TOPICS = (
    "deploy",
    "testing",
    "storage",
    "security",
    "search",
    "billing",
    "logging",
    "release",
    "network",
    "design",
)
VERBS = (
    "Check",
    "Retry",
    "Pin",
    "Measure",
    "Review",
    "Isolate",
    "Cache",
    "Rotate",
    "Document",
    "Batch",
)
THINGS = (
    "the queue",
    "every secret",
    "the schema",
    "slow calls",
    "the index",
    "old keys",
    "each tenant",
    "the build",
    "locks",
    "alerts",
)
WORDS = [
    *(
        "server",
        "client",
        "request",
        "answer",
        "token",
        "lease",
        "shard",
        "index",
        "vector",
        "query",
        "cache",
        "window",
        "budget",
    ),
    *(
        "retry",
        "backoff",
        "deadline",
        "trace",
        "span",
        "audit",
        "chain",
        "tenant",
        "project",
        "folder",
        "chunk",
        "posting",
        "weight",
    ),
    *(
        "merge",
        "commit",
        "branch",
        "release",
        "canary",
        "rollback",
        "switch",
        "pager",
        "rota",
        "incident",
        "cause",
    ),
]
LANGUAGES = (
    ("md", "# {title}\n\n{text}\n"),
    ("py", '"""{title}."""\n\nTEXT = "{text}"\n'),
    ("json", '{{"title": "{title}", "text": "{text}"}}\n'),
)


@dataclass(frozen=True, slots=True)
class Sizes:
    instructions: int
    files: int
    memories: int


SMALL = Sizes(300, 2_500, 400)
FULL = Sizes(5_000, 50_000, 10_000)


def fill(data: Path, sizes: Sizes, tenant: str = LOCAL_TENANT) -> None:
    """Before the server starts.

    The index of the files is built by the server, as after an import.
    """
    data.mkdir(parents=True, exist_ok=True)
    fill_instructions(data / "instructions", sizes.instructions)
    fill_files(data, sizes.files, tenant)
    asyncio.run(fill_memory(data, sizes.memories, Tenant(tenant)))


def sentence(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(WORDS, k=words)).capitalize() + "."


def title(chance: random.Random, number: int) -> str:
    return (
        f"{chance.choice(VERBS)} {chance.choice(THINGS)} in {TOPICS[number % len(TOPICS)]} {number}"
    )


def fill_instructions(folder: Path, count: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(11)
    for number in range(count):
        topic = TOPICS[number % len(TOPICS)]
        entry = {
            "id": f"{topic}-rule-{number:05}",
            "title": title(chance, number),
            "body": "\n\n".join(sentence(chance, 18) for _ in range(4)),
            "priority": 1 + number % 100,
            "audience": "all",
            "requirement": ("mandatory", "critical", "recommended", "optional")[number % 4],
            "categories": [topic, f"team-{number % 6}"],
            "owner": f"team-{number % 6}",
            "status": ("approved", "review", "draft")[number % 3],
            "createdAt": "2026-01-01T00:00:00.000Z",
            "updatedAt": "2026-06-01T00:00:00.000Z",
        }
        (folder / f"{entry['id']}.json").write_bytes(
            orjson.dumps(entry, option=orjson.OPT_INDENT_2)
        )


def texts(count: int) -> Iterator[tuple[str, bytes]]:
    """A third of the files in one folder, so that a single level is large too."""
    chance = random.Random(13)
    for number in range(count):
        ending, form = LANGUAGES[number % 3]
        topic = TOPICS[number % len(TOPICS)]
        folder = "/inbox" if number % 3 == 0 else f"/{topic}/{number // 100 % 20:02}"
        text = form.format(
            title=title(chance, number), text=" ".join(sentence(chance, 12) for _ in range(3))
        )
        yield f"{folder}/note-{number:05}.{ending}", text.encode()


def fill_files(data: Path, count: int, tenant: str) -> None:
    """Rows as the service writes them, in one transaction; the index jobs are queued by the
    service itself.
    """
    database = Database(data / DATABASE, durable=False)
    files = build_files(database, data)
    auth = AuthContext(Tenant(tenant), frozenset(Scope), "seed")
    owner, now = tenant_hash(Tenant(tenant)), time.time_ns() // 1000
    rows, above, size = [], [], 0
    for number, (path, content) in enumerate(texts(count), start=1):
        moment = now - (count - number) * 1_000_000
        rows.append(
            (
                number,
                owner,
                PROJECT,
                path,
                len(content),
                hashlib.sha256(content).hexdigest(),
                moment,
                moment,
                content,
            )
        )
        parts = path.split("/")
        above += [
            (owner, PROJECT, "/".join(parts[:depth]), moment, number)
            for depth in range(1, len(parts))
        ]
        size += len(content)

    def work(connection: Connection) -> None:
        names = (
            "id, apikey_hash, project, path, size, content_hash, created_at, updated_at, content"
        )
        connection.executemany(f"INSERT INTO mcp_files ({names}) VALUES (?,?,?,?,?,?,?,?,?)", rows)
        connection.executemany(
            "INSERT INTO mcp_file_ancestors (apikey_hash, project, directory, updated_at, "
            "file_id) VALUES (?,?,?,?,?)",
            above,
        )
        connection.execute(
            "INSERT INTO mcp_file_projects (apikey_hash, project, files, bytes) VALUES (?,?,?,?)",
            (owner, PROJECT, count, size),
        )

    database.write_now(work, lock_timeout_seconds=600)
    asyncio.run(files.service.reindex(auth, PROJECT))
    files.service.close()


async def fill_memory(data: Path, count: int, tenant: Tenant) -> None:
    chance = random.Random(17)
    service = open_memory(data)
    moment = utc_now()
    kinds = list(EntryType)
    entries = []
    for number in range(count):
        text = " ".join(sentence(chance, 14) for _ in range(3))
        draft = service.draft(
            kinds[number % len(kinds)],
            title(chance, number),
            text,
            tags=[TOPICS[number % len(TOPICS)]],
            project=PROJECT,
        )
        entries.append(draft.entry(service.new_id(), moment))
    await service.store.add_all(tenant, entries, [], {})
    service.close()

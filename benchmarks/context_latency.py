"""Latency of `context` over stdio at 5,000 rules, 10,000 lessons and 50,000 chunks.

The folder is built once and kept in `.tools/context`: chunks of made-up words with synthetic
vectors (`benchmarks.seed`), rules and lessons embedded by the model. Each task is new, has words of
all three, and asks for two paths; the first ones warm the server.
"""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

import orjson

from benchmarks.context_store import KEPT
from benchmarks.measure import StdioServer
from benchmarks.memory_stores import make_texts
from benchmarks.rules import EXTENSIONS, FOLDERS, WORDS, make_entry
from benchmarks.search_scale import percentile, processor_seconds, serve
from benchmarks.seed import Language, seed
from commonplace.bootstrap.app import build
from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.kernel.settings import Settings, StorageSettings
from commonplace.memory.model import EntryType
from commonplace.search.semantic.models import embed_models

RULES, LESSONS, CHUNKS = 5_000, 10_000, 50_000
WARM, MEASURED = 30, 200
MARK_MS = 60.0


def build_folder(models: Path) -> Path:
    """Return the data folder; made if it is not there."""
    folder = KEPT / "latency"
    if (folder / "complete").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    seed(folder, CHUNKS, embed_models.install_default(models).identity)
    chance = random.Random(7)
    (folder / "instructions").mkdir(exist_ok=True)
    for number in range(RULES):
        entry = make_entry(number, chance, everywhere=False)
        (folder / "instructions" / f"{entry['id']}.json").write_bytes(orjson.dumps(entry))
    settings = Settings(data=folder).replace(storage=StorageSettings(models=str(models)))
    with build(settings, local_user_writes=True) as app:
        service = app.services.instructions
        service.prepare_search()
        service.meaning.embed_now()

        async def fill() -> None:
            memory = app.services.memory
            for _, text in make_texts(LESSONS):
                title, _, content = text.partition("\n")
                draft = memory.draft(EntryType.PATTERN, title, content)
                await memory.add(LOCAL_TENANT, draft)
            await memory.prepare(60)
            await memory.embed_missing()

        asyncio.run(fill())
    (folder / "complete").touch()
    return folder


def make_tasks(count: int) -> list[str]:
    """Return tasks with words of rules, lessons and files."""
    chance, language = random.Random(11), Language(seed=11)
    notes = [text for _, text in make_texts(500)]
    tasks = []
    for _ in range(count):
        note = chance.choice(notes).split()
        start = chance.randrange(max(1, len(note) - 6))
        made_up = [language.words[number] for number in language.drawn(3)]
        words = [*chance.choices(WORDS, k=4), *note[start : start + 5], *made_up]
        tasks.append(" ".join(words))
    return tasks


def ask(server: StdioServer, task: str, chance: random.Random) -> float:
    paths = [
        f"{chance.choice(FOLDERS)}/{chance.choice(WORDS)}.{chance.choice(EXTENSIONS)}"
        for _ in range(2)
    ]
    begun = time.perf_counter()
    answer = server.call("context", {"task": task, "paths": paths, "project": "p"})
    elapsed = (time.perf_counter() - begun) * 1000
    pack = answer["result"]["structuredContent"]
    assert pack["tokens"] <= pack["budget"], pack
    assert "rules" in pack
    return elapsed


def report_latency(models: Path | None) -> None:
    """Print the latency of new tasks on a warm server."""
    folder = build_folder(models or KEPT / "no-models")
    chance = random.Random(13)
    tasks = make_tasks(WARM + MEASURED)
    server = serve(folder, models, toolsets="")
    try:
        for task in tasks[:WARM]:
            ask(server, task, chance)
        before = processor_seconds(server.process.pid)
        times = [ask(server, task, chance) for task in tasks[WARM:]]
        used = (processor_seconds(server.process.pid) - before) * 1000 / len(times)
    finally:
        server.close()
    p50, p95 = percentile(times, 0.5), percentile(times, 0.95)
    print(f"\ncontext over stdio, {RULES:,} rules, {LESSONS:,} lessons, {CHUNKS:,} chunks")
    print(f"p50 {p50:.1f} ms, p95 {p95:.1f} ms (mark {MARK_MS:g}), processor {used:.1f} ms a call")

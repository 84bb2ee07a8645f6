"""make bench SUITE=scale: file_search, writes and freshness of a team's deployment, through the
shipped program over HTTP.

    python -m benchmarks.scale                                   50,000 chunks of 50 tenants:
    PostgreSQL and SQLite; 1, 2 and 4 servers python -m benchmarks.scale seed --chunks 500000 --url
    U      only fill an empty database, once python -m benchmarks.scale postgresql --chunks 500000
    --url U --servers 1    only measure it (it is filled first if it is empty)

One worker beside the servers (`serve --no-worker`). Queries are embedded by the real model, stored
vectors are synthetic (`benchmarks/scale_seed.py`). PostgreSQL waits for its log at every commit, as
in production.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "server"))
import psycopg
from chaos_clients import STATELESS
from conformance.program import COMMONPLACE, environment, serve_http

from benchmarks.measure import show, verdict
from benchmarks.scale_seed import PROJECT, seed_postgres, seed_sqlite, shares, token
from benchmarks.seed import Language
from commonplace.files.model import WriteMode
from commonplace.files.postgres_assembly import build_postgres_files
from commonplace.kernel.auth import ALL_SCOPES, AuthContext, Tenant
from commonplace.search.semantic.models import embed_models
from commonplace.storage.postgres.database import open_database
from servers import make_database, running_postgres

ROOT = Path(__file__).parent.parent
MODELS = ROOT / ".tools" / "models"
FRESHNESS_SECONDS = 5.0
CLIENTS = 8
PROBES = 30
PROBES_PER_SECOND = 2
WORDS_IN_A_WRITE = 250  # about 2 kB
INDEX_FILES = 100
SERVER_OPTIONS = {
    "shared_buffers": "2GB",
    "max_wal_size": "16GB",
    "maintenance_work_mem": "512MB",
    "checkpoint_timeout": "30min",
}


class Line:
    """A connection to one server that is kept."""

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(address, timeout=60)

    def call(self, tenant: int, tool: str, **arguments: Any) -> dict[str, Any]:
        params = {"name": tool, "arguments": {"project": PROJECT, **arguments}, "_meta": STATELESS}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        headers = {
            "Authorization": f"Bearer {token(tenant)}",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        self._connection.request("POST", "/mcp", body, headers)
        answer = json.loads(self._connection.getresponse().read())
        assert not answer["result"]["isError"], answer
        found: dict[str, Any] = answer["result"]["structuredContent"]
        return found


@dataclass(frozen=True, slots=True)
class Figures:
    """What callers saw, in milliseconds, calls a second, and seconds until found."""

    small: list[float]  # searches one after the other, small tenants
    large: list[float]  # the same, the tenant with a fifth of everything
    crowd: list[float]  # searches of several clients at once
    searches_per_second: float
    writes: list[float]
    writes_per_second: float
    fresh: list[float]


def at(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def search(line: Line, tenant: int, query: str) -> float:
    begun = time.perf_counter()
    answer = line.call(tenant, "file_search", query=query)
    took = (time.perf_counter() - begun) * 1000
    assert answer["mode"] == "hybrid", answer
    assert answer["chunks"], answer
    return took


def crowd(
    addresses: Sequence[str], seconds: float, act: Callable[[Line, int, random.Random], float]
) -> tuple[list[float], float]:
    """Clients that call without a pause, spread over the servers: what each call took, and calls
    a second of all together.
    """
    took: list[float] = []
    until = time.monotonic() + seconds

    def client(number: int) -> None:
        line, chance = Line(addresses[number % len(addresses)]), random.Random(number)
        while time.monotonic() < until:
            took.append(act(line, number, chance))

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took, len(took) / (time.monotonic() - begun)


def freshness(addresses: Sequence[str], tenants: int) -> list[float]:
    """From an acknowledged write on one server to being found by words and meaning on another,
    at a steady rate of writes.
    """
    writer, reader, language = Line(addresses[0]), Line(addresses[-1]), Language(seed=3)
    waiting: dict[str, tuple[int, float]] = {}
    took: list[float] = []
    begun, written = time.monotonic(), 0
    while len(took) < PROBES and time.monotonic() < begun + 90:
        if written < PROBES and time.monotonic() >= begun + written / PROBES_PER_SECOND:
            mark, tenant = f"fresh{random.getrandbits(40)}qz", written % tenants
            writer.call(
                tenant,
                "file_write",
                path=f"/fresh/{mark}.md",
                content=f"{mark} {language.text(WORDS_IN_A_WRITE)}",
                mode="TRUNCATE",
            )
            waiting[mark] = (tenant, time.monotonic())
            written += 1
        for mark, (tenant, since) in list(waiting.items()):
            chunks = reader.call(
                tenant, "file_search", query=mark, path_prefix="/fresh/", explain=True
            )["chunks"]
            if any(
                chunk["file_path"] == f"/fresh/{mark}.md"
                and chunk["explain"]["semantic"] is not None
                for chunk in chunks
            ):
                took.append(time.monotonic() - since)
                del waiting[mark]
        time.sleep(0.02)
    return took + [90.0] * (PROBES - len(took))


def measured(addresses: Sequence[str], options: argparse.Namespace) -> Figures:
    language, line = Language(seed=77), Line(addresses[0])
    queries = [language.text(4) for _ in range(options.queries)]
    for address in addresses:  # each loads its model, and its cache of statements
        for tenant in range(options.tenants):
            search(Line(address) if tenant == 0 else line, tenant, queries[tenant % len(queries)])
    small = [
        search(line, 1 + n % max(1, options.tenants - 1), query) for n, query in enumerate(queries)
    ]
    large = [search(line, 0, query) for query in queries[: options.queries // 3]]

    def ask(line: Line, number: int, chance: random.Random) -> float:
        return search(line, chance.randrange(1, options.tenants), chance.choice(queries))

    def write(line: Line, number: int, chance: random.Random) -> float:
        content = " ".join(chance.choices(language.words, k=WORDS_IN_A_WRITE))
        begun = time.perf_counter()
        line.call(
            number % options.tenants,
            "file_write",
            path=f"/w/{chance.getrandbits(60)}.md",
            content=content,
            mode="TRUNCATE",
        )
        return (time.perf_counter() - begun) * 1000

    together, rate = crowd(addresses, options.seconds, ask)
    fresh = freshness(addresses, options.tenants)
    writes, written = crowd(addresses, options.seconds, write)
    return Figures(small, large, together, rate, writes, written, fresh)


# -- deployments


def configure(data: Path, storage: dict[str, Any]) -> None:
    data.mkdir(parents=True, exist_ok=True)
    settings = {"storage": storage, "auth": {"mode": "passthrough"}}
    (data / "commonplace.yaml").write_text(json.dumps({"settings": settings}))  # JSON is YAML


@contextlib.contextmanager
def servers(folder: Path, count: int, storage: dict[str, Any]) -> Iterator[list[str]]:
    """Start servers and a worker on one PostgreSQL, or one server on SQLite, which indexes too."""
    extra = {"COMMONPLACE_MODELS": str(MODELS)}
    with contextlib.ExitStack() as stack:
        if not storage:
            configure(folder, storage)
            yield [stack.enter_context(serve_http(folder, extra)).address]
            return
        for name in [f"server{number}" for number in range(count)] + ["worker"]:
            configure(folder / name, storage)
        stack.enter_context(_worker(folder / "worker", extra))
        yield [
            stack.enter_context(serve_http(folder / f"server{n}", extra, "--no-worker")).address
            for n in range(count)
        ]


@contextlib.contextmanager
def _worker(data: Path, extra: dict[str, str]) -> Iterator[None]:
    with (data / "stderr.txt").open("wb") as errors:
        process = subprocess.Popen(
            [str(COMMONPLACE), "worker"],
            env=environment(data, extra),
            cwd=data,
            stdout=errors,
            stderr=errors,
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def forget_writes(url: str) -> None:
    """Delete what the last measurement wrote and queued; the next one finds the same database."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("TRUNCATE mcp_file_index_jobs")
        connection.execute("DELETE FROM mcp_files WHERE path LIKE '/w/%'")
        connection.execute("VACUUM mcp_files, mcp_file_index_jobs")


async def indexing(url: str) -> float:
    """Chunks a second that one worker's words take, without any model."""
    language = Language(seed=11)
    with open_database(url) as database:
        files, caller = (
            build_postgres_files(database),
            AuthContext(Tenant(f"index-{random.getrandbits(32)}"), ALL_SCOPES, ""),
        )
        for number in range(INDEX_FILES):
            text = "\n\n".join(language.text(200) for _ in range(10))
            await files.service.write(
                caller, PROJECT, f"/f{number}.md", text, 0, WriteMode.TRUNCATE
            )
        begun = time.perf_counter()
        await files.indexer.drain()
        took = time.perf_counter() - begun
        chunks = (await files.service.index_state(caller, None)).chunks
        return chunks / took


def on_postgres(url: str, options: argparse.Namespace) -> bool:
    if _chunks(url) == 0:
        fill(url, options)
    rows, fresh = [], True
    for count in options.servers:
        with (
            tempfile.TemporaryDirectory() as scratch,
            servers(Path(scratch), count, {"url": url}) as addresses,
        ):
            figures = measured(addresses, options)
        forget_writes(url)
        rows.append((str(count), *_row(figures)))
        fresh = fresh and at(figures.fresh, 0.95) <= FRESHNESS_SECONDS
    rate = asyncio.run(indexing(url))
    with open_database(url, pool_size=1) as database:
        size = database.doctor()[0]["finding"].rpartition(", ")[2]
    _show(
        f"{_chunks(url):,} chunks of {options.tenants} tenants in PostgreSQL, {size}; words "
        f"indexed {rate:.0f} chunks/s",
        rows,
        fresh,
    )
    return fresh


def on_sqlite(options: argparse.Namespace) -> bool:
    with tempfile.TemporaryDirectory() as scratch:
        model = embed_models.install_default(MODELS)
        begun = time.perf_counter()
        seed_sqlite(
            Path(scratch), shares(options.chunks, options.tenants), model.identity, model.dimensions
        )
        print(f"SQLite: {options.chunks:,} chunks filled in {time.perf_counter() - begun:.0f} s")
        with servers(Path(scratch), 1, {}) as addresses:
            figures = measured(addresses, options)
    fresh = at(figures.fresh, 0.95) <= FRESHNESS_SECONDS
    _show(
        f"{options.chunks:,} chunks of {options.tenants} tenants in SQLite",
        [("1", *_row(figures))],
        fresh,
    )
    return fresh


def fill(url: str, options: argparse.Namespace) -> None:
    model = embed_models.install_default(MODELS)
    begun = time.perf_counter()
    seed_postgres(url, shares(options.chunks, options.tenants), model.identity, model.dimensions)
    print(
        f"PostgreSQL: {options.chunks:,} chunks filled in {time.perf_counter() - begun:.0f} s",
        flush=True,
    )


def _chunks(url: str) -> int:
    with psycopg.connect(url) as connection:
        if connection.execute("SELECT to_regclass('mcp_file_chunks')").fetchone() == (None,):
            return 0
        return int(connection.execute("SELECT count(*) FROM mcp_file_chunks").fetchone()[0])  # type: ignore[index]


COLUMNS = (
    "servers",
    "search p50 ms",
    "p95",
    "large p95",
    f"{CLIENTS} clients /s",
    "p95",
    "2 kB writes /s",
    "p95",
    "fresh p50 s",
    "p95",
)


def _row(figures: Figures) -> tuple[str, ...]:
    alone = (
        f"{at(figures.small, 0.5):.1f}",
        f"{at(figures.small, 0.95):.1f}",
        f"{at(figures.large, 0.95):.1f}",
    )
    crowded = (f"{figures.searches_per_second:.0f}", f"{at(figures.crowd, 0.95):.0f}")
    written = (f"{figures.writes_per_second:.0f}", f"{at(figures.writes, 0.95):.0f}")
    return (
        *alone,
        *crowded,
        *written,
        f"{at(figures.fresh, 0.5):.2f}",
        f"{at(figures.fresh, 0.95):.2f}",
    )


def _show(title: str, rows: Sequence[Sequence[str]], fresh: bool) -> None:
    show(title, COLUMNS, rows)
    print(
        f"p95 from a write to being found at most {FRESHNESS_SECONDS:g} s: {verdict(fresh)}",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts", nargs="*", default=["postgresql", "sqlite"], help="seed, postgresql, sqlite"
    )
    parser.add_argument("--chunks", type=int, default=50_000)
    parser.add_argument("--tenants", type=int, default=50)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=8.0, help="how long clients call at once")
    parser.add_argument("--servers", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument(
        "--url",
        help="a database that is kept between runs; default: a server that ends with the run",
    )
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        url = options.url
        if not url and {"seed", "postgresql"} & set(options.parts):
            url = make_database(stack.enter_context(running_postgres(**SERVER_OPTIONS)))
        outcomes = []
        for part in options.parts:
            if part == "seed":
                fill(url, options)
            else:
                outcomes.append(
                    on_postgres(url, options) if part == "postgresql" else on_sqlite(options)
                )
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())

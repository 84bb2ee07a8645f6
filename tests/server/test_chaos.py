"""A deployment under faults: three servers, two workers, fifty clients, while PostgreSQL,
Valkey, workers and the model fail in turn.

`COMMONPLACE_SOAK=1` runs it for minutes: 8 times through all faults, or as often as
`COMMONPLACE_CHAOS_ROUNDS` says. The table of faults and outcomes is printed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
import redis
from chaos_clients import Client, Deployment, HttpClients, Window, check_logs, mark_of
from chaos_keys import KeyClient, check_audit
from chaos_rules import RuleClient
from conformance.program import COMMONPLACE, environment, serve_http
from model_client import KEKS, configure, external_models

from commonplace.storage.postgres.database import open_database
from model_server import ModelServer
from servers import FAST, Postgres, Valkey

SOAK = os.environ.get("COMMONPLACE_SOAK") == "1"
SERVERS, WORKERS, CLIENTS, TENANTS = 3, 2, 50, 10
AUTHORS = 5  # clients that change instructions
ROUNDS = int(os.environ.get("COMMONPLACE_CHAOS_ROUNDS", "8")) if SOAK else 1
FAULT_SECONDS = 8.0 if SOAK else 2.0
CALM_SECONDS = 4.0 if SOAK else 1.0
PAUSE_SECONDS = 0.3 if SOAK else 0.6
FOUND_SAMPLE = 50 if SOAK else 4
SETTLE_SECONDS = 60.0
LOOK_SECONDS = 0.2
RETURN_SECONDS = 30.0
KEYS = [f"sk-chaos-0123456789-{'abcdefghij'[number]}{number}" for number in range(TENANTS)]

Fault = Callable[[], Awaitable[None]]


class World:
    """Everything that runs, and the ways to break it."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.folder = folder
        self._hands = stack.enter_context(
            ThreadPoolExecutor(1)
        )  # a server ends with the thread that started it: this one stays
        self.model = stack.enter_context(ModelServer())
        # Commits wait for their log as in production: a crash of the database may lose what was
        # not, and here it crashes.
        self.postgres, self.valkey = Postgres(**{**FAST, "synchronous_commit": "on"}), Valkey()
        stack.callback(self.postgres.close)
        stack.callback(self.valkey.close)
        self.workers: list[subprocess.Popen[bytes]] = []
        stack.callback(self._end_workers)
        for name in [f"server{number}" for number in range(SERVERS)] + [
            f"worker{number}" for number in range(WORKERS)
        ]:
            self._configure(folder / name)
        self.command(folder / "server0", "migrate")
        made = self.command(
            folder / "server0", "keys", "add", "--tenant", "authors", "--label", "author", "--json"
        )
        self.author_key = str(json.loads(made)["key"])
        writing = {"MCP_ENABLE_MUTATION": "1"}
        self.servers = [
            stack.enter_context(serve_http(folder / f"server{n}", writing, "--no-worker")).url
            for n in range(SERVERS)
        ]
        self.workers = [self.start_worker(number) for number in range(WORKERS)]
        self.database = stack.enter_context(open_database(self.postgres.url, pool_size=1))

    def _configure(self, data: Path) -> None:
        limits = {"timeout_ms": 1000}
        files = external_models(
            self.model.url,
            embedding=limits,
            rerank={"timeout_ms": 500},
            index={"retry_backoff_ms": 200},
        )
        storage = {"url": self.postgres.url, "cache_url": self.valkey.url}
        configure(data, files, storage=storage, auth={"mode": "passthrough"})

    def command(self, data: Path, *arguments: str) -> str:
        done = subprocess.run(
            [str(COMMONPLACE), *arguments],
            env=environment(data),
            cwd=data,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start_worker(self, number: int) -> subprocess.Popen[bytes]:
        data = self.folder / f"worker{number}"
        with (data / "stderr.txt").open("ab") as errors:
            return subprocess.Popen(
                [str(COMMONPLACE), "worker", "--workers", "2"],
                env=environment(data),
                cwd=data,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
            )

    def _end_workers(self) -> None:
        for worker in self.workers:
            worker.send_signal(signal.SIGTERM)
        for worker in self.workers:
            try:
                worker.wait(20)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()

    # -- faults: each breaks something, waits, and mends it

    async def _do(self, act: Callable[..., None], *arguments: object) -> None:
        await asyncio.get_running_loop().run_in_executor(self._hands, act, *arguments)

    async def kill_a_worker(self) -> None:
        number = random.randrange(WORKERS)
        self.workers[number].kill()
        self.workers[number].wait()
        await asyncio.sleep(FAULT_SECONDS)
        self.workers[number] = self.start_worker(number)

    async def restart_postgres(self) -> None:
        await self._do(self.postgres.restart)
        await asyncio.sleep(FAULT_SECONDS)

    async def crash_postgres(self) -> None:
        await self._do(self.postgres.restart, signal.SIGQUIT)
        await asyncio.sleep(FAULT_SECONDS)

    async def flush_valkey(self) -> None:
        with redis.Redis.from_url(self.valkey.url) as client:
            client.flushall()
        await asyncio.sleep(FAULT_SECONDS)

    async def stop_valkey(self) -> None:
        await self._do(self.valkey.stop)
        await asyncio.sleep(FAULT_SECONDS)
        await self._do(self.valkey.start)

    async def hang_the_model(self) -> None:
        self.model.fault = self.model.hang
        await asyncio.sleep(FAULT_SECONDS)
        self.model.well()

    async def break_the_model(self) -> None:
        self.model.fault = lambda request: (500, b"{}")
        await asyncio.sleep(FAULT_SECONDS)
        self.model.well()

    def faults(self) -> list[tuple[str, Fault]]:
        return [
            ("a worker killed -9", self.kill_a_worker),
            ("the model hangs", self.hang_the_model),
            ("Valkey flushed", self.flush_valkey),
            ("PostgreSQL restarted", self.restart_postgres),
            ("Valkey stopped", self.stop_valkey),
            ("PostgreSQL crashed (SIGQUIT)", self.crash_postgres),
            ("the model answers 500", self.break_the_model),
            ("the other worker killed -9", self.kill_a_worker),
        ]

    def count(self, statement: str) -> int:
        with psycopg.connect(self.postgres.url) as connection:
            row = connection.execute(statement).fetchone()  # type: ignore[arg-type]
            assert row is not None
            return int(row[0])

    async def until_none(self, what: str, statement: str) -> float:
        """Wait until nothing is left; fail where nothing becomes less for SETTLE_SECONDS.

        Looks are counted, not timed, because a test run may be paused for a while.
        """
        begun, looks, least = time.monotonic(), 0, None
        while left := await asyncio.to_thread(self.count, statement):
            if least is None or left < least:
                least, looks = left, 0
            assert looks < SETTLE_SECONDS / LOOK_SECONDS, (
                f"{left} {what}, none less for {SETTLE_SECONDS:g} s: {self.errors()}"
            )
            looks += 1
            await asyncio.sleep(LOOK_SECONDS)
        return time.monotonic() - begun

    def written(self) -> Iterator[tuple[Path, bytes]]:
        """Everything that servers, workers and the database wrote, but for the configuration."""
        for path in (*self.folder.rglob("*"), *(self.postgres.folder / "data").rglob("*")):
            if path.is_file() and path.name != "commonplace.yaml":
                yield path, path.read_bytes()

    def errors(self) -> str:
        """The ends of what servers and workers wrote, for a failure to show."""
        return "\n".join(
            f"{path.parent.name}: {path.read_text()[-1500:]}"
            for path in self.folder.glob("*/stderr.txt")
        )


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with contextlib.ExitStack() as stack:
        yield World(tmp_path, stack)


@contextlib.asynccontextmanager
async def at_work(clients: Sequence[Client | RuleClient | KeyClient]) -> AsyncIterator[None]:
    stop = asyncio.Event()
    tasks = [asyncio.create_task(client.run(stop, PAUSE_SECONDS)) for client in clients]
    yield
    stop.set()
    await asyncio.gather(*tasks)


async def campaign(world: World) -> tuple[list[Window], list[str], dict[str, str]]:
    async with HttpClients() as http:
        windows = [Window("(no fault)")]
        deployment = Deployment(world.servers, http, windows[0])
        clients = [
            Client(n, KEYS[n % TENANTS], deployment, random.Random(n)) for n in range(CLIENTS)
        ]
        authors = [
            RuleClient(n, world.author_key, deployment, random.Random(n)) for n in range(AUTHORS)
        ]
        operator = KeyClient(world.database, deployment)
        async with at_work([*clients, *authors, operator]):
            begun = time.monotonic()
            await asyncio.sleep(CALM_SECONDS * 3)
            windows[0].lasted_seconds = time.monotonic() - begun
            for name, fault in world.faults() * ROUNDS:
                deployment.window = Window(name)
                windows.append(deployment.window)
                begun = time.monotonic()
                await fault()
                await asyncio.sleep(CALM_SECONDS)
                deployment.window.lasted_seconds = time.monotonic() - begun
        deployment.window = Window("(after all)")
        windows.append(deployment.window)
        end = await end_state(world, deployment, clients)
        end |= await rules_at_the_end(authors)
        end |= await keys_and_audit_at_the_end(world, operator)
        deployment.wrong += leaks(world.model)
        return windows, deployment.wrong, end


@contextlib.asynccontextmanager
async def returning_tenants(deployment: Deployment) -> AsyncIterator[None]:
    """Let every tenant call from time to time: the key it hands over expires after 5 minutes."""

    async def call() -> None:
        while True:
            looks = (deployment.look(key, "file_stat", path="/nothing") for key in KEYS)
            await asyncio.gather(*looks)
            await asyncio.sleep(RETURN_SECONDS)

    calling = asyncio.create_task(call())
    yield
    calling.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await calling


async def end_state(world: World, deployment: Deployment, clients: list[Client]) -> dict[str, str]:
    """Words settle by themselves; vectors settle after another call of each tenant; then
    everything promised is looked up.
    """
    words = await world.until_none(
        "index jobs", "SELECT count(*) FROM mcp_file_index_jobs WHERE status <> 'dead'"
    )
    under_way = (
        "SELECT count(*) FROM mcp_file_vector_jobs WHERE status IN ('pending', 'processing')"
    )
    await world.until_none("vector jobs", under_way)
    waiting = world.count(
        "SELECT count(*) FROM mcp_file_vector_jobs WHERE status = 'waiting_credential'"
    )
    async with returning_tenants(deployment):
        vectors = await world.until_none(
            "vector jobs",
            "SELECT count(*) FROM mcp_file_vector_jobs WHERE status NOT IN ('held', 'dead')",
        )
    missing = (
        "SELECT count(*) FROM mcp_file_chunks c LEFT JOIN mcp_file_chunk_embeddings e ON "
        "e.chunk_id = c.id WHERE e.chunk_id IS NULL"
    )
    if left := world.count(missing):
        deployment.wrong.append(f"{left} chunks without a vector")
    for table in ("mcp_file_index_jobs", "mcp_file_vector_jobs"):
        if dead := world.count(f"SELECT count(*) FROM {table} WHERE status = 'dead'"):
            deployment.wrong.append(f"{dead} dead letters in {table}")
    room = asyncio.Semaphore(8)

    async def check(client: Client) -> int:
        async with room:
            return await client.check(FOUND_SAMPLE)

    found = sum(await asyncio.gather(*map(check, clients)))
    logs = {}
    for key in KEYS:
        for path in ("/shared/0.log", "/shared/1.log"):
            answer = await deployment.look(key, "file_read", path=path)
            logs[key, path] = answer.get("content", "")
    deployment.wrong += check_logs(clients, logs)
    return {
        "acknowledged": str(
            sum(len(client.live) + len(client.deleted) + len(client.appended) for client in clients)
        ),
        "in doubt": str(
            sum(len(client.doubtful) + len(client.perhaps_appended) for client in clients)
        ),
        "live files found by their words": f"{found} of {found}",
        "chunks, all with a vector": str(world.count("SELECT count(*) FROM mcp_file_chunks")),
        "files that waited for their tenant's next call": str(waiting),
        "words settled after": f"{words:.1f} s",
        "vectors settled after": f"{vectors:.1f} s",
    }


async def rules_at_the_end(authors: list[RuleClient]) -> dict[str, str]:
    """Look up every instruction that was promised."""
    await asyncio.gather(*(author.check() for author in authors))
    return {
        "instructions acknowledged": str(
            sum(len(author.live) + len(author.removed) for author in authors)
        ),
        "instructions in doubt": str(sum(len(author.doubtful) for author in authors)),
    }


async def keys_and_audit_at_the_end(world: World, operator: KeyClient) -> dict[str, str]:
    """Ask every server about every key, and compare the audit trail with the data folders."""
    await operator.check()
    folders = [world.folder / f"server{number}" for number in range(SERVERS)]
    wrong = operator.deployment.wrong
    records = await check_audit(folders, world.postgres.url, wrong)
    verdict = json.loads(
        await asyncio.to_thread(world.command, folders[1], "audit", "verify", "--json")
    )
    if not verdict["ok"]:
        wrong.append(f"the audit trail is not intact: {verdict['problems'][:3]}")
    return {
        "keys active, revoked": f"{len(operator.active)}, {len(operator.revoked)}",
        "audit records, all arrived once": str(records),
    }


def leaks(model: ModelServer) -> list[str]:
    """Each request to the model carried a key of ours to know, and texts of that key's tenant
    alone.
    """
    wrong = [f"an unknown key reached the model: {key}" for key in model.keys - set(KEYS)]
    marks = {key: mark_of(key) for key in KEYS}
    for request in model.requests:
        text = request.raw.decode()
        others = [mark for key, mark in marks.items() if key != request.key and mark in text]
        wrong += [f"a text of {mark} went out with the key of {request.key}" for mark in others]
    return wrong


def shown(windows: list[Window], end: dict[str, str]) -> str:
    merged: dict[str, Window] = {}
    for window in windows:
        into = merged.setdefault(window.fault, Window(window.fault))
        into.answers += window.answers
        into.slowest_seconds = max(into.slowest_seconds, window.slowest_seconds)
        into.lasted_seconds += window.lasted_seconds
    lines = ["", f"{'fault':<30} {'seconds':>7} {'calls':>6} {'ok':>6} {'slowest':>8}  otherwise"]
    for window in merged.values():
        good = window.answers["ok"] + window.answers["NOT_FOUND"]
        others = ", ".join(
            f"{code} {count}"
            for code, count in window.answers.most_common()
            if code not in ("ok", "NOT_FOUND")
        )
        figures = (
            f"{window.lasted_seconds:>7.1f} {sum(window.answers.values()):>6} {good:>6} "
            f"{window.slowest_seconds:>7.2f}s"
        )
        lines.append(f"{window.fault:<30} {figures}  {others or '-'}")
    return "\n".join([*lines, *(f"{name}: {value}" for name, value in end.items())])


@pytest.mark.soak
@pytest.mark.timeout(3600 if SOAK else 300)
def test_under_faults_no_promise_is_broken(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    windows, wrong, end = asyncio.run(campaign(world))
    with capsys.disabled():
        print(shown(windows, end))  # noqa: T201 - the table is the result
    assert wrong == [], json.dumps(wrong[:20], indent=1)
    assert (end["in doubt"], end["instructions in doubt"]) == ("0", "0")
    calls = sum((window.answers for window in windows), start=type(windows[0].answers)())
    assert calls["INTERNAL"] == 0, world.errors()
    secrets = [secret.encode() for secret in (*KEYS, *KEKS.values())]
    assert [
        path for path, content in world.written() if any(secret in content for secret in secrets)
    ] == []

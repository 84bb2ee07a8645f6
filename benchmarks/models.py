"""What external models cost on our side: sealing keys, sharing rates, writes and searches with a
caller's key.

`make bench SUITE=models`.

The models are played by a loopback server in another process, so its answers cost next to nothing
and the figures are ours.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from commonplace.bootstrap.app import build  # noqa: E402
from commonplace.dispatch.pipeline import Call  # noqa: E402
from commonplace.kernel.auth import ALL_SCOPES, LOCAL_TENANT, AuthContext  # noqa: E402
from commonplace.kernel.settings import (  # noqa: E402
    Embedding,
    FilesSearch,
    FilesSecurity,
    FilesSettings,
    McpSettings,
    Rerank,
    Settings,
    StorageSettings,
)
from commonplace.storage.credentials.envelope import Keyring  # noqa: E402
from commonplace.storage.network_loop import NetworkLoop  # noqa: E402  # noqa: E402
from commonplace.storage.shared_rates import RateBucket  # noqa: E402  # noqa: E402
from commonplace.storage.valkey.client import Valkey  # noqa: E402
from commonplace.storage.valkey.rates import ValkeyRates  # noqa: E402

KEY = "sk-bench-0123456789abcdef"
DIMENSIONS = 1536
FILES = 300


def play(pipe: Any) -> None:
    """The models, in a process of their own.

    One vector for every text: what it says is not measured here.
    """
    import json

    from model_server import ModelServer, Request

    vector = [0.025] * DIMENSIONS
    ready = {
        count: json.dumps(
            {"data": [{"index": at, "embedding": vector} for at in range(count)]}
        ).encode()
        for count in range(1, 65)
    }

    def fast(request: Request) -> tuple[int, bytes] | None:
        return (
            (200, ready[len(request.body["input"])])
            if request.path.endswith("/embeddings")
            else None
        )

    with ModelServer(fault=fast) as server:
        pipe.send(server.url)
        pipe.recv()


async def each(count: int, work: Callable[[int], Awaitable[Any]]) -> list[float]:
    """Milliseconds of each of `count` calls, one after the other."""
    taken = []
    for number in range(count):
        begun = time.perf_counter()
        await work(number)
        taken.append((time.perf_counter() - begun) * 1e3)
    return taken


def line(name: str, taken: list[float]) -> None:
    ordered = sorted(taken)
    print(
        f"{name:<58} p50 {statistics.median(ordered):8.3f} ms   p95 "
        f"{ordered[int(len(ordered) * 0.95) - 1]:8.3f} ms"
    )


def sealing() -> None:
    ring = Keyring({1: "a-secret-of-some-length"})
    begun = time.process_time()
    sealed = [ring.seal(KEY, b"tenant project path job") for _ in range(2000)]
    middle = time.process_time()
    for envelope in sealed:
        ring.open(envelope, b"tenant project path job")
    ended = time.process_time()
    print(
        f"{'seal / open an envelope (processor time)':<58} {(middle - begun) / 2000 * 1e6:8.1f} "
        f"us / {(ended - middle) / 2000 * 1e6:.1f} us"
    )


async def rates(url: str) -> None:
    outbound = NetworkLoop()
    shared = ValkeyRates(Valkey(url, outbound))
    buckets = [RateBucket("key:a", 1e6, 1_000_000), RateBucket("tenant:a", 1e6, 1_000_000)]
    await shared.take(buckets)
    line(
        "take from two shared buckets (Valkey on loopback)",
        await each(2000, lambda number: shared.take(buckets)),
    )
    outbound.close()


async def files(url: str, cache_url: str, key: str | None, name: str) -> None:
    search = FilesSearch(
        embedding=Embedding(
            provider="openai", model="m", endpoint=f"{url}/v1/embeddings", dimensions=DIMENSIONS
        ),
        rerank=Rerank(enabled=True, endpoint=f"{url}/v1/rerank"),
    )
    security = FilesSecurity(encryption_keks={"1": "a-secret-of-some-length"})
    user = AuthContext(LOCAL_TENANT, ALL_SCOPES, "bench", model_key=key)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            data=Path(folder),
            mcp=McpSettings(files=FilesSettings(search=search, security=security)),
            storage=StorageSettings(cache_url=cache_url, models=str(Path(folder) / "none")),
        )
        with build(settings, environ={}) as app:

            async def call(tool: str, **arguments: Any) -> Any:
                outcome = await app.pipeline.run(Call(tool, {"project": "p", **arguments}, user))
                assert outcome.error is None, outcome.error
                return outcome.output

            text = "walnut harvest in october beside the orchard " * 40
            await call("file_write", path="/warm.md", content="warm")
            begun = time.monotonic()
            line(
                f"file_write, {name}",
                await each(
                    FILES, lambda n: call("file_write", path=f"/{n}.md", content=f"{n} {text}")
                ),
            )
            while True:
                state = await call("file_index_status")
                if not (state["pending"] or state["processing"] or state["embedding"]):
                    break
                await asyncio.sleep(0.02)
            if key is not None:
                chunks = state["chunks"]
                name_of_figure = f"  words and vectors of {chunks} chunks, write to settled"
                print(f"{name_of_figure:<58} {chunks / (time.monotonic() - begun):8.0f} chunks/s")
            await call("file_search", query="warm")
            line(
                f"file_search, {name}",
                await each(200, lambda n: call("file_search", query=f"walnut {n}")),
            )


def main() -> int:
    from servers import running_valkey

    print(
        f"load average {os.getloadavg()[0]:.1f}; vectors of {DIMENSIONS} numbers; SQLite; "
        f"everything on loopback\n"
    )
    here, there = multiprocessing.Pipe()
    playing = multiprocessing.get_context("spawn").Process(target=play, args=(there,), daemon=True)
    playing.start()
    url = here.recv()
    sealing()
    with running_valkey() as cache_url:
        asyncio.run(rates(cache_url))
        asyncio.run(files(url, cache_url, None, "no key (words alone)"))
        asyncio.run(files(url, "", KEY, "with a key, envelopes in memory"))
        asyncio.run(files(url, cache_url, KEY, "with a key, envelopes in Valkey"))
    here.send("done")
    playing.join()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""make bench SUITE=fairness: how soon a small file is found while another tenant's large files
are being indexed.

    python -m benchmarks.fairness                            50 MB of one tenant, on SQLite and on
    PostgreSQL python -m benchmarks.fairness postgresql --megabytes 10

The shipped program over HTTP, one server that also indexes, with the local embedding model. One
tenant writes files of 2 MB; as soon as they are stored, another tenant writes a file of 24 bytes
again and again and searches until it is found, by its words and by its meaning. Marks: by words
within 2 s, by meaning within 10 s, each of them at worst.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "server"))
from chaos_clients import STATELESS
from conformance.program import serve_http

from benchmarks.measure import show, verdict
from benchmarks.seed import Language
from commonplace.search.semantic.models import embed_models
from servers import make_database, running_postgres

ROOT = Path(__file__).parent.parent
MODELS = Path(os.environ.get("COMMONPLACE_MODELS", ROOT / ".tools" / "models"))
FILE_BYTES = 2_000_000
WORDS_SECONDS, MEANING_SECONDS = 2.0, 10.0
LOOK_SECONDS = 0.05
PATIENCE_SECONDS = 60.0
BIG, SMALL = "tenant-with-large-files", "tenant-with-a-small-file"


class Client:
    """One tenant's connection to the server."""

    def __init__(self, address: str, tenant: str) -> None:
        self._connection = http.client.HTTPConnection(address, timeout=120)
        self._tenant = tenant

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        params = {"name": tool, "arguments": {"project": "p", **arguments}, "_meta": STATELESS}
        headers = {
            "Authorization": f"Bearer {self._tenant}",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        self._connection.request(
            "POST",
            "/mcp",
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}),
            headers,
        )
        answer = json.loads(self._connection.getresponse().read())
        assert not answer["result"]["isError"], answer
        found: dict[str, Any] = answer["result"]["structuredContent"]
        return found


@dataclass(slots=True)
class Figures:
    """Seconds until small files were found, and seconds that calls of the small tenant took
    meanwhile.
    """

    words: list[float] = field(default_factory=list)
    meaning: list[float] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)
    left_words: int = 0  # jobs of the big tenant that were still waiting at the last probe
    left_vectors: int = 0


def store_large_files(address: str, megabytes: int) -> None:
    client, language = Client(address, BIG), Language(1)
    paragraphs = [language.text(150) for _ in range(FILE_BYTES // 1_000)]
    for number in range(-(-megabytes * 1_000_000 // FILE_BYTES)):
        content = "\n\n".join(
            f"## Entry {number}.{line}\n\n{text}" for line, text in enumerate(paragraphs)
        )
        assert len(content) > FILE_BYTES, len(content)
        client.call(
            "file_write", path=f"/volume{number}.md", content=content[:FILE_BYTES], mode="TRUNCATE"
        )


def probe(client: Client, number: int, figures: Figures) -> None:
    """Write a small file and wait until it is found by its words and has a vector that a search
    compares.
    """
    name = f"zq{number}x"
    begun = time.monotonic()
    client.call(
        "file_write",
        path=f"/{name}.md",
        content=f"{name} ferry leaves at dawn"[:24],
        mode="TRUNCATE",
    )
    figures.words.append(until(client, name, name, begun, figures, lambda chunk: True))
    query = "boats that depart in the morning"
    figures.meaning.append(
        until(
            client,
            name,
            query,
            begun,
            figures,
            lambda chunk: chunk["explain"]["semantic"] is not None,
        )
    )


def until(
    client: Client,
    name: str,
    query: str,
    begun: float,
    figures: Figures,
    enough: Callable[[dict[str, Any]], bool],
) -> float:
    """Seconds from `begun` until a search brings the file as it should be."""
    while time.monotonic() - begun < PATIENCE_SECONDS:
        asked = time.monotonic()
        answer = client.call("file_search", query=query, path_prefix=f"/{name}", explain=True)
        figures.calls.append(time.monotonic() - asked)
        if any(chunk["file_path"] == f"/{name}.md" and enough(chunk) for chunk in answer["chunks"]):
            return time.monotonic() - begun
        time.sleep(LOOK_SECONDS)
    raise RuntimeError(
        f"{name} was not found in {PATIENCE_SECONDS:.0f} s: {client.call('file_index_status')}"
    )


def measure(address: str, options: argparse.Namespace) -> Figures:
    figures, client = Figures(), Client(address, SMALL)
    probe(client, 0, Figures())  # loads the model
    storing = threading.Thread(target=store_large_files, args=(address, options.megabytes))
    storing.start()
    big = Client(address, BIG)
    end, number = 0.0, 0
    while not end or time.monotonic() < end:
        if not end and not storing.is_alive():
            end = time.monotonic() + options.seconds
        number += 1
        probe(client, number, figures)
        status = big.call("file_index_status")
        figures.left_words, figures.left_vectors = (
            status["pending"] + status["processing"],
            status["embedding"],
        )
        if end and not figures.left_words + figures.left_vectors:
            break
        time.sleep(LOOK_SECONDS)
    storing.join()
    return figures


@contextlib.contextmanager
def server(part: str) -> Iterator[str]:
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        model = embed_models.install_default(MODELS)
        settings: dict[str, Any] = {"auth": {"mode": "passthrough"}}
        if part == "postgresql":
            url = make_database(stack.enter_context(running_postgres()))
            settings["storage"] = {"url": url}
            migrate(url, model.dimensions)
            settings["mcp"] = {"files": {"search": {"embedding": {"dimensions": model.dimensions}}}}
        (folder / "commonplace.yaml").write_text(json.dumps({"settings": settings}))
        yield stack.enter_context(serve_http(folder, {"COMMONPLACE_MODELS": str(MODELS)})).address


def migrate(url: str, dimensions: int) -> None:
    from commonplace.bootstrap.team import postgres_components
    from commonplace.files.store.postgres_embeddings import fit_length
    from commonplace.storage.postgres.database import open_database
    from commonplace.storage.postgres.migrations import migrate as bring_up

    with open_database(url, pool_size=1) as database:
        bring_up(database, postgres_components())
        fit_length(database, dimensions)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts", nargs="*", default=["sqlite", "postgresql"], help="sqlite, postgresql"
    )
    parser.add_argument("--megabytes", type=int, default=50)
    parser.add_argument(
        "--seconds",
        type=float,
        default=60.0,
        help="how long small files are written after the large ones are stored",
    )
    options = parser.parse_args()
    rows, passed = [], True
    for part in options.parts:
        with server(part) as address:
            figures = measure(address, options)
        kept = max(figures.words) <= WORDS_SECONDS and max(figures.meaning) <= MEANING_SECONDS
        passed = passed and kept
        words, meaning, calls = (
            sorted(figures.words),
            sorted(figures.meaning),
            sorted(figures.calls),
        )
        seconds = [
            f"{values[at]:.2f}" for values in (words, meaning) for at in (len(values) // 2, -1)
        ]
        slow = f"{calls[int(len(calls) * 0.95)] * 1000:.0f}"
        rows.append(
            (
                part,
                str(len(words)),
                *seconds,
                slow,
                f"{figures.left_words} / {figures.left_vectors}",
                verdict(kept),
            )
        )
    columns = (
        "database",
        "small files",
        "words p50 s",
        "worst",
        "meaning p50 s",
        "worst",
        "search p95 ms",
        "large files left",
        "marks",
    )
    show(
        f"A file of 24 bytes while {options.megabytes} MB of another tenant are indexed",
        columns,
        rows,
    )
    print(
        f"by words within {WORDS_SECONDS:g} s and by meaning within {MEANING_SECONDS:g} s, at "
        f"worst: {verdict(passed)}"
    )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())

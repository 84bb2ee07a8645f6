"""Context packs, measured: code of real issues, tasks over a whole store, and latency.

python -m benchmarks.context                   every table
python -m benchmarks.context --only code       one table: code, tasks or latency
python -m benchmarks.context --words           by words alone, without a model
python -m benchmarks.context --releases        also the releases that nothing was tuned on
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.context_code import report_code
from benchmarks.context_latency import report_latency
from benchmarks.context_tasks import report_tasks
from benchmarks.repositories import open_embedder
from benchmarks.retrieval import DATA, ROOT
from commonplace.search.semantic.models import embed_models


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--words", action="store_true")
    parser.add_argument("--releases", action="store_true")
    parser.add_argument("--only", choices=("code", "tasks", "latency"))
    parser.add_argument("--each", action="store_true", help="also what the tuning half missed")
    parser.add_argument("--model", default="", help="an installed model, by name")
    parser.add_argument("--models", type=Path, default=ROOT / ".tools" / "models")
    chosen = parser.parse_args()
    if not DATA.is_dir():
        raise SystemExit(f"no collections at {DATA}; set COMMONPLACE_TEST_DATA")
    started, cpu = time.perf_counter(), time.process_time()
    models = None if chosen.words else chosen.models
    if models is not None:
        embed_models.install_default(models)  # without one the store would be searched by words
    parts: dict[str, Callable[[], None]] = {
        "code": lambda: _report_code(models, chosen.model, releases=chosen.releases),
        "tasks": lambda: report_tasks(models, each=chosen.each),
        "latency": lambda: report_latency(models),
    }
    for name, report in parts.items():
        if chosen.only in (None, name):
            report()
    elapsed, used = time.perf_counter() - started, time.process_time() - cpu
    print(f"\n{elapsed:.0f} s, {used:.0f} s of processor")


def _report_code(models: Path | None, model: str, *, releases: bool) -> None:
    embedder = None if models is None else open_embedder(models, model)
    report_code(embedder, releases=releases)
    if embedder is not None:
        embedder.save()


if __name__ == "__main__":
    main()

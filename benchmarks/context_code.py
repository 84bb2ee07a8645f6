"""Context packs over code: real issues with the lines a person marked, at equal budgets.

Each method gives what a client receives: `context` the pack, `file_search` its answer with 20
results, `grep` the lines with the identifiers of the issue. Tokens are those of the JSON, counted
by `kernel.tokens`; a result that does not fit is cut at a line.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from benchmarks.code import RESULTS, Passage, Task, grep, load_tasks
from benchmarks.code import search as search_files
from benchmarks.releases import load_releases
from benchmarks.repositories import PROJECT, KeptVectors, Searcher, opened, stored_path, unpack
from commonplace.bootstrap.services import Services
from commonplace.bootstrap.sources.passages import FilePassageSource
from commonplace.context.engine.wire import count_json
from commonplace.context.model import ContextQuestion, PackSection
from commonplace.context.service import ContextService
from commonplace.context.store.sqlite import open_sqlite_packs
from commonplace.kernel.auth import local_user
from commonplace.kernel.ref import Ref

BUDGETS = (2_000, 4_000, 8_000)
FIGURES = ("gold file", "files", "lines", "precision")
FRAME_TOKENS = 20  # of an answer around its results
_METHODS = ("grep", "file_search", "context")
Lines = set[tuple[str, int]]


@dataclass(frozen=True)
class _OnlyFiles:
    """Stands for the services of a product that has files and nothing else."""

    files: object


def ask_context(searcher: Searcher, query: str, budget: int, packs: Path) -> Lines:
    """Return the lines of a pack."""
    source = FilePassageSource(cast(Services, _OnlyFiles(searcher.service)))
    service = ContextService({PackSection.FILES: source}, open_sqlite_packs(packs))
    question = ContextQuestion(query, project=PROJECT, budget=budget)
    try:
        pack = asyncio.run(service.context(local_user(), question))
    finally:
        service.close()
    paths = {stored_path(path): path for path in searcher.repository.files}
    lines: Lines = set()
    for item in pack.items:
        ref = Ref.parse(item.ref)
        assert ref.lines is not None
        lines |= {(paths[ref.key], line) for line in range(ref.lines[0], ref.lines[1] + 1)}
    return lines


def read_within(passages: Sequence[Passage], budget: int, *, grepped: bool) -> Lines:
    """Return the lines that fit a budget as the answer of file_search or of file_grep."""
    left = budget - FRAME_TOKENS
    lines: Lines = set()
    for passage in passages:
        rows = passage.text.rstrip("\n").split("\n")
        while rows and count_json(_shown(passage, rows, grepped)) > left:
            rows.pop()
        if not rows:
            break
        left -= count_json(_shown(passage, rows, grepped))
        lines |= {(passage.path, passage.first + at) for at in range(len(rows))}
    return lines


def _shown(passage: Passage, rows: Sequence[str], grepped: bool) -> dict[str, object]:
    if grepped:
        return {"file_path": f"/{passage.path}", "line": passage.first, "text": rows[0]}
    return {
        "file_path": f"/{passage.path}",
        "start_line": passage.first,
        "end_line": passage.first + len(rows),
        "chunk_content": "\n".join(rows),
        "score": 0.123456,
    }


def measure(task: Task, lines: Lines) -> tuple[float, ...]:
    """Return whether a gold file is there, the shares of gold files and lines, and precision."""
    files = {path for path, _ in lines} & set(task.gold)
    gold = task.lines
    both = len(lines & gold)
    return (
        float(bool(files)),
        len(files) / len(task.gold),
        both / len(gold) if gold else 0.0,
        both / len(lines) if lines else 0.0,
    )


def measure_tasks(
    tasks: Sequence[Task], embedder: KeptVectors | None
) -> Mapping[tuple[str, int], list[tuple[float, ...]]]:
    """Return the figures of every task by method and budget."""
    figures: dict[tuple[str, int], list[tuple[float, ...]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for package in sorted({task.package for task in tasks}):
            repository = unpack(package)
            with opened(repository, embedder) as searcher:
                for task in (task for task in tasks if task.package == package):
                    found = search_files(searcher, task.query)
                    grepped = grep(repository, task.query)
                    methods: dict[str, Callable[[int], Lines]] = {
                        "grep": lambda budget, rows=grepped: read_within(
                            rows, budget, grepped=True
                        ),
                        "file_search": lambda budget, rows=found: read_within(
                            rows, budget, grepped=False
                        ),
                        "context": lambda budget, task=task, searcher=searcher: ask_context(
                            searcher, task.query, budget, Path(folder)
                        ),
                    }
                    for name, ask in methods.items():
                        for budget in BUDGETS:
                            row = measure(task, ask(budget))
                            figures.setdefault((name, budget), []).append(row)
    return figures


def report_code(embedder: KeptVectors | None, *, releases: bool) -> None:
    """Print the table of the issues, and of the releases where asked."""
    sets = {"ContextBench": load_tasks()}
    if releases:
        sets["Releases (JavaScript, TypeScript)"] = [Task(*row) for row in load_releases()]
    for title, tasks in sets.items():
        print(f"\n{title}: {len(tasks)} tasks, {RESULTS} results of file_search")
        print(f"{'':<24}" + "".join(f"{name:>12}" for name in FIGURES))
        figures = measure_tasks(tasks, embedder)
        for budget in BUDGETS:
            for name in _METHODS:
                rows = figures[name, budget]
                means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
                found = f"{sum(int(row[0]) for row in rows)}/{len(rows)}"
                cells = "".join(f"{mean:>12.3f}" for mean in means[1:])
                print(f"{name + f' {budget:,}':<24}{found:>12}{cells}")

"""Finding code, measured: real issues with the lines a person marked, and exact look-ups.

python -m benchmarks.code                     every table
python -m benchmarks.code --words             by words alone, without a model
python -m benchmarks.code --only lookups      one table: tasks, lookups or releases
python -m benchmarks.code --save NAME         keep the figures as the column NAME of later runs

Everything goes through the service behind `file_search`, in this process, with the settings of a
new installation and 20 results; its answers are those of the tool. A token is four characters.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.lookups import report_lookups
from benchmarks.releases import load_releases
from benchmarks.repositories import (
    CACHE,
    KeptVectors,
    Repository,
    Searcher,
    open_embedder,
    opened,
    unpack,
)
from benchmarks.retrieval import DATA, ROOT
from commonplace.search.relevance.query import symbols_of

RESULTS = 20
READ_TOKENS, FIRST_TOKENS = 8_000, 1_000
CHARACTERS_OF_A_TOKEN = 4
FIGURES = ("files@5", "files@10", "lines in 8,000", "precise in 1,000")
Lines = set[tuple[str, int]]


@dataclass(frozen=True)
class Task:
    """A text that someone wrote, and the lines of the files that answer it."""

    id: str
    package: str
    query: str
    gold: Mapping[str, Sequence[tuple[int, int]]]

    @property
    def lines(self) -> Lines:
        return {
            (path, line)
            for path, ranges in self.gold.items()
            for first, last in ranges
            for line in range(first, last + 1)
        }


@dataclass(frozen=True)
class Passage:
    """A result as a reader gets it."""

    path: str
    first: int
    last: int
    text: str


def load_tasks() -> list[Task]:
    raw = json.loads((DATA / "contextbench" / "tasks.json").read_text("utf-8"))
    return [Task(task["id"], task["package"], task["query"], task["gold"]) for task in raw]


def search(searcher: Searcher, query: str) -> list[Passage]:
    passages = []
    for chunk in searcher.search(query, RESULTS):
        path = searcher.path(chunk)
        span = searcher.repository.lines(path, chunk.start, chunk.end)
        passages.append(Passage(path, *span, chunk.content))
    return passages


def grep(repository: Repository, query: str) -> list[Passage]:
    """Find the lines with the query's identifiers, in the files with most of them first."""
    names = list(dict.fromkeys(symbols_of(query)))
    if not names:
        return []
    pattern = re.compile(r"\b(?:" + "|".join(map(re.escape, names)) + r")\b")
    ranked = []
    for path, text in repository.files.items():
        held = [
            (number, line, set(pattern.findall(line)))
            for number, line in enumerate(text.split("\n"), 1)
            if pattern.search(line)
        ]
        if held:
            distinct = set().union(*(names for _, _, names in held))
            ranked.append((-len(distinct), -len(held), path, held))
    return [
        Passage(path, number, number, line)
        for _, _, path, held in sorted(ranked, key=lambda row: row[:3])
        for number, line, _ in held
    ]


def read_lines(passages: Iterable[Passage], tokens: int) -> list[tuple[str, int]]:
    """Return the lines that a reader with so much room reads."""
    room = tokens * CHARACTERS_OF_A_TOKEN
    lines: list[tuple[str, int]] = []
    for passage in passages:
        for offset, line in enumerate(passage.text.rstrip("\n").split("\n")):
            room -= len(line) + 1
            if room < 0:
                return lines
            lines.append((passage.path, passage.first + offset))
    return lines


def measure(task: Task, passages: Sequence[Passage]) -> tuple[float, ...]:
    files = list(dict.fromkeys(passage.path for passage in passages))
    gold = task.lines
    first = read_lines(passages, FIRST_TOKENS)
    return (
        *(len(set(files[:most]) & set(task.gold)) / len(task.gold) for most in (5, 10)),
        len(set(read_lines(passages, READ_TOKENS)) & gold) / len(gold) if gold else 0.0,
        len(set(first) & gold) / len(first) if first else 0.0,
    )


def measure_tasks(
    tasks: Sequence[Task], embedder: KeptVectors | None
) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return the figures of each method and task."""
    figures: dict[str, dict[str, tuple[float, ...]]] = {"grep": {}, "file_search": {}}
    for package in sorted({task.package for task in tasks}):
        repository = unpack(package)
        with opened(repository, embedder) as searcher:
            for task in (task for task in tasks if task.package == package):
                figures["grep"][task.id] = measure(task, grep(repository, task.query))
                figures["file_search"][task.id] = measure(task, search(searcher, task.query))
    return figures


def means(rows: Mapping[str, tuple[float, ...]]) -> list[float]:
    return [sum(column) / len(rows) for column in zip(*rows.values(), strict=True)]


def report_tasks(title: str, tasks: Sequence[Task], options: Options) -> None:
    tasks = [task for task in tasks if task.package.startswith(options.packages)]
    print(f"\n{title}: {len(tasks)} tasks, means")
    print(f"{'':<34}" + "".join(f"{name:>18}" for name in FIGURES))
    rows = measure_tasks(tasks, options.embedder)
    name = title.split()[0].lower() + ("-words" if options.embedder is None else "")
    kept = CACHE / "code-figures" / f"{name}.json"
    before = json.loads(kept.read_text()) if kept.is_file() else {}
    for label, figures in {**before, **{key: means(row) for key, row in rows.items()}}.items():
        print(f"{label:<34}" + "".join(f"{figure:>18.3f}" for figure in figures))
    if options.each:
        for task in tasks:
            figures = rows["file_search"][task.id]
            print(f"  {task.id:<32}" + "".join(f"{figure:>18.2f}" for figure in figures))
    if options.save:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps({**before, options.save: means(rows["file_search"])}))


@dataclass(frozen=True)
class Options:
    embedder: KeptVectors | None
    each: bool
    save: str
    packages: tuple[str, ...] = ("",)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--words", action="store_true")
    parser.add_argument("--each", action="store_true", help="also one row per task")
    parser.add_argument("--save", default="")
    parser.add_argument("--only", choices=("tasks", "lookups", "releases"))
    parser.add_argument("--model", default="", help="an installed model, by name")
    parser.add_argument("--packages", default="", help="only those whose name starts so")
    parser.add_argument("--models", type=Path, default=ROOT / ".tools" / "models")
    chosen = parser.parse_args()
    if not DATA.is_dir():
        raise SystemExit(f"no collections at {DATA}; set COMMONPLACE_TEST_DATA")
    started, cpu = time.perf_counter(), time.process_time()
    embedder = None if chosen.words else open_embedder(chosen.models, chosen.model)
    options = Options(embedder, chosen.each, chosen.save, tuple(chosen.packages.split(",")))
    parts: dict[str, Callable[[], None]] = {
        "tasks": lambda: report_tasks("ContextBench", load_tasks(), options),
        "lookups": lambda: report_lookups(embedder, chosen.each),
        "releases": lambda: report_tasks(
            "Releases", [Task(*release) for release in load_releases()], options
        ),
    }
    for name, report in parts.items():
        if chosen.only in (None, name):
            report()
    if embedder is not None:
        embedder.save()
    print(
        f"\n{time.perf_counter() - started:.0f} s, {time.process_time() - cpu:.0f} s of processor"
    )


if __name__ == "__main__":
    main()

"""Code anchors: a replay of releases as git commits, and what comparing costs a search.

Each package is replayed over ten successive wheels. Anchors on its functions, classes and lines are
taken at every release and compared with the next one; those of the first release also with the
last one. The verdicts are those of `git diff -w -M` (`anchor_oracle.py`), or they are listed.

    make bench SUITE=anchors
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from benchmarks.anchor_oracle import Commit, Span, is_comment_only, judge, read_diff, run_git
from benchmarks.memory_quality import check
from benchmarks.repositories import fetch
from commonplace.kernel.auth import LOCAL_TENANT as TENANT
from commonplace.kernel.errors import CommonplaceError
from commonplace.memory.anchors import STALE_STATES, CodeAnchor
from commonplace.memory.assembly import open_memory
from commonplace.memory.code.checker import CodeChecker
from commonplace.memory.code.repositories import Repositories
from commonplace.memory.model import EntryFilter, EntryType
from commonplace.memory.service import MemoryService

RELEASES = {
    "httpx": "0.18.0 0.18.1 0.18.2 0.19.0 0.20.0 0.21.0 0.21.1 0.21.2 0.21.3 0.22.0",
    "werkzeug": "0.15.6 0.16.0 0.16.1 1.0.0 1.0.1 2.0.0 2.0.1 2.0.2 2.0.3 2.1.0",
}
RANGES = 120  # of lines, drawn at each release
LEAST_ANCHORS = 2_000
MOST_MILLISECONDS = 5.0  # p95, of what comparing adds to a search
ENTRIES = 2_000
SEARCHES = 400


@dataclass
class Replay:
    """Verdicts of memory and of git, and those that differ."""

    anchors: int = 0
    verdicts: int = 0
    states: Counter[str] = field(default_factory=Counter)
    how: Counter[str] = field(default_factory=Counter)
    comments: Counter[str] = field(default_factory=Counter)
    differing: list[tuple[str, str, str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Subject:
    """An anchor with the ranges that it was taken from."""

    anchor: CodeAnchor
    path: str
    spans: tuple[Span, ...]
    symbol: str | None


def commit_wheels(package: str, versions: Sequence[str], repository: Path) -> list[str]:
    """Make a repository with a commit for each wheel; returns the commits."""
    repository.mkdir()
    run_git(repository, "init", "-q")
    commits = []
    for version in versions:
        for path in repository.rglob("*.py"):
            path.unlink()
        with zipfile.ZipFile(fetch(f"{package}=={version}")) as wheel:
            for name in wheel.namelist():
                if name.endswith(".py") and not Path(name).is_absolute() and ".." not in name:
                    wheel.extract(name, repository)
        commits.append(commit_all(repository, version))
    return commits


def commit_all(repository: Path, message: str) -> str:
    """Commit everything in a folder and return the commit."""
    run_git(repository, "add", "-A")
    author = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    run_git(repository, *author, "commit", "-q", "--allow-empty", "-m", message)
    return run_git(repository, "rev-parse", "HEAD").decode().strip()


def replay(repository: Path, commits: Sequence[str], seed: int = 0) -> Replay:
    """Take anchors at every commit and compare them with the next, the first with the last too."""
    draw = random.Random(seed)
    result = Replay()
    known = {name: Commit(repository, name) for name in commits}
    first: list[Subject] = []
    for number, (old, new) in enumerate(pairwise(commits)):
        run_git(repository, "checkout", "-q", "--force", old)
        checker = open_checker(repository)
        subjects = list(take_subjects(checker, repository.name, known[old], draw))
        checker.close()
        first = first or subjects
        result.anchors += len(subjects)
        compare(repository, known[old], known[new], subjects, result)
        if number == len(commits) - 2 and number:
            compare(repository, known[commits[0]], known[new], first, result)
    return result


def open_checker(repository: Path) -> CodeChecker:
    return CodeChecker(Repositories(given=repository, names=(repository.name,)))


def take_subjects(
    checker: CodeChecker, name: str, commit: Commit, draw: random.Random
) -> Iterator[Subject]:
    """Yield anchors on all definitions and on some ranges of lines."""
    for path, definitions in commit.definitions.items():
        for symbol, spans in definitions.items():
            try:
                anchor = checker.take_now(TENANT, CodeAnchor(name, path, symbol))
            except CommonplaceError:
                continue  # the outline does not list it: a function deep inside another
            if anchor.symbol == symbol:
                yield Subject(anchor, path, tuple(spans), symbol)
    long = [path for path, lines in commit.lines.items() if len(lines) > 20]
    for _ in range(RANGES if long else 0):
        path = draw.choice(sorted(long))
        start = draw.randrange(1, len(commit.lines[path]) - 12)
        anchor = checker.take_now(TENANT, CodeAnchor(name, path, None, (start, start + 11)))
        assert anchor.lines is not None
        yield Subject(anchor, path, (anchor.lines,), None)


def compare(
    repository: Path, old: Commit, new: Commit, subjects: Sequence[Subject], result: Replay
) -> None:
    """Compare verdicts at a commit with those of git."""
    run_git(repository, "checkout", "-q", "--force", new.name)
    diff = read_diff(repository, old.name, new.name)
    checker = open_checker(repository)
    verdicts = checker.check_now(TENANT, [subject.anchor for subject in subjects], fresh=True)
    checker.close()
    for subject, verdict in zip(subjects, verdicts, strict=True):
        expected, how = judge(old, new, diff, subject.path, subject.spans, subject.symbol)
        result.verdicts += 1
        result.states[expected] += 1
        result.how[how] += 1
        if subject.symbol and is_comment_only(old, new, subject.path, subject.symbol):
            result.comments[verdict.state] += expected == "changed"
        if verdict.state != expected:
            where = f"{old.name[:7]}..{new.name[:7]} {subject.anchor.place}"
            result.differing.append((where, expected, verdict.state.value, verdict.now))


def print_replay(name: str, result: Replay) -> None:
    agreed = result.verdicts - len(result.differing)
    states = ", ".join(f"{count} {state}" for state, count in sorted(result.states.items()))
    print(
        f"{name}: {result.anchors} anchors, {result.verdicts} verdicts ({states}); "
        f"{agreed} as git ({agreed / result.verdicts:.2%}), "
        f"decided by {dict(result.how)}, "
        f"{result.comments['changed']} changed in comments or layout alone"
    )
    kinds = Counter((expected, found) for _, expected, found, _ in result.differing)
    for (expected, found), count in kinds.most_common():
        print(f"  {count} times git says {expected}, memory {found}")
    for where, expected, found, now in result.differing[: 40 if "-v" in sys.argv else 10]:
        print(f"    {where}: git {expected}, memory {found} {now}")


def measure_searches(repository: Path) -> float:
    """Print what comparing adds to a search; returns the p95 in milliseconds."""
    head = run_git(repository, "rev-parse", "HEAD").decode().strip()
    checker = CodeChecker(Repositories((repository,)))
    subjects = list(
        take_subjects(checker, repository.name, Commit(repository, head), random.Random(1))
    )
    with tempfile.TemporaryDirectory() as folder:
        service = open_memory(Path(folder), checker=checker)
        took, whole = asyncio.run(_search(service, subjects))
        service.close()
    for label, values in (("comparing anchors", took), ("the whole search", whole)):
        ordered = sorted(values)
        print(
            f"{label}: median {statistics.median(values):.2f} ms, "
            f"p95 {ordered[int(len(ordered) * 0.95)]:.2f} ms, longest {ordered[-1]:.2f} ms "
            f"({len(values)} searches, 20 results with an anchor each)"
        )
    return sorted(took)[int(len(took) * 0.95)]


async def _search(
    service: MemoryService, subjects: Sequence[Subject]
) -> tuple[list[float], list[float]]:
    for number in range(ENTRIES):
        subject = subjects[number % len(subjects)]
        words = f"lesson {number} about {subject.symbol or subject.path}"
        draft = service.draft(EntryType.BUG, words[:100], f"{words} and the cache of requests")
        draft = service.draft(EntryType.BUG, words[:100], draft.content, anchors=[subject.anchor])
        await service.add(TENANT, draft)
    took, whole = [], []
    for number in range(SEARCHES):
        begun = time.perf_counter()
        answer = await service.search(
            TENANT, f"requests lesson {number} cache", "", EntryFilter(), 20
        )
        whole.append((time.perf_counter() - begun) * 1_000)
        begun = time.perf_counter()
        await service.anchors.compare(TENANT, (hit.entry for hit in answer.hits), fresh=False)
        took.append((time.perf_counter() - begun) * 1_000)
    return took, whole


def main() -> None:
    total, verdicts, differing, misled = 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for package, versions in RELEASES.items():
            repository = Path(folder) / package
            commits = commit_wheels(package, versions.split(), repository)
            result = replay(repository, commits)
            print_replay(package, result)
            total += result.anchors
            verdicts += result.verdicts
            differing += len(result.differing)
            misled += sum(
                (expected in STALE_STATES) != (found in STALE_STATES)
                for _, expected, found, _ in result.differing
            )
        print(f"anchors at least {LEAST_ANCHORS}: {total}: {check(total >= LEAST_ANCHORS)}")
        print(
            f"verdicts as `git diff -w -M`: {verdicts - differing} of {verdicts}: "
            f"{check(not differing)}"
        )
        print(f"stale or not as git: {verdicts - misled} of {verdicts}: {check(not misled)}")
        p95 = measure_searches(repository)
        fast = p95 <= MOST_MILLISECONDS
        print(f"p95 at most {MOST_MILLISECONDS} ms: {check(fast)}")


if __name__ == "__main__":
    main()

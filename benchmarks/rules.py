"""Measure `rules_for`: latency and CPU time at two sizes, cold and after a change.

`make bench SUITE=rules`, or `python -m benchmarks.rules [SIZES]`. The catalogue has the shape of a
large organisation: of 100 rules 55 have globs (folders, extensions, several of both), 20 are for a
team, workspace or user, 10 are for the model to decide, 5 manual, 10 always. `everywhere` is the
worst case: every rule applies to every path. `first` is the CPU time of questions that are asked
for the first time (texts of rules are analysed then), `cold` that of the first question of all,
`changed` that of a question after a write.
"""

from __future__ import annotations

import asyncio
import random
import re
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from benchmarks.measure import show
from commonplace.instructions.assembly import build_service
from commonplace.instructions.engine.effective.outcome import RuleQuestion
from commonplace.instructions.rules_service import RulesService
from commonplace.instructions.service import InstructionsService
from commonplace.kernel.auth import local_user
from commonplace.kernel.settings import InstructionsSettings

SIZES = (1_000, 5_000)
QUESTIONS = 100
WORDS = re.findall(
    r"\w+",
    """service handler request response error test database schema query index cache token session
    user account payment order invoice report export import file path folder module package class
    function method argument value type interface component page form button style theme colour
    layout grid deploy release version branch commit review merge pipeline build image container""",
)
VERBS = ("Use", "Avoid", "Write", "Keep", "Never use", "Prefer", "Limit", "Name", "Test", "Log")
FOLDERS = [f"{top}/{name}" for top in ("src", "web", "api", "lib") for name in WORDS[:40]]
EXTENSIONS = ("ts", "tsx", "py", "go", "rs", "sql", "md", "css")


def make_entry(number: int, chance: random.Random, *, everywhere: bool) -> dict[str, Any]:
    """Make a rule of about 1 kB."""
    lines = [
        f"- {chance.choice(VERBS)} {' '.join(chance.choices(WORDS, k=chance.randint(4, 12)))}."
        for _ in range(14)
    ]
    entry: dict[str, Any] = {
        "id": f"rule-{number:05}",
        "title": " ".join(chance.choices(WORDS, k=4)),
        "body": "\n".join(lines),
        "priority": chance.randint(1, 100),
        "requirement": chance.choices(
            ("mandatory", "critical", "recommended", "optional"), (1, 1, 60, 38)
        )[0],
        "categories": [chance.choice(WORDS)],
        "owner": "ann",
    }
    if not everywhere:
        entry |= make_scope(chance)
    return entry


def make_scope(chance: random.Random) -> dict[str, Any]:
    folder, extension = chance.choice(FOLDERS), chance.choice(EXTENSIONS)
    kind = chance.choices(
        ("folder", "both", "extension", "people", "description", "manual", "always"),
        (30, 20, 5, 20, 10, 5, 10),
    )[0]
    scopes: dict[str, dict[str, Any]] = {
        "folder": {"appliesTo": [f"{folder}/**", f"!{folder}/generated/**"]},
        "both": {"appliesTo": [f"{folder}/**/*.{{{extension},{chance.choice(EXTENSIONS)}}}"]},
        "extension": {"appliesTo": [f"**/*.{extension}"]},
        "people": chance.choice(
            (
                {"userId": f"user-{chance.randint(1, 50)}"},
                {"teamIds": [f"team-{chance.randint(1, 20)}"]},
                {"workspaceId": f"workspace-{chance.randint(1, 20)}"},
            )
        ),
        "description": {
            "activation": "description",
            "description": " ".join(chance.choices(WORDS, k=8)),
        },
        "manual": {"activation": "manual"},
        "always": {},
    }
    return scopes[kind]


def fill(folder: Path, size: int, *, everywhere: bool) -> InstructionsService:
    """Write a catalogue and open it."""
    chance = random.Random(7)
    (folder / "rules").mkdir()
    for number in range(size):
        entry = make_entry(number, chance, everywhere=everywhere)
        (folder / "rules" / f"{entry['id']}.json").write_bytes(orjson.dumps(entry))
    settings = InstructionsSettings(watch=False)
    return build_service(folder / "rules", folder, settings, mutation_enabled=lambda: True)


def make_questions(chance: random.Random) -> list[RuleQuestion]:
    return [
        RuleQuestion(
            tuple(
                f"{chance.choice(FOLDERS)}/{chance.choice(WORDS)}.{chance.choice(EXTENSIONS)}"
                for _ in range(chance.randint(1, 4))
            ),
            task=" ".join(chance.choices(WORDS, k=6)),
            user="user-7",
            workspace="workspace-7",
            teams=("team-7",),
        )
        for _ in range(QUESTIONS)
    ]


def measure(size: int, *, everywhere: bool = False) -> tuple[Any, ...]:
    """Ask different questions; return a row of the table."""
    caller = local_user()
    with tempfile.TemporaryDirectory() as name:
        service = fill(Path(name), size, everywhere=everywhere)
        service.load()
        rules = RulesService(service.parts_of)
        questions = make_questions(random.Random(11))
        cold = _time(lambda: rules.rules_for(caller, questions[0]))[1]
        first = sorted(_time(partial(rules.rules_for, caller, asked))[1] for asked in questions)
        times = [_time(partial(rules.rules_for, caller, asked)) for asked in questions]
        shown = sum(len(rules.rules_for(caller, asked)[0].rules) for asked in questions)
        entry = {"id": "rule-00000", "body": "Changed.", "owner": "ann"}
        asyncio.run(service.add(caller, entry, lax=True, overwrite=True))
        changed = _time(lambda: rules.rules_for(caller, questions[0]))[1]
        service.close()
    wall = sorted(wall for wall, _ in times)
    cpu = sorted(cpu for _, cpu in times)
    return (
        f"{size:,}{' everywhere' if everywhere else ''}",
        f"{shown / len(questions):.1f}",
        f"{statistics.median(wall):.2f}",
        f"{wall[int(len(wall) * 0.95)]:.2f}",
        f"{statistics.median(cpu):.2f}",
        f"{cpu[int(len(cpu) * 0.95)]:.2f}",
        f"{first[int(len(first) * 0.95)]:.2f}",
        f"{cold:.0f}",
        f"{changed:.1f}",
    )


def _time(work: Any) -> tuple[float, float]:
    """Return the milliseconds and the milliseconds of CPU that work takes."""
    begun, spent = time.perf_counter(), time.process_time()
    work()
    return (time.perf_counter() - begun) * 1000, (time.process_time() - spent) * 1000


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or list(SIZES)
    rows = [measure(size) for size in sizes]
    rows.append(measure(sizes[-1], everywhere=True))
    columns = (
        "rules",
        "shown",
        "p50 ms",
        "p95 ms",
        "CPU p50",
        "CPU p95",
        "first p95",
        "cold",
        "changed",
    )
    show("rules_for: mark 20 ms p95 at 5,000 rules", columns, rows)


if __name__ == "__main__":
    main()

"""Measure `commonplace hook` as a client runs it: from the start of the process to its end.

`make bench SUITE=hooks`. A catalogue of 5,000 rules with the shape of `benchmarks.rules`; each of
50 runs is a new session that is about to create a file, or that begins with a prompt. `warm` asks
the local server, `cold` reads the index that was kept on disk. CPU time is of the hook's process.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import show, verdict
from benchmarks.rules import make_entry

RULES = 5_000
RUNS = 50
WARM_MARK, COLD_MARK = 150.0, 300.0  # milliseconds at p95
COMMAND = str(Path(sys.executable).with_name("commonplace"))
EDIT, PROMPT = "PreToolUse", "UserPromptSubmit"
PROMPTS = ("Fix the payment report", "Why does the cache lose its session?", "Release a branch")
PATHS = ("src/service/new.py", "web/handler/page.tsx", "api/error/codes.go", "README.md")


class HookRuns:
    """Hooks of one client on one data folder."""

    def __init__(self, data: Path, repository: Path) -> None:
        self._environment = {**os.environ, "COMMONPLACE_HOME": str(data)}
        self._repository = repository
        self._sessions = 0

    def run(self, name: str) -> tuple[float, float, int]:
        """Run a hook in a new session; return wall and CPU milliseconds, and printed bytes."""
        self._sessions += 1
        path = self._repository / PATHS[self._sessions % len(PATHS)]
        event = {
            "session_id": f"bench-{time.time_ns()}",
            "cwd": str(self._repository),
            "hook_event_name": name,
            "tool_name": "Write",
            "tool_input": {"file_path": str(path), "content": "x"},
            "prompt": PROMPTS[self._sessions % len(PROMPTS)],
        }
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begun = time.perf_counter()
        ran = subprocess.run(
            [COMMAND, "hook", name, "--client", "claude-code"],
            input=json.dumps(event).encode(),
            env=self._environment,
            cwd=self._repository,
            stdout=subprocess.PIPE,
            check=True,
        )
        wall = (time.perf_counter() - begun) * 1000
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return wall, used * 1000, len(ran.stdout)

    def command(self, *arguments: str) -> None:
        subprocess.run(
            [COMMAND, *arguments], env=self._environment, check=False, capture_output=True
        )


def measure(hooks: HookRuns, kind: str, name: str, mark: float) -> list[str]:
    runs = [hooks.run(name) for _ in range(RUNS)]
    walls, cpus = sorted(run[0] for run in runs), sorted(run[1] for run in runs)
    p95 = walls[int(RUNS * 0.95) - 1]
    printed = min(run[2] for run in runs)
    return [
        f"{kind}, {name}",
        f"{walls[RUNS // 2]:.0f}",
        f"{p95:.0f}",
        f"{cpus[RUNS // 2]:.0f}",
        f"{printed}",
        f"{mark:.0f}",
        verdict(p95 < mark and printed > 0),
    ]


def main() -> None:
    place = Path(tempfile.mkdtemp(prefix="hooks-"))
    data, repository = place / "data", place / "repository"
    (data / "instructions").mkdir(parents=True)
    (data / "hooks").mkdir()
    (repository / ".git").mkdir(parents=True)
    chance = random.Random(11)
    for number in range(RULES):
        entry = make_entry(number, chance, everywhere=False)
        (data / "instructions" / f"{entry['id']}.json").write_text(json.dumps(entry))
    hooks = HookRuns(data, repository)
    try:
        hooks.command("hook", "--refresh")
        rows = [measure(hooks, "cold", name, COLD_MARK) for name in (EDIT, PROMPT)]
        hooks.command("up")
        for _ in PATHS:
            hooks.run(EDIT)
            hooks.run(PROMPT)
        rows += [measure(hooks, "warm", name, WARM_MARK) for name in (EDIT, PROMPT)]
    finally:
        hooks.command("down")
        shutil.rmtree(place, ignore_errors=True)
    columns = ["", "p50 ms", "p95 ms", "CPU ms", "bytes", "mark ms", ""]
    show(f"Hooks at {RULES} rules, {RUNS} runs", columns, rows)


if __name__ == "__main__":
    main()

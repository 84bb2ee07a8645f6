"""The command line: processor time of short commands, and of an import beside a running server.

python -m benchmarks.cli              short commands
python -m benchmarks.cli --import     also the import: 800 files of this environment's packages
(some minutes without a model)
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("commonplace")
MARKS = {"--help": 150.0, "instructions list": 250.0}  # milliseconds of CPU
FLOOR = "import asyncio, typer, pydantic\nclass Model(pydantic.BaseModel):\n    number: int = 1\n"
FILES, BYTES = 833, 5_800_000


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def cpu(command: list[str | Path], environment: dict[str, str]) -> float:
    """User and system time of a child, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"{command}: {done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def short_commands(environment: dict[str, str], rounds: int) -> bool:
    """Interleaved, the least of several runs: everything else is what other processes cost us."""
    commands: dict[str, list[str | Path]] = {name: [PROGRAM, *name.split()] for name in MARKS}
    commands["python -c pass"] = [sys.executable, "-c", "pass"]
    commands["asyncio, typer, pydantic"] = [sys.executable, "-c", FLOOR]
    for command in commands.values():
        cpu(command, environment)  # writes the byte code
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(cpu(command, environment) * 1000)
    passed = True
    for name, values in times.items():
        mark = MARKS.get(name)
        verdict = (
            ""
            if mark is None
            else f"  mark {mark:.0f}: {'pass' if min(values) <= mark else 'FAIL'}"
        )
        passed &= mark is None or min(values) <= mark
        print(
            f"{name:28} {min(values):6.0f} ms CPU (median "
            f"{sorted(values)[len(values) // 2]:.0f}){verdict}"
        )
    return passed


def corpus(folder: Path) -> tuple[int, int]:
    """Text files of the packages that are installed here."""
    packages = Path(next(path for path in sys.path if path.endswith("site-packages")))
    count = size = 0
    for source in sorted(packages.rglob("*.py")):
        length = source.stat().st_size
        if 200 <= length <= 40_000 and "pip" not in source.parts:
            target = folder / source.relative_to(packages)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
            count, size = count + 1, size + length
        if count >= FILES or size >= BYTES:
            break
    return count, size


def import_beside_a_server(environment: dict[str, str], home: Path) -> None:
    folder = home / "corpus"
    count, size = corpus(folder)
    port = free_port()
    server = subprocess.Popen(
        [PROGRAM, "serve", "--http", f"127.0.0.1:{port}"],
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        begun = time.monotonic()
        used = cpu([PROGRAM, "files", "import", folder, "--project", "corpus"], environment)
        took = time.monotonic() - begun
        print(
            f"import of {count} files, {size / 1e6:.1f} MB: {used:.1f} s CPU in the client, "
            f"ended after {took:.1f} s"
        )
    finally:
        server.terminate()
        server.wait(30)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--import", action="store_true", dest="importing")
    parser.add_argument(
        "--models", type=Path, help="folder of embedding models to use for the import"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        kept = {
            name: value
            for name, value in os.environ.items()
            if name != "PYTHONDONTWRITEBYTECODE" and not name.startswith("COMMONPLACE")
        }
        environment = {
            **kept,
            "COMMONPLACE_HOME": str(home / "data"),
            "PYTHONPYCACHEPREFIX": str(home / "bytecode"),
        }
        passed = short_commands(environment, options.rounds)
        if options.importing:
            if options.models is not None:
                shutil.copytree(options.models, home / "data" / "models", dirs_exist_ok=True)
            import_beside_a_server(environment, home)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())

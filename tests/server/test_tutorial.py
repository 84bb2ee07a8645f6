"""Run every command of the tutorial and compare its output."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from conformance.program import ROOT, environment

from servers import free_port

TUTORIAL = ROOT / "docs" / "tutorial" / "first-steps.md"
PORT = "8787"
START_SECONDS = 60.0


class Step(NamedTuple):
    command: str
    shown: list[str]
    background: bool


def steps(text: str) -> list[Step]:
    """Each command with the lines of output that the tutorial shows below it."""
    found: list[Step] = []
    for background, block in re.findall(r"```console( background)?\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(Step(line[2:], [], bool(background)))
            else:
                found[-1].shown.append(line)
    return found


def shown_in(line: str, output: str) -> bool:
    """`...` matches anything; the width of the terminal does not matter."""
    pattern = r"[\s\S]*".join(re.escape(part.strip()) for part in line.split("..."))
    return re.search(pattern.replace(r"\ ", r"\s+"), output) is not None


@contextmanager
def left_running(step: Step, folder: Path, settings: Mapping[str, str]) -> Iterator[None]:
    """A command of the second terminal: it shows what the tutorial says, and runs until the end."""
    log = folder / "terminal.txt"
    with log.open("w") as output:
        process = subprocess.Popen(
            ["bash", "-c", f"exec env {step.command}"],
            cwd=folder,
            env=settings,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        until = time.monotonic() + START_SECONDS
        while not all(shown_in(line, log.read_text()) for line in step.shown):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, (
                f"{step.command}\nshould show: {step.shown}\nshowed: {log.read_text()}"
            )
            time.sleep(0.05)
        yield
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(30) in (0, 130, -signal.SIGINT), log.read_text()


def test_every_command_of_the_tutorial_prints_what_it_shows(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    settings = {**environment(tmp_path / "home"), "PATH": path}
    port = str(free_port())
    ran = steps(TUTORIAL.read_text().replace(PORT, port))
    assert len(ran) > 15
    with ExitStack() as second_terminal:
        for step in ran:
            if step.background:
                second_terminal.enter_context(left_running(step, folder, settings))
                continue
            done = subprocess.run(
                ["bash", "-c", step.command],
                cwd=folder,
                env=settings,
                capture_output=True,
                text=True,
                timeout=240,
            )
            output = done.stdout + done.stderr
            assert done.returncode == 0, f"{step.command}\n{output}"
            for line in step.shown:
                assert shown_in(line, output), (
                    f"{step.command}\nshould show: {line}\nshowed: {output}"
                )
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(f"http://127.0.0.1:{port}/console/", timeout=60) as console:
            assert "Commonplace" in console.read().decode()

"""The tutorial, executed: every command of its own text, in order, with the output it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from conformance.program import ROOT, environment

TUTORIAL = ROOT / "docs" / "tutorial" / "first-steps.md"


def steps() -> list[tuple[str, list[str]]]:
    """Each command with the lines of output that the tutorial shows below it."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", TUTORIAL.read_text(), re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def shown_in(line: str, output: str) -> bool:
    """`...` stands for anything; the width of the terminal does not matter."""
    pattern = r"[\s\S]*".join(re.escape(part.strip()) for part in line.split("..."))
    return re.search(pattern.replace(r"\ ", r"\s+"), output) is not None


def test_every_command_of_the_tutorial_works_and_shows_what_it_says(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = steps()
    assert len(ran) > 10
    for command, lines in ran:
        settings = {**environment(tmp_path / "home"), "PATH": path}
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=settings, capture_output=True, text=True, timeout=240)
        output = done.stdout + done.stderr
        assert done.returncode == 0, f"{command}\n{output}"
        for line in lines:
            assert shown_in(line, output), f"{command}\nshould show: {line}\nshowed: {output}"

"""Every command in README and docs is one that the program takes, and works as printed in a
fresh checkout.

The tutorial has a test of its own (test_tutorial.py), which also compares what is shown.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conformance.program import ROOT, environment

from commonplace.cli.commands import program
from commonplace.cli.serve import parser
from servers import free_port

BIN = Path(sys.executable).parent
PAGES = [
    ROOT / "README.md",
    ROOT / "SECURITY.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "ENGINEERING.md",
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
    *sorted((ROOT / "docs" / "clients").glob("*.md")),
]
RUN = ["README.md", "files.md", "instructions.md", "operate.md", "openapi-write.md"]
NOT_RUN = {
    "make ": "sets up and serves, or runs these tests",
    "commonplace serve": "runs until it is stopped; another test of this module starts one",
    "commonplace files sync . --project shop --watch": "runs until it is stopped; "
    "test_files_sync_command.py runs it",
    "commonplace files sync . --project shop --server": "needs a server elsewhere; "
    "test_files_sync_server.py runs it",
    "commonplace keys rotate": "takes the id of `keys add`; test_command_line.py runs it",
    "commonplace keys revoke": "the same",
    "commonplace instructions restore --backup": "names a backup of another day",
    "commonplace --data /srv/new restore": "an archive of another day, and a folder of the system",
}
FOUND_SOMETHING = 1  # `oas diff`, `files grep`, `--check` and others say so by their exit code
API = """\
openapi: 3.1.0
info: {title: t, version: '1'}
paths:
  /a:
    get:
      operationId: getA
      responses: {'200': {description: ok}}
"""
SWAGGER = {"swagger": "2.0", "info": {"title": "t", "version": "1"}, "paths": {}}
OVERLAY = (
    "overlay: 1.0.0\ninfo: {title: o, version: '1'}\nactions:\n- target: $.info\n  update: "
    "{title: Sandbox}\n"
)


class Documented(NamedTuple):
    page: str
    line: str

    @property
    def command(self) -> str:
        """Without the comment behind it."""
        return re.sub(r"\s+# .*", "", self.line)


def commands() -> Iterator[Documented]:
    """Lines after `$` in blocks, and lines that begin with our program."""
    for page in PAGES:
        for block in re.findall(r"```(?:console|bash|)\n(.*?)```", page.read_text(), re.DOTALL):
            for line in block.splitlines():
                if line.startswith("$ ") or re.match(r"(?:[A-Z_]+=\S+ )*commonplace ", line):
                    yield Documented(page.name, line.removeprefix("$ "))


def named_in_text() -> Iterator[Documented]:
    """Commands between backquotes, in running text."""
    for page in [
        *PAGES,
        ROOT / "docs" / "tutorial" / "first-steps.md",
        *sorted((ROOT / "docs" / "reference").glob("*.md")),
    ]:
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for command in re.findall(r"`((?:[A-Z_]+=\S+ )*commonplace [a-z-][^`]*)`", text):
            yield Documented(page.name, " ".join(command.split()))


ALL = list(commands())


def parsed(command: str) -> list[list[str]]:
    """The words of each call of our program in a command line, without variables, pipes and
    redirections.
    """
    found = []
    for part in re.split(r"\s*(?:;|&&|\||&$)\s*", re.sub(r"\$\([^)]*\)", "today", command)):
        words = shlex.split(re.split(r"\s[<>]", part)[0])
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            words.pop(0)
        if words and Path(words[0]).name == "commonplace":
            found.append(words[1:])
    return found


def check(words: list[str]) -> None:
    """Let the program's own parsers read a command line."""
    if words[:1] == ["serve"]:
        parser().parse_args(words[1:])
        return
    group: Any = program()
    context = group.make_context("commonplace", list(words))
    while hasattr(group, "commands"):
        rest = [*context._protected_args, *context.args]
        assert rest, f"{words} names a group, not a command"
        name, group, rest = group.resolve_command(context, rest)
        context = group.make_context(name, rest, parent=context)


@pytest.mark.parametrize("documented", ALL, ids=lambda each: f"{each.page}: {each.command}"[:90])
def test_a_documented_command_is_accepted_by_the_program(documented: Documented) -> None:
    for words in parsed(documented.command):
        check(words)


def test_commands_named_in_the_text_exist() -> None:
    named = list(named_in_text())
    assert len(named) > 20
    root = program()
    for documented in named:
        for words in parsed(documented.line.replace("|", " ")):
            if "--version" in words:
                continue
            words = [word for word in words if not word.startswith("-")]
            while words and words[0] not in root.commands:  # values of global options
                words.pop(0)
            assert words, documented
            command = root.commands[words[0]]
            if hasattr(command, "commands") and len(words) > 1 and not words[1].isupper():
                assert words[1] in command.commands, documented


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder as after `make setup`, with the files that the pages speak of, and a shell that
    knows nothing of ours.
    """
    folder = tmp_path_factory.mktemp("checkout")
    (folder / ".venv").symlink_to(BIN.parent)
    (folder / "docs").mkdir()
    (folder / "docs" / "retry.md").write_text("# Retry policy\n\nTODO: say how often.\n")
    (folder / "old").mkdir()
    for name, text in {
        "locks.md": "When SQLite says the database is locked, wait and try again.\n",
        "today.md": "teh day\n",
        "api.yaml": API,
        "newer.yaml": API.replace("/a:", "/b:"),
        "openapi.yaml": API,
        "root.yaml": API,
        "a.yaml": API,
        "b.yaml": API.replace("/a:", "/b:").replace("getA", "getB"),
        "swagger.json": json.dumps(SWAGGER),
        "sandbox.overlay.yaml": OVERLAY,
    }.items():
        (folder / name).write_text(text)
    home = tmp_path_factory.mktemp("home")
    settings = {**environment(home), "HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    run(folder, settings, "commonplace files put /old/a.md locks.md")
    return folder, settings


def run(folder: Path, settings: dict[str, str], command: str) -> subprocess.CompletedProcess[str]:
    """A command in a shell that did what README says first."""
    script = f". .venv/bin/activate && {command}"
    return subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=settings,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("page", RUN)
def test_the_commands_of_a_page_work_as_printed(
    page: str, checkout: tuple[Path, dict[str, str]]
) -> None:
    folder, settings = checkout
    ran = 0
    for documented in ALL:
        if documented.page != page or any(
            documented.command.startswith(start) for start in NOT_RUN
        ):
            continue
        done = run(folder, settings, documented.command)
        assert done.returncode in (0, FOUND_SOMETHING), (
            f"{documented.command}\n{done.stdout}{done.stderr}"
        )
        assert "Traceback" not in done.stderr
        assert done.returncode == 0 or not done.stderr.startswith("error:"), (
            f"{documented.command}\n{done.stderr}"
        )
        ran += 1
    assert ran >= 3


def test_the_line_that_a_server_prints_connects_a_client(tmp_path: Path) -> None:
    """`make serve` runs the program by its path, in a shell that does not know it."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / ".venv").symlink_to(BIN.parent)
    settings = {
        **environment(tmp_path / "home"),
        "HOME": str(tmp_path),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
    }
    port = free_port()
    log = folder / "log"
    with log.open("w") as output:
        server = subprocess.Popen(
            [".venv/bin/commonplace", "serve", "--http", f"127.0.0.1:{port}"],
            cwd=folder,
            env=settings,
            stderr=output,
            stdout=output,
        )
    try:
        until = time.monotonic() + 60
        while (found := re.search(r"connect:\s+(.*)\n[\s\S]*writes:", log.read_text())) is None:
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)
        assert found[1].startswith(".venv/bin/commonplace connect")
        done = subprocess.run(
            ["bash", "-c", found[1]],
            cwd=folder,
            env=settings,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert (
            json.loads(done.stdout)["mcpServers"]["commonplace"]["url"]
            == f"http://127.0.0.1:{port}/mcp"
        )
    finally:
        server.terminate()
        server.wait(30)


def test_setup_says_how_to_run_the_command() -> None:
    made = subprocess.run(
        ["make", "-n", "setup"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "MAKEFLAGS": ""},
    )
    assert ". .venv/bin/activate" in made.stdout
    assert ". .venv/bin/activate" in (ROOT / "README.md").read_text()

"""Codex's TOML: our table is found however it is spelled, and nothing else changes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from command_runs import run

from commonplace.cli import main
from commonplace.cli.connect.merging import to_toml
from commonplace.cli.connect.toml_text import cut_table

pytestmark = pytest.mark.usefixtures("clean_home")

OURS = ("mcp_servers", "commonplace")
OTHERS = '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y" # why\n'


@pytest.fixture
def config(clean_home: Path) -> Path:
    path = clean_home / "home" / ".codex" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.parametrize(
    "spelling",
    [
        '[mcp_servers.commonplace]\ncommand = "old"\n[mcp_servers.commonplace.env]\nA = "1"\n',
        '[ mcp_servers . commonplace ] # ours\nargs = [\n["a"],\n]\n',
        "['mcp_servers'.\"commonplace\"]\r\ncommand = 'old'\r\n",
        '[mcp_servers]\ncommonplace = {command = "old", args = ["[x]"]}\n',
        '[mcp_servers]\ncommonplace.command = "old"\n',
    ],
)
def test_an_entry_is_replaced_and_removed_in_every_spelling(
    spelling: str, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_bytes((OTHERS + "\n" + spelling).encode())
    run(capsys, "connect", "codex", "--write")
    written = config.read_text()
    servers = tomllib.loads(written)["mcp_servers"]
    assert servers["commonplace"]["args"][0] == "serve"
    assert "old" not in written
    assert written.startswith(OTHERS)
    run(capsys, "connect", "codex", "--write")
    assert config.read_text() == written
    run(capsys, "connect", "codex", "--remove")
    assert tomllib.loads(config.read_text())["mcp_servers"] == {"other": {"command": "y"}}
    assert config.read_text().startswith(OTHERS)


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = {commonplace = {command = "x"}, other = {command = "y"}}\n',
        "mcp_servers = {}\n",
        "mcp_servers = 3\n",
        '[[mcp_servers]]\nname = "x"\n',
        f"deep = {'[' * 5_000}{']' * 5_000}\n",
    ],
)
def test_a_form_that_cannot_be_merged_is_refused(
    text: str, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(text)
    run(capsys, "connect", "codex", "--write", expect=2)
    assert config.read_text() == text
    assert main(["connect", "codex", "--remove"]) in (0, 2)  # nothing of ours, or refused
    assert config.read_text() == text


def test_comments_between_tables_stay(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "connect", "codex", "--write")
    config.write_text(config.read_text() + "\n# about the other one\n" + OTHERS.split("\n\n")[1])
    run(capsys, "connect", "codex", "--remove")
    assert config.read_text() == "# about the other one\n" + OTHERS.split("\n\n")[1]


@pytest.mark.parametrize(
    "text",
    [
        '\ufeffmodel = "x"\r\n',
        'a = """\n[mcp_servers.commonplace]\n"""""\nb = \'\'\'\n[mcp_servers.commonplace]\'\'\'\n',
        "a = [ # ]\n  'x', # [mcp_servers.commonplace]\n]",
    ],
)
def test_other_texts_come_back_to_the_byte(
    text: str, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_bytes(text.encode())
    assert cut_table(text, OURS) == text
    run(capsys, "connect", "codex", "--write")
    assert tomllib.loads(config.read_text().removeprefix("\ufeff"))["mcp_servers"]
    run(capsys, "connect", "codex", "--remove")
    assert config.read_bytes() == text.encode()


def test_any_path_is_written_as_toml() -> None:
    entry = {"command": '/home/é😀\x7f/"b"\\', "args": ["ü"], "env": {"A": "😀"}}
    assert tomllib.loads(to_toml(entry))["mcp_servers"]["commonplace"] == entry

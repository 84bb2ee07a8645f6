"""The plugin for Claude Code: its files, and skills by the rules of Agent Skills."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from command_runs import run, run_json

from commonplace.cli.session import session

pytestmark = pytest.mark.usefixtures("clean_home")
FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n\n(.*)\Z", re.DOTALL)


@pytest.fixture
def plugin(capsys: pytest.CaptureFixture[str], clean_home: Path) -> Path:
    folder = clean_home / "plugin"
    told = run_json(capsys, "connect", "claude-code", "--plugin", str(folder))
    assert {change["change"] for change in told["files"]} == {"created"}
    return folder


def test_the_plugin_has_a_server_hooks_skills_and_commands(plugin: Path) -> None:
    manifest = json.loads((plugin / ".claude-plugin" / "plugin.json").read_text())
    assert manifest["name"] == "commonplace"
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", manifest["version"])
    servers = json.loads((plugin / ".mcp.json").read_text())["mcpServers"]
    assert servers["commonplace"]["args"][0] == "serve"
    hooks = json.loads((plugin / "hooks" / "hooks.json").read_text())["hooks"]
    called = [
        handler
        for groups in hooks.values()
        for group in groups
        for handler in group["hooks"]
        if handler["type"] == "mcp_tool"
    ]
    assert {handler["server"] for handler in called} == {"plugin:commonplace:commonplace"}
    assert sorted(path.name for path in (plugin / "commands").iterdir()) == [
        "context.md",
        "remember.md",
        "rules.md",
    ]


def test_the_plugin_and_the_hooks_pass_a_linter_of_such_files(
    plugin: Path, capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    run(capsys, "connect", "codex", "--hooks")
    (clean_home / "work" / ".codex").mkdir()
    hooks = (clean_home / "home" / ".codex" / "hooks.json").read_bytes()
    (clean_home / "work" / ".codex" / "hooks.json").write_bytes(hooks)
    for folder in (plugin, clean_home / "work"):
        command = [Path(sys.executable).with_name("skillsaw"), "lint", "--strict", folder]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert ran.returncode == 0, ran.stdout


def test_skills_obey_the_rules_of_agent_skills(plugin: Path) -> None:
    files = sorted((plugin / "skills").glob("*/SKILL.md"))
    assert len(files) == 5
    for path in files:
        found = FRONT_MATTER.match(path.read_text())
        assert found is not None
        header = yaml.safe_load(found[1])
        assert header.keys() == {"name", "description"}
        assert header["name"] == path.parent.name
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", header["name"])
        assert len(header["name"]) <= 64
        assert not re.search("anthropic|claude", header["name"])
        assert 0 < len(header["description"]) <= 1_024
        assert not re.search("[<>]", header["description"])
        assert len(found[2].splitlines()) < 500


def test_skills_and_commands_name_tools_that_exist(plugin: Path) -> None:
    toolsets = session().app().registry.toolsets
    known = {name for toolset in toolsets for name in toolset.names}
    texts = [path.read_text() for path in plugin.rglob("*.md")]
    named = {name for text in texts for name in re.findall(r"`([a-z]+_[a-z_]+)`", text)}
    fields = {"pack_id", "output_dir"}
    planned = {"open_ref"}  # lands with the context work
    assert named - fields - planned <= known
    assert "rules_for" in named


def test_a_newer_plugin_replaces_an_older_one_and_nothing_else(
    plugin: Path, capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    (plugin / "skills" / "team-rules" / "SKILL.md").write_text("old")
    told = run_json(capsys, "connect", "claude-code", "--plugin", str(plugin))
    changed = [change for change in told["files"] if change["change"] == "changed"]
    assert [Path(change["path"]).parent.name for change in changed] == ["team-rules"]
    run(capsys, "connect", "claude-code", "--plugin", str(clean_home), expect=2)
    run(capsys, "connect", "cursor", "--plugin", str(clean_home / "x"), expect=2)
    assert not (clean_home / "x").exists()

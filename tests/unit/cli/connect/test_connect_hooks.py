"""`connect --hooks` and `--remove`: hooks beside those of others, taken back to the byte."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from command_runs import run, run_json

pytestmark = pytest.mark.usefixtures("clean_home")

HOOK_FILES = {
    "claude-code": "work/.claude/settings.local.json",
    "codex": "home/.codex/hooks.json",
    "gemini": "work/.gemini/settings.json",
    "cursor": "home/.cursor/hooks.json",
    "vscode": "home/.copilot/hooks/commonplace.json",
    "copilot-cli": "home/.copilot/hooks/commonplace.json",
}
OWN_FILES = {
    "cursor": "work/.cursor/rules/commonplace.mdc",
    "devin": "work/.devin/rules/commonplace.md",
    "kiro": "work/.kiro/steering/commonplace.md",
    "cline": "work/.clinerules/hooks/PreToolUse",
}
CLIENTS = sorted(HOOK_FILES.keys() | OWN_FILES.keys())


def files_below(folder: Path) -> dict[str, bytes]:
    """Return the files of the user and of the project, without copies."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for part in ("home", "work")
        for path in (folder / part).rglob("*")
        if path.is_file() and path.suffix != ".bak"
    }


@pytest.mark.parametrize("client", CLIENTS)
def test_what_hooks_write_is_taken_back_to_the_byte(
    client: str, capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    before = files_below(clean_home)
    written = run_json(capsys, "connect", client, "--hooks")
    assert {change["change"] for change in written["files"]} == {"created"}
    for place in (HOOK_FILES.get(client), OWN_FILES.get(client)):
        assert place is None or (clean_home / place).exists()
    again = run_json(capsys, "connect", client, "--hooks")
    assert {change["change"] for change in again["files"]} == {"unchanged"}
    run(capsys, "connect", client, "--remove")
    assert files_below(clean_home) == before
    assert not [path for part in ("home", "work") for path in (clean_home / part).iterdir()]
    assert run_json(capsys, "connect", client, "--remove")["files"] == []


FOREIGN = {
    "claude-code": '{"permissions":{"allow":["Bash(ls)"]},\n\n  "hooks": {"PreToolUse": '
    '[{"matcher":"Bash","hooks":[{"type":"command","command":"mine hook"}]}], "Stop":[]}}',
    "codex": '{ "description": "mine",\n  "hooks": {} }',
    "gemini": '{\n  // comment\n  "ui": {"theme": "x"},\n  "hooks": {"AfterTool": []}\n}\n',
    "cursor": '{"version":1,"hooks":{"stop":[{"command":"mine"}]}}',
    "vscode": '{"hooks":{"Stop":[{"type": "command", "command": "mine"}]} /* no version */}',
}


@pytest.mark.parametrize("client", FOREIGN)
def test_settings_and_hooks_of_others_survive(
    client: str, capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    path = clean_home / HOOK_FILES[client]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(FOREIGN[client])
    run(capsys, "connect", client, "--hooks")
    text = path.read_text()
    assert "commonplace" in text
    for kept in re.findall(r'"mine[^"]*"|// comment|"Bash\(ls\)"', FOREIGN[client]):
        assert kept in text
    run(capsys, "connect", client, "--hooks", "--mutation")  # a second run replaces the first
    assert path.read_text().count("hook SessionStart") <= 1
    run(capsys, "connect", client, "--remove")
    assert path.read_text() == FOREIGN[client]


def test_removing_leaves_no_copy_of_a_key_behind(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    path = clean_home / "home" / ".cursor" / "mcp.json"
    path.parent.mkdir(parents=True)
    before = '{"mcpServers": {"x": {}} /* mine */}'
    path.write_text(before)
    mine = path.with_name("mcp.json.mine.bak")
    mine.write_text(before)
    for key in ("cp_first", "cp_second"):
        run(capsys, "connect", "cursor", "--write", "--key", key, "--key-in-file")
    run(capsys, "connect", "cursor", "--remove")
    assert path.read_text() == before
    assert sorted(path.parent.iterdir()) == [path, mine]


def test_a_file_of_ours_with_a_comment_of_somebody_is_kept(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    path = clean_home / "home" / ".config" / "zed" / "settings.json"
    run(capsys, "connect", "zed", "--write")
    path.write_text("// mine\n" + path.read_text())
    run(capsys, "connect", "zed", "--remove")
    assert path.read_text() == "// mine\n{}\n"


@pytest.mark.parametrize("option", [["--remove"], ["--plugin", "plugin"]])
def test_a_dry_run_changes_nothing(
    option: list[str], capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    run(capsys, "connect", "claude-code", "--hooks")
    before = files_below(clean_home)
    run(capsys, "connect", "claude-code", *option, "--dry-run", expect=2)
    assert files_below(clean_home) == before


def test_what_a_person_changed_meanwhile_is_kept(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    path = clean_home / HOOK_FILES["claude-code"]
    run(capsys, "connect", "claude-code", "--hooks")
    settings = json.loads(path.read_text())
    settings["hooks"]["UserPromptSubmit"][0]["hooks"].append({"type": "command", "command": "m"})
    settings["model"] = "x"
    path.write_text(json.dumps(settings, indent=1))
    run(capsys, "connect", "claude-code", "--remove")
    assert json.loads(path.read_text()) == {
        "hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "m"}]}]},
        "model": "x",
    }


def test_a_script_or_rule_of_somebody_else_is_not_touched(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    theirs = clean_home / OWN_FILES["cline"]
    theirs.parent.mkdir(parents=True)
    theirs.write_text("#!/bin/sh\n")
    told = run_json(capsys, "connect", "cline", "--hooks")
    kept = [change for change in told["files"] if change["change"] == "kept"]
    assert [change["path"] for change in kept] == [str(theirs)]
    run(capsys, "connect", "cline", "--remove")
    assert theirs.read_text() == "#!/bin/sh\n"
    assert [path.name for path in theirs.parent.iterdir()] == ["PreToolUse"]


def handlers(hooks: dict[str, Any]) -> list[tuple[str, str | None, dict[str, Any]]]:
    return [
        (event, group.get("matcher"), handler)
        for event, groups in hooks.items()
        for group in groups
        for handler in group.get("hooks", [group])
    ]


@pytest.mark.parametrize("client", sorted(HOOK_FILES))
def test_commands_of_hooks_name_event_client_and_data(
    client: str, capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    shown = run_json(capsys, "connect", client, "--hooks", "--dry-run")["hooks"]["hooks"]
    assert not (clean_home / HOOK_FILES[client]).exists()
    commands = [
        (event, shlex.split(handler["command"]))
        for event, _, handler in handlers(shown)
        if "command" in handler
    ]
    assert commands
    named = "vscode" if client == "copilot-cli" else client
    for event, words in commands:
        assert Path(words[0]).name == "commonplace"
        assert words[1:] == ["hook", event, "--client", named, "--data", str(clean_home / "data")]


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_prompts_and_edits_call_the_tool_and_starts_run_a_command(
    client: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = run_json(capsys, "connect", client, "--hooks", "--dry-run")["hooks"]["hooks"]
    kinds = {(event, handler["type"]) for event, _, handler in handlers(shown)}
    assert kinds == {
        ("SessionStart", "command"),
        ("SessionEnd", "command"),
        ("UserPromptSubmit", "mcp_tool"),
        ("PreToolUse", "mcp_tool"),
        ("SubagentStart", "mcp_tool"),
    }
    elsewhere = run_json(capsys, "connect", client, "--hooks", "--dry-run", "--http", "https://a")[
        "hooks"
    ]["hooks"]
    assert {handler["type"] for _, _, handler in handlers(elsewhere)} == {"mcp_tool"}
    for _, _, handler in handlers(shown):
        if handler["type"] == "mcp_tool":
            assert (handler["server"], handler["tool"]) == ("commonplace", "hook_context")
            assert "null" not in json.dumps(handler)  # Codex refuses it


@pytest.mark.parametrize("client", ["cursor", "vscode", "gemini", "cline"])
def test_hooks_that_run_commands_are_refused_for_a_server_elsewhere(
    client: str, capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    run(capsys, "connect", client, "--hooks", "--http", "https://a", expect=2)
    assert not list(clean_home.rglob("*.json"))


@pytest.mark.parametrize("client", ["claude-desktop", "junie", "zed", "jetbrains"])
def test_a_client_without_hooks_is_told_what_to_write(
    client: str, capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    from commonplace.cli import main

    assert main(["connect", client, "--hooks"]) == 2
    assert "rules_for" in capsys.readouterr().err
    assert not list(clean_home.rglob("*.json"))


def test_a_hooks_file_of_another_form_is_not_changed(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    path = clean_home / HOOK_FILES["codex"]
    path.parent.mkdir()
    for text in ('{"hooks": []}', '{"hooks": {"Stop": {}}}', "[]"):
        path.write_text(text)
        run(capsys, "connect", "codex", "--hooks", expect=2)
        assert path.read_text() == text


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_the_end_of_a_session_is_captured_where_the_store_is_on_this_machine(
    client: str, capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    shown = run_json(capsys, "connect", client, "--hooks", "--dry-run")["hooks"]["hooks"]
    (group,) = shown["SessionEnd"]
    (handler,) = group["hooks"]
    assert handler["type"] == "command"
    assert f"hook SessionEnd --client {client}" in handler["command"]
    address = ("--http", "http://127.0.0.1:1/mcp")
    elsewhere = run_json(capsys, "connect", client, "--hooks", "--dry-run", *address)
    assert "SessionEnd" not in elsewhere["hooks"]["hooks"]

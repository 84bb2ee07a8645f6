"""Commands run in process: output, files and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_runs import run, run_json

from commonplace import __version__
from commonplace.cli import main
from commonplace.cli.dropin.translation import Command, translate
from commonplace.cli.reference import configuration_page, sample_file
from commonplace.kernel.config.catalog import leaves
from commonplace.kernel.config.loading import load
from commonplace.kernel.config.yaml_file import parse_yaml
from commonplace.storage.credentials.keys import KeyStore
from commonplace.storage.locks.data_folder import share_data_folder
from commonplace.telemetry.audit import AuditLog
from commonplace.telemetry.verify import verify

ROOT = Path(__file__).parents[3]


pytestmark = pytest.mark.usefixtures("clean_home")


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version") == f"commonplace {__version__}\n"


@pytest.mark.parametrize(
    "command", ["serve", "call", "tools", "connect", "backup", "restore", "completion", "doctor"]
)
def test_help_shows_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = run(capsys, command, "--help").lower()
    assert "example" in shown
    assert f"commonplace {command}" in shown or command in ("restore",)


def test_a_wrong_command_and_a_wrong_option_end_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "nonsense", expect=2)
    run(capsys, "keys", "list", "--nonsense", expect=2)
    run(capsys, "serve", "--nonsense", expect=2)
    run(capsys, "serve", "--http", "host:port", expect=2)


def test_a_tool_is_called_with_pairs_with_json_and_from_a_file(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    assert run_json(capsys, "call", "health/check")["status"] == "ok"
    assert run_json(capsys, "call", "audit_query", "limit=3", "outcome=refused") == {
        "records": [],
        "returned": 0,
        "limit": 3,
    }
    assert run_json(capsys, "call", "audit_query", "--args", '{"limit": 4}')["limit"] == 4
    assert run_json(capsys, "call", "audit_query", '{"limit": 4}', "outcome=refused")["limit"] == 4
    (clean_home / "work" / "tool.txt").write_text("file_write")
    assert run_json(capsys, "call", "audit_query", "tool=@tool.txt")["returned"] == 0


def test_a_failed_call_prints_its_error_and_ends_with_its_kinds_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        run_json(capsys, "call", "audit_query", "limit=0", expect=2)["error"]["code"]
        == "INVALID_ARGUMENT"
    )
    assert run_json(capsys, "call", "no_such_tool", expect=2)["error"]["code"] == "UNKNOWN_TOOL"
    run(capsys, "call", "audit_query", "limit", expect=2)
    run(capsys, "call", "audit_query", "--args", "[1]", expect=2)
    run(capsys, "call", "audit_query", '{"limit": ', expect=2)
    run(capsys, "call", "audit_query", "tool=@absent.txt", expect=2)


def test_tools_are_listed_with_their_cost(capsys: pytest.CaptureFixture[str]) -> None:
    listed = run_json(capsys, "tools", "--toolsets", "server")
    assert [tool["name"] for tool in listed["tools"]] == ["health_check"]
    everything = run_json(capsys, "tools", "--toolsets", "server", "--all-tools")
    assert {tool["name"] for tool in everything["tools"]} == {
        "health_check",
        "metrics_snapshot",
        "server_status",
        "audit_query",
        "audit_verify",
    }
    assert (
        everything["tokens"]
        == sum(tool["tokens"] for tool in everything["tools"])
        > listed["tokens"]
        > 0
    )
    for tool in everything["tools"]:
        assert 0 < tool["model_tokens"] < tool["tokens"]
    assert everything["model_tokens"] == sum(tool["model_tokens"] for tool in everything["tools"])
    run(capsys, "tools", "--profile", "nonsense", expect=2)


def test_keys_are_created_listed_rotated_and_revoked(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    made = run_json(
        capsys, "keys", "add", "--tenant", "team-a", "--label", "alice", "--scope", "read"
    )
    store = KeyStore(clean_home / "data" / "keys.json")
    assert store.find(made["key"]) is not None
    (listed,) = run_json(capsys, "keys", "list")["keys"]
    assert (listed["id"], listed["tenant"], listed["scope"], listed["state"]) == (
        made["id"],
        "team-a",
        "read",
        "active",
    )
    assert made["key"] not in json.dumps(listed)
    rotated = run_json(capsys, "keys", "rotate", made["id"])
    assert store.find(made["key"]) is None
    assert store.find(rotated["key"]) is not None
    assert run_json(capsys, "keys", "revoke", made["id"])["state"] == "revoked"
    assert store.find(rotated["key"]) is None
    assert run_json(capsys, "keys", "list")["keys"] == []
    assert len(run_json(capsys, "keys", "list", "--all")["keys"]) == 1
    run(capsys, "keys", "revoke", "nothere1", expect=3)
    run(capsys, "keys", "add", "--tenant", "a b", "--label", "x", expect=2)


def test_tenants_are_listed_and_moved(capsys: pytest.CaptureFixture[str], clean_home: Path) -> None:
    run_json(capsys, "keys", "add", "--tenant", "old", "--label", "alice")
    assert [tenant["tenant"] for tenant in run_json(capsys, "tenants", "list")["tenants"]] == [
        "local",
        "old",
    ]
    assert run_json(capsys, "tenants", "move", "old", "new")["moved"]["keys"] == 1
    assert [tenant["tenant"] for tenant in run_json(capsys, "tenants", "list")["tenants"]] == [
        "local",
        "new",
    ]
    run(capsys, "tenants", "move", "new", "new", expect=2)
    run(capsys, "tenants", "move", "olf", "new", expect=3)
    with share_data_folder(clean_home / "data"):
        run(capsys, "tenants", "move", "new", "newer", expect=5)


def test_changes_of_keys_are_in_the_audit_trail(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    made = run_json(
        capsys, "keys", "add", "--tenant", "team-a", "--label", "alice", "--scope", "read"
    )
    rotated = run_json(capsys, "keys", "rotate", made["id"])
    run(capsys, "keys", "revoke", made["id"])
    run(capsys, "keys", "revoke", "nothere1", expect=3)
    run(capsys, "tenants", "move", "team-a", "team-b")
    records = run_json(capsys, "audit", "query")["records"]
    assert [
        (record["tool"], record["outcome"], record.get("code")) for record in reversed(records)
    ] == [
        ("keys_add", "ok", None),
        ("keys_rotate", "ok", None),
        ("keys_revoke", "ok", None),
        ("keys_revoke", "failed", "KEY_NOT_FOUND"),
        ("tenants_move", "ok", None),
    ]
    assert records[-1]["arguments"] == {
        "tenant": "team-a",
        "label": "alice",
        "scope": "read",
        "id": made["id"],
    }
    kept = "".join(
        path.read_text() for path in (clean_home / "data" / "audit" / "chains").iterdir()
    )
    assert made["key"] not in kept
    assert rotated["key"] not in kept
    assert run_json(capsys, "audit", "verify")["ok"] is True


def test_moving_a_tenant_moves_its_files_and_its_memory(capsys: pytest.CaptureFixture[str]) -> None:
    run_json(capsys, "call", "file_write", "project=p", "path=/a.md", "content=mine")
    run_json(capsys, "call", "rekall_add", "type=bug", "title=Mine", "content=learned")
    moved = run_json(capsys, "tenants", "move", "local", "team-a")["moved"]
    assert (moved["files"], moved["memory"]) == (1, 1)
    assert run_json(capsys, "call", "file_list", "project=p")["entries"] == []
    assert run_json(capsys, "call", "memory_list")["entries"] == []


def test_the_audit_is_verified_and_queried(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    audit = AuditLog(clean_home / "data" / "audit")
    audit.append({"type": "call", "tool": "file_write", "tenant": "a", "outcome": "ok"})
    audit.close()
    assert run_json(capsys, "audit", "verify")["ok"] is True
    assert run_json(capsys, "audit", "query", "--tool", "file_write")["returned"] == 1
    assert run_json(capsys, "audit", "query", "--tenant", "b")["returned"] == 0
    run(capsys, "audit", "query", "--since", "garbage", expect=2)
    run(capsys, "audit", "query", "--outcome", "bad", expect=2)
    run(capsys, "call", "audit_query", "since=2026-02-30", expect=2)
    (chain,) = (clean_home / "data" / "audit" / "chains").iterdir()
    chain.write_bytes(chain.read_bytes().replace(b"file_write", b"file_erase"))
    assert run_json(capsys, "audit", "verify", expect=1)["problems"][0]["record"] == 1
    assert "changed" in json.dumps(run_json(capsys, "audit", "verify", expect=1))


def test_config_show_gives_every_value_its_source_and_hides_secrets(
    capsys: pytest.CaptureFixture[str], clean_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_ENABLE_MUTATION", "1")
    monkeypatch.setenv("DIST_WAIT_MS", "5")
    (clean_home / "work" / "commonplace.yaml").write_text(
        "settings:\n  server: {port: 9000}\n  storage: {url: 'postgresql://u:hunter2@h/d'}\n"
        "  mcp: {files: {security: {encryption_keks: {1: correct-horse-battery}}}}\n"
    )
    text = run(capsys, "config", "show", "--json")
    shown = json.loads(text)
    rows = {row["key"]: row for row in shown["settings"]}
    assert set(rows) == {"data", *(f"settings.{name}" for name, _ in leaves())}
    assert rows["settings.server.port"] == {
        "key": "settings.server.port",
        "value": 9000,
        "source": f"file {Path.cwd() / 'commonplace.yaml'}",
    }
    assert (
        rows["settings.mcp.instructions.mutation_enabled"]["source"]
        == "variable MCP_ENABLE_MUTATION"
    )
    assert rows["settings.server.host"]["source"] == "default"
    assert rows["settings.mcp.files.security.encryption_keks"]["value"] == {"1": "***"}
    assert "hunter2" not in text
    assert "correct-horse" not in text
    assert list(shown["variables_without_effect"]) == ["DIST_WAIT_MS"]
    changed = run_json(capsys, "config", "show", "--changed")
    assert len(changed["settings"]) == 5
    human = run(capsys, "config", "show")
    assert "hunter2" not in human
    assert "settings.server.port" in human


def test_config_init_writes_a_file_that_is_valid_commented_and_uncommented(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    run(capsys, "config", "init")
    written = clean_home / "work" / "commonplace.yaml"
    assert parse_yaml(written) is None
    run(capsys, "config", "check")
    run(capsys, "config", "init", expect=2)
    bare = "\n".join(line[1:] for line in written.read_text().splitlines()[1:])
    written.write_text(bare)
    config = load(file=written, environ={}, cwd=clean_home)
    assert {name for name, source in config.sources.items() if source.startswith("file")} == {
        name for name, _ in leaves()
    }
    assert config.settings == load(environ={}, cwd=clean_home).settings
    run(capsys, "config", "init", "--user")
    assert (
        clean_home / "home" / ".config" / "commonplace" / "commonplace.yaml"
    ).read_text() == sample_file()


def test_a_wrong_configuration_ends_every_command_with_2(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    (clean_home / "work" / "commonplace.yaml").write_text("settings: {servr: {}}")
    for command in (["config", "check"], ["keys", "list"], ["serve"], ["tools"]):
        assert main(command) == 2
        assert "Did you mean settings.server?" in capsys.readouterr().err
    checks = run_json(capsys, "doctor", expect=1)["checks"]
    assert [check["status"] for check in checks if check["name"] == "configuration"] == ["fail"]


def test_config_check_finds_what_would_prevent_a_server_from_starting(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    (clean_home / "work" / "commonplace.yaml").write_text("settings: {server: {toolsets: [file]}}")
    run(capsys, "config", "check", expect=2)
    (clean_home / "work" / "commonplace.yaml").write_text("settings: {server: {toolsets: [files]}}")
    assert run(capsys, "config", "check").endswith("valid\n")
    assert not (clean_home / "data").exists()


def printed(*command: str, **environ: str) -> list[str]:
    """What a command prints into a pipe, in a process of its own: Rich asks for the width once."""
    kept = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    run = [sys.executable, "-m", "commonplace", *command]
    return subprocess.run(
        run, capture_output=True, text=True, check=True, timeout=60, env=kept | environ
    ).stdout.splitlines()


def test_tables_fit_a_narrow_terminal_and_keep_their_names() -> None:
    shown = printed("tools", "--all-tools", COLUMNS="80")
    assert {"rekall_suggest_generalize", "metrics_snapshot"} <= {line.split()[0] for line in shown}
    assert all(len(line) <= 80 for line in shown)


def test_a_narrow_table_wraps_long_cells_and_loses_nothing(clean_home: Path) -> None:
    printed(
        "keys",
        "add",
        "--tenant",
        "tenant-of-the-whole-platform",
        "--label",
        "alice-from-the-platform-team",
    )
    head, *lines = printed("keys", "list", COLUMNS="60")
    assert head.split() == ["id", "tenant", "label", "scope", "created_at", "state"]
    columns = [head.index(name) for name in head.split()]
    cells = [
        "".join(line[start:end].strip() for line in lines)
        for start, end in zip(columns, [*columns[1:], None], strict=True)
    ]
    assert [cells[1], cells[2], cells[3], cells[5]] == [
        "tenant-of-the-whole-platform",
        "alice-from-the-platform-team",
        "write",
        "active",
    ]
    assert len(cells[0]) == 8


def test_piped_output_is_neither_cut_nor_wrapped(clean_home: Path) -> None:
    title = (
        "A title of some length, [bold]which says[/bold] :lock: what went wrong and why, up "
        "to its very end"
    )
    assert printed("memory", "add", "bug", title)[0].endswith(title)
    head, entry = printed("memory", "list")[:2]
    assert (head.split()[0], head.split()[-1]) == ("id", "created")
    assert title in entry
    assert not any("…" in line for line in printed("config", "show"))


def test_the_configuration_reference_is_up_to_date() -> None:
    assert (ROOT / "docs" / "reference" / "configuration.md").read_text() == configuration_page()


def test_doctor_accepts_a_fresh_folder_and_says_how_to_repair_others(
    capsys: pytest.CaptureFixture[str], clean_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = run_json(capsys, "doctor")
    assert fresh["ok"]
    assert {"data folder", "audit", "keys", "exposure", "toolset server"} <= {
        check["name"] for check in fresh["checks"]
    }
    (clean_home / "work" / "commonplace.yaml").write_text(
        "settings:\n  auth: {mode: keys}\n  server: {host: 0.0.0.0}\n  mcp: {files: "
        "{allow_root_wipe: true}}\n"
    )
    (clean_home / "data").chmod(0o755)
    found = {check["name"]: check for check in run_json(capsys, "doctor", expect=1)["checks"]}
    assert found["keys"]["status"] == "fail"
    assert "keys add" in found["keys"]["fix"]
    assert found["data folder"]["status"] == "warn"
    assert found["files"]["status"] == "warn"
    (clean_home / "work" / "commonplace.yaml").write_text("settings:\n  server: {host: 0.0.0.0}\n")
    found = {check["name"]: check for check in run_json(capsys, "doctor", expect=1)["checks"]}
    assert found["exposure"]["status"] == "fail"


def test_a_backup_restores_everything_and_its_audit_verifies(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    data = clean_home / "data"
    key = run_json(capsys, "keys", "add", "--tenant", "a", "--label", "b")["key"]
    (data / "instructions").mkdir()
    (data / "instructions" / "one.json").write_text('{"id": "one"}')
    (data / "models").mkdir()
    (data / "models" / "weights.bin").write_text("derived")
    audit = AuditLog(data / "audit")
    audit.append({"type": "call", "tool": "x", "tenant": "a", "outcome": "ok"})
    archive = clean_home / "backup.tar.gz"
    run(capsys, "backup", str(archive))
    audit.append({"type": "call", "tool": "y", "tenant": "a", "outcome": "ok"})
    audit.close()
    other = clean_home / "other"
    told = json.loads(run(capsys, "--data", str(other), "restore", str(archive), "--json"))
    assert told["kept"] == []
    assert KeyStore(other / "keys.json").find(key) is not None
    assert (other / "instructions" / "one.json").read_text() == '{"id": "one"}'
    assert not (other / "models").exists()
    assert verify(other / "audit").ok
    assert (
        verify(other / "audit").records == 4
    )  # two chains: the key and x, each after the record that opens it


def test_restore_keeps_the_old_state_and_refuses_without_force(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    run_json(capsys, "keys", "add", "--tenant", "first", "--label", "b")
    archive = clean_home / "backup.tar.gz"
    run(capsys, "backup", str(archive))
    run_json(capsys, "keys", "add", "--tenant", "second", "--label", "b")
    run(capsys, "restore", str(archive), expect=5)
    with share_data_folder(clean_home / "data"):
        run(capsys, "restore", str(archive), "--force", expect=5)
    (kept,) = json.loads(run(capsys, "restore", str(archive), "--force", "--json"))["kept"]
    assert KeyStore(clean_home / "data" / "keys.json").tenants() == {"first"}
    assert KeyStore(Path(kept) / "keys.json").tenants() == {"first", "second"}


def test_a_missing_archive_is_reported_and_leaves_no_folder(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    assert main(["--data", str(clean_home / "new"), "restore", "gone.tar.gz"]) == 2
    assert "Cannot use gone.tar.gz: No such file or directory." in capsys.readouterr().err
    assert not (clean_home / "new").exists()


def test_a_damaged_archive_restores_nothing(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    run_json(capsys, "keys", "add", "--tenant", "first", "--label", "b")
    archive = clean_home / "backup.tar.gz"
    run(capsys, "backup", str(archive))
    whole = archive.read_bytes()
    other = clean_home / "other"
    for damaged in (
        whole[: len(whole) // 2],
        b"not an archive",
        whole[:40] + bytes([whole[40] ^ 255]) + whole[41:],
    ):
        archive.write_bytes(damaged)
        run(capsys, "--data", str(other), "restore", str(archive), expect=2)
        assert not (other / "keys.json").exists()


def test_a_shim_is_written_and_never_shadows_another_command(
    capsys: pytest.CaptureFixture[str], clean_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = clean_home / "bin"
    monkeypatch.setenv("PATH", str(folder))
    path = Path(run_json(capsys, "shim", "install", "rekall", "--into", str(folder))["path"])
    assert os.access(path, os.X_OK)
    run(capsys, "shim", "install", "rekall", "--into", str(folder))
    (folder / "oastools").write_text("#!/bin/sh\n")
    (folder / "oastools").chmod(0o755)
    run(capsys, "shim", "install", "oastools", "--into", str(folder), expect=5)
    run(capsys, "shim", "install", "oastools", "--into", str(clean_home / "elsewhere"), expect=5)


@pytest.mark.parametrize(
    ("command", "line", "ours"),
    [
        ("rekall", "mcp-server", "serve --profile rekall"),
        ("rekall", "mcp-server --port 8765", "serve --profile rekall --http 127.0.0.1:8765"),
        ("rekall", "mcp-server --port=8765", "serve --profile rekall --http 127.0.0.1:8765"),
        ("rekall", "search flaky --limit 3", "memory search flaky --limit 3"),
        ("rekall", "generalize a b --dry-run", "memory generalize a b --dry-run"),
        ("oastools", "mcp", "serve --profile oastools"),
        ("oastools", "--version", "--version"),
    ],
)
def test_a_shim_translates_the_other_programs_command_line(
    command: str, line: str, ours: str
) -> None:
    assert translate(Command(command), line.split()) == ours.split()


def test_a_drop_in_command_line_that_is_wrong_ends_with_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(capsys, "shim", "run", expect=2)
    run(capsys, "shim", "run", "nonsense", expect=2)
    run(capsys, "shim", "run", "rekall", "mcp-server", "--port", "high", expect=2)
    assert run(capsys, "shim", "run", "rekall", "--version") == f"commonplace {__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_completion_prints_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "_COMMONPLACE_COMPLETE" in run(capsys, "completion", shell)


def test_completion_answers_the_shell(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_COMMONPLACE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "commonplace ke")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert run(capsys).split() == ["keys"]

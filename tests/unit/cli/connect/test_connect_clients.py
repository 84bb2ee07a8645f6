"""`commonplace connect`: entries of each client, merged files, and references to keys."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from command_runs import run, run_json

from commonplace.cli import main

pytestmark = pytest.mark.usefixtures("clean_home")


JSON_CLIENTS = {
    "claude-code": ("work/.mcp.json", "mcpServers"),
    "claude-desktop": ("home/.config/Claude/claude_desktop_config.json", "mcpServers"),
    "cursor": ("home/.cursor/mcp.json", "mcpServers"),
    "vscode": ("work/.vscode/mcp.json", "servers"),
    "copilot-cli": ("home/.copilot/mcp-config.json", "mcpServers"),
    "gemini": ("work/.gemini/settings.json", "mcpServers"),
    "cline": ("home/.cline/data/settings/cline_mcp_settings.json", "mcpServers"),
    "devin": ("home/.config/devin/mcp_config.json", "mcpServers"),
    "kiro": ("work/.kiro/settings/mcp.json", "mcpServers"),
    "junie": ("work/.junie/mcp/mcp.json", "mcpServers"),
    "zed": ("home/.config/zed/settings.json", "context_servers"),
}


@pytest.mark.parametrize("client", sorted(JSON_CLIENTS))
def test_connect_prints_by_default_and_merges_with_write(
    client: str, capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    place, key = JSON_CLIENTS[client]
    path = clean_home / place
    printed = json.loads(run(capsys, "connect", client))
    assert not path.exists()
    entry = printed[key]["commonplace"]
    assert entry["args"] == ["serve", "--data", str(clean_home / "data")]
    assert Path(entry["command"]).is_absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    before = {key: {"other": {"command": "x"}}, "théme": "dark"}
    path.write_text(json.dumps(before))
    told = run_json(capsys, "connect", client, "--write", "--mutation")
    merged = json.loads(path.read_text())
    assert merged[key]["other"] == {"command": "x"}
    assert merged["théme"] == "dark"
    assert merged[key]["commonplace"]["env"] == {"MCP_ENABLE_MUTATION": "1"}
    assert json.loads(Path(told["backup"]).read_text()) == before


REMOTE = {
    "claude-code": {"type": "http", "url": "https://a/mcp"},
    "copilot-cli": {"type": "http", "url": "https://a/mcp", "tools": ["*"]},
    "gemini": {"httpUrl": "https://a/mcp"},
    "cline": {"type": "streamableHttp", "url": "https://a/mcp"},
    "devin": {"url": "https://a/mcp"},
    "kiro": {"url": "https://a/mcp"},
    "junie": {"url": "https://a/mcp"},
    "jetbrains": {"url": "https://a/mcp"},
    "zed": {"url": "https://a/mcp"},
}


@pytest.mark.parametrize("client", REMOTE)
def test_connect_spells_an_address_as_the_client_does(
    client: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_json(capsys, "connect", client, "--http", "https://a")["entry"] == REMOTE[client]


def test_connect_prints_what_a_client_without_a_file_needs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    printed = json.loads(run(capsys, "connect", "jetbrains"))
    assert list(printed["mcpServers"]["commonplace"]) == ["command", "args"]
    run(capsys, "connect", "jetbrains", "--write", expect=2)


REFERENCES = {
    "claude-code": (
        {"headers": {"Authorization": "Bearer ${COMMONPLACE_KEY}"}},
        {"env": {"COMMONPLACE_KEY": "${COMMONPLACE_KEY}"}},
    ),
    "vscode": (
        {"headers": {"Authorization": "Bearer ${input:commonplace-key}"}},
        {"env": {"COMMONPLACE_KEY": "${input:commonplace-key}"}},
    ),
    "cursor": (
        {"headers": {"Authorization": "Bearer ${env:COMMONPLACE_KEY}"}},
        {"env": {"COMMONPLACE_KEY": "${env:COMMONPLACE_KEY}"}},
    ),
    "codex": ({"bearer_token_env_var": "COMMONPLACE_KEY"}, {"env_vars": ["COMMONPLACE_KEY"]}),
}


@pytest.mark.parametrize("client", REFERENCES)
def test_connect_refers_to_a_key_in_the_form_of_the_client(
    client: str, capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    over_http, on_stdio = REFERENCES[client]
    remote = run_json(
        capsys, "connect", client, "--http", "http://127.0.0.1:1/mcp", "--key", "cp_x", "--write"
    )
    assert {
        name: value for name, value in remote["entry"].items() if name not in ("type", "url")
    } == over_http
    assert "cp_x" not in Path(remote["path"]).read_text()
    assert len(remote["notes"]) == 1
    local = run_json(capsys, "connect", client, "--key", "cp_x", "--write")
    assert {
        name: value
        for name, value in local["entry"].items()
        if name not in ("type", "command", "args")
    } == on_stdio
    assert "cp_x" not in Path(local["path"]).read_text()
    if client == "vscode":
        assert [each["id"] for each in json.loads(Path(local["path"]).read_text())["inputs"]] == [
            "commonplace-key"
        ]


@pytest.mark.parametrize("client", ["claude-code", "vscode"])
def test_connect_warns_before_it_writes_a_key_into_a_file_of_the_project(
    client: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(
        [
            "connect",
            client,
            "--http",
            "http://127.0.0.1:1",
            "--key",
            "cp_x",
            "--key-in-file",
            "--write",
        ]
    )
    said = " ".join(capsys.readouterr().err.split())
    assert code == 0
    assert "usually committed" in said
    assert said.index("usually committed") < said.index("wrote ")
    told = run_json(
        capsys, "connect", client, "--http", "http://127.0.0.1:1", "--key", "cp_x", "--key-in-file"
    )
    assert told["entry"]["headers"] == {"Authorization": "Bearer cp_x"}


def test_connect_refuses_http_for_claude_desktop(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["connect", "claude-desktop", "--http", "http://127.0.0.1:1", "--write"]) == 2
    said = capsys.readouterr().err
    assert "custom connector" in said
    assert "Leave out --http" in said
    told = run_json(capsys, "connect", "claude-desktop", "--key", "cp_x")
    assert told["entry"]["env"] == {"COMMONPLACE_KEY": "cp_x"}
    assert "plain text" in told["notes"][0]


def test_connect_passes_config_and_data_of_this_command(
    capsys: pytest.CaptureFixture[str], clean_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (clean_home / "work" / "commonplace.yaml").write_text("settings: {}")
    flags = [
        "--config",
        str(clean_home / "work" / "commonplace.yaml"),
        "--data",
        str(clean_home / "data"),
    ]
    assert run_json(capsys, "connect", "cursor")["entry"]["args"] == ["serve", *flags]
    (clean_home / "work" / "commonplace.yaml").unlink()
    monkeypatch.delenv("COMMONPLACE_HOME")
    assert run_json(capsys, "connect", "cursor")["entry"]["args"] == ["serve"]


def test_connect_to_a_running_server_needs_only_its_address(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    for address in ("http://127.0.0.1:1", "http://127.0.0.1:1/", "http://127.0.0.1:1/mcp"):
        assert run_json(capsys, "connect", "codex", "--http", address)["entry"] == {
            "url": "http://127.0.0.1:1/mcp"
        }
    assert run_json(capsys, "connect", "codex", "--http", "https://a/b/mcp")["entry"] == {
        "url": "https://a/b/mcp"
    }
    run(capsys, "connect", "codex", "--http", "127.0.0.1:1", expect=2)
    run(capsys, "connect", "codex", "--http", "http://127.0.0.1:1", "--mutation", expect=2)


@pytest.mark.parametrize(
    "text", ["[]", '{"mcpServers": []}', "{", "{} {}", '{"a" 1}', "\ufeff{", "nul"]
)
def test_connect_does_not_change_a_file_it_cannot_merge(
    text: str, capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    path = clean_home / "work" / ".mcp.json"
    path.write_text(text)
    run(capsys, "connect", "claude-code", "--write", expect=2)
    assert path.read_text() == text
    assert [other.name for other in path.parent.iterdir()] == [".mcp.json"]


def test_connect_merges_into_codex_toml_and_keeps_every_other_byte(
    capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    path = clean_home / "home" / ".codex" / "config.toml"
    path.parent.mkdir()
    kept = '# mine\nmodel = "x"  # why\n\n[mcp_servers.other]\ncommand = "o"\n'
    path.write_text(kept)
    for _ in range(2):
        run(capsys, "connect", "codex", "--write", "--mutation")
        text = path.read_text()
        assert text.startswith(kept)
        servers = tomllib.loads(text)["mcp_servers"]
        assert servers["other"] == {"command": "o"}
        assert servers["commonplace"]["env"] == {"MCP_ENABLE_MUTATION": "1"}
        assert text.count("[mcp_servers.commonplace]") == 1
    run(capsys, "connect", "codex", "--write")
    assert "env" not in tomllib.loads(path.read_text())["mcp_servers"]["commonplace"]
    path.write_text("not toml")
    run(capsys, "connect", "codex", "--write", expect=2)
    assert path.read_text() == "not toml"

"""Settings that clients of one server may have each for themselves."""

from __future__ import annotations

from pathlib import Path

from commonplace.kernel.config.loading import load
from commonplace.kernel.config.sharing import anchor_paths, find_process_differences


def test_options_of_a_client_are_no_differences(tmp_path: Path) -> None:
    own = load(data=tmp_path, environ={}, cwd=tmp_path).settings
    other = load(
        data=tmp_path,
        environ={"MCP_ENABLE_MUTATION": "1"},
        flags={"server.read_only": True, "server.toolsets": ("files",), "auth.mode": "keys"},
        cwd=tmp_path,
    ).settings
    assert find_process_differences(own, other) == []


def test_a_setting_that_repeats_its_default_is_no_difference(tmp_path: Path) -> None:
    own = load(data=tmp_path, environ={}, cwd=tmp_path).settings
    environ = {"INSTRUCTIONS_DIR": str(tmp_path / "instructions")}
    other = load(data=tmp_path, environ=environ, cwd=tmp_path).settings
    assert find_process_differences(own, other) == []


def test_what_a_process_has_once_is_a_difference(tmp_path: Path) -> None:
    own = load(data=tmp_path, environ={}, cwd=tmp_path).settings
    environ = {"MCP_LOG_VERBOSE": "1", "WORKSPACE_ID": "w"}
    other = load(data=tmp_path, environ=environ, cwd=tmp_path).settings
    assert find_process_differences(own, other) == [
        "mcp.instructions.workspace",
        "log.verbose",
    ]


def test_relative_paths_start_at_the_folder_of_each_client(tmp_path: Path) -> None:
    environ = {"INSTRUCTIONS_DIR": "rules", "MCP_LOG_FILE": "~/log"}
    loaded = load(data=tmp_path, environ=environ, cwd=tmp_path).settings
    one, two = (anchor_paths(loaded, tmp_path / name) for name in ("one", "two"))
    assert one.mcp.instructions.directory == str(tmp_path / "one" / "rules")
    assert one.log.file == "~/log"
    assert find_process_differences(one, two) == ["mcp.instructions.directory"]
    database = loaded.replace(storage=loaded.storage.replace(url="sqlite:///some.db"))
    assert anchor_paths(database, tmp_path).storage.url == f"sqlite:///{tmp_path}/some.db"

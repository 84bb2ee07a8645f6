"""Loading of settings: sources, precedence, and errors."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args, get_origin

import pytest
import yaml

from commonplace.kernel.config.catalog import leaves, type_of, value_of
from commonplace.kernel.config.loading import load
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import (
    ENVIRONMENT_ALIASES,
    WITHOUT_EFFECT,
    FilesSettings,
    Settings,
    StorageSettings,
)

ALL = dict(leaves())


ADDRESSES = {
    "server.trusted_proxies": ("10.0.0.0/8",),
    "server.metrics_addresses": ("10.0.0.9",),
    "storage.url": "postgresql://elsewhere",
    "storage.direct_url": "postgresql://elsewhere",
    "storage.cache_url": "redis://elsewhere",
    "auth.resource_url": "https://elsewhere/mcp",
    "auth.authorization_servers": ("https://elsewhere",),
    "server.allowed_origins": ("https://elsewhere",),
    "mcp.files.search.embedding.endpoint": "https://elsewhere/v1/embeddings",
    "mcp.files.search.rerank.endpoint": "https://elsewhere/v1/rerank",
}


def another(name: str) -> Any:
    """A legal value of a key that is not its default."""
    declared, kind = ALL[name], type_of(name)
    arms = [
        arm
        for arm in (get_args(kind) if type(None) in get_args(kind) else (kind,))
        if arm is not type(None)
    ]
    arm = arms[0]
    if get_origin(arm) is Literal:
        return next(
            choice for choice in get_args(arm) if choice not in (declared.default, "openai")
        )
    if arm is bool:
        return not declared.default
    if arm in (int, float):
        low = declared.minimum if declared.minimum is not None else 0
        return next(arm(value) for value in (low, low + 1) if value != declared.default)
    if name in ADDRESSES:
        return ADDRESSES[name]
    if arm is str:
        return "/elsewhere" if declared.path else "changed"
    if get_origin(arm) is tuple:
        return ("/elsewhere",) if declared.path else ("changed",)
    return {"7": "a secret of sixteen"}


def nested(name: str, value: Any) -> dict[str, Any]:
    for part in reversed(("settings", *name.split("."))):
        value = {part: value}
    return value


def write(path: Path, document: Any) -> Path:
    path.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
    return path


def refused(tmp_path: Path, document: Any) -> CommonplaceError:
    with pytest.raises(CommonplaceError) as caught:
        load(file=write(tmp_path / "c.yaml", document), environ={}, cwd=tmp_path)
    assert caught.value.code.name == "INVALID_CONFIG"
    return caught.value


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_key_is_read_from_the_file_and_says_so(name: str, tmp_path: Path) -> None:
    value = another(name)
    document = nested(name, list(value) if isinstance(value, tuple) else value)
    needed = set()
    if (
        name == "mcp.files.search.rerank.enabled"
    ):  # an external model needs an address and keys to encrypt credentials with
        needed = {"mcp.files.security.encryption_keks", "mcp.files.search.rerank.endpoint"}
        document["settings"]["mcp"]["files"]["search"]["rerank"]["endpoint"] = (
            "https://elsewhere/v1/rerank"
        )
        document["settings"]["mcp"]["files"]["security"] = {
            "encryption_keks": {"1": "a secret of sixteen"}
        }
    if (
        name == "auth.authorization_servers"
    ):  # they are told to clients together with the address they protect
        needed = {"auth.resource_url"}
        document["settings"]["auth"]["resource_url"] = "https://elsewhere/mcp"
    config = load(file=write(tmp_path / "c.yaml", document), environ={}, cwd=tmp_path)
    assert value_of(config.settings, name) == value != ALL[name].default
    assert config.sources[name] == f"file {tmp_path / 'c.yaml'}"
    others = {
        other
        for other in ALL
        if other != name and value_of(config.settings, other) != ALL[other].default
    }
    assert others == needed


@pytest.mark.parametrize("name", sorted(name for name, declared in ALL.items() if declared.env))
def test_every_variable_overrides_the_file(name: str, tmp_path: Path) -> None:
    value = another(name)
    text = (
        ",".join(value)
        if isinstance(value, tuple)
        else ("1" if value else "0")
        if isinstance(value, bool)
        else str(value)
    )
    variable = str(ALL[name].env)
    config = load(environ={variable: text}, cwd=tmp_path)
    assert value_of(config.settings, name) == value
    assert config.sources[name] == f"variable {variable}"


def test_files_settings_never_come_from_the_environment() -> None:
    assert [
        name for name, declared in ALL.items() if name.startswith("mcp.files.") and declared.env
    ] == []


def test_defaults_are_those_of_contract_003_and_the_decisions(tmp_path: Path) -> None:
    files = load(environ={}, cwd=tmp_path).settings.mcp.files
    assert (files.allow_root_wipe, files.list_limit_default, files.list_limit_max) == (
        False,
        256,
        1024,
    )
    assert (files.max_payload_bytes, files.max_file_bytes, files.max_project_bytes) == (
        2_000_000,
        10_000_000,
        100_000_000,
    )
    assert (files.lock_timeout_ms, files.delete_retention_days) == (3000, 30)
    search = files.search
    assert (
        search.enabled,
        search.limit_default,
        search.limit_max,
        search.vector_candidates,
        search.bm25_candidates,
    ) == (
        True,
        5,
        20,
        30,
        30,
    )
    assert (search.rerank.enabled, search.rerank.model, search.rerank.timeout_ms) == (
        False,
        "rerank-v3.5",
        6000,
    )
    assert (
        search.rerank.endpoint == ""
    )  # the decisions: rerank without a configured endpoint is an error
    assert (search.fallback.semantic_weight, search.fallback.lexical_weight) == (None, None)
    index = files.index
    assert (
        index.workers,
        index.batch_size,
        index.retry_max,
        index.retry_backoff_ms,
        index.slo_p95_seconds,
    ) == (2, 20, 5, 1000, 30)
    assert (
        files.security.credential_cache_prefix,
        files.security.credential_cache_ttl_seconds,
    ) == ("mcp:files:cred", 300)


def test_defaults_are_those_of_contract_000(tmp_path: Path) -> None:
    settings = load(environ={}, cwd=tmp_path).settings
    rules, trace = settings.mcp.instructions, settings.trace
    assert (
        rules.mutation_enabled,
        rules.strict_create,
        rules.strict_remove,
        rules.canonical_disable,
    ) == (False, False, False, False)
    assert (
        rules.read_retries,
        rules.read_backoff_ms,
        rules.write_retries,
        rules.write_backoff_ms,
    ) == (3, 8, 3, 8)
    assert (
        rules.usage_flush_ms,
        rules.features,
        rules.usage_enabled,
        rules.agent_id,
        rules.workspace,
    ) == (75, None, True, None, None)
    assert (settings.log.rotate_bytes, trace.max_bytes, trace.allow, trace.deny) == (
        524288,
        65536,
        (),
        (),
    )
    dashboard = settings.dashboard
    assert (dashboard.enabled, dashboard.port, dashboard.host, dashboard.tries) == (
        False,
        8787,
        "127.0.0.1",
        10,
    )


@pytest.mark.parametrize(
    ("text", "enabled"), [("usage", True), ("other", False), ("other, usage", True)]
)
def test_index_features_decides_on_usage_once_it_is_set(
    text: str, enabled: bool, tmp_path: Path
) -> None:
    assert (
        load(environ={"INDEX_FEATURES": text}, cwd=tmp_path).settings.mcp.instructions.usage_enabled
        is enabled
    )


def test_an_alias_counts_unless_the_variable_itself_is_set(tmp_path: Path) -> None:
    assert dict(ENVIRONMENT_ALIASES) == {"INSTRUCTIONS_WORKSPACE": "WORKSPACE_ID"}
    assert (
        load(
            environ={"INSTRUCTIONS_WORKSPACE": "b"}, cwd=tmp_path
        ).settings.mcp.instructions.workspace
        == "b"
    )
    both = load(environ={"WORKSPACE_ID": "a", "INSTRUCTIONS_WORKSPACE": "b"}, cwd=tmp_path)
    assert both.settings.mcp.instructions.workspace == "a"


@pytest.mark.parametrize("name", sorted(WITHOUT_EFFECT))
def test_a_variable_without_effect_changes_nothing(name: str, tmp_path: Path) -> None:
    assert (
        load(environ={name: "1", "HOME": "/h"}, cwd=tmp_path).settings
        == load(environ={"HOME": "/h"}, cwd=tmp_path).settings
    )


def test_an_unknown_key_names_the_nearest(tmp_path: Path) -> None:
    error = refused(tmp_path, {"settings": {"mcp": {"files": {"search": {"limit_maxx": 3}}}}})
    assert error.message.endswith("unknown key settings.mcp.files.search.limit_maxx.")
    assert error.hint == "Did you mean settings.mcp.files.search.limit_max?"
    assert refused(tmp_path, {"settings": {"mpc": {}}}).hint == "Did you mean settings.mcp?"
    assert "settings" in str(refused(tmp_path, {"mcp": {}}).hint)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("mcp.files.max_file_bytes", "big", "whole number"),
        ("mcp.files.max_file_bytes", 0, "the minimum is 1"),
        ("mcp.files.max_file_bytes", True, "whole number"),
        ("mcp.files.search.vector_candidates", 1001, "the maximum is 1000"),
        ("mcp.files.search.enabled", "perhaps", "true or false"),
        ("mcp.files.search", 3, "must be a map"),
        ("auth.mode", "open", "`none` | `keys` | `passthrough`"),
        ("server.toolsets", [1], "list of texts"),
        ("mcp.files.security.encryption_keks", {"70000": "a secret of sixteen"}, "0 to 65535"),
        ("mcp.files.security.encryption_keks", {"1": "short"}, "fewer than 16"),
        (
            "mcp.files.security.encryption_keks",
            {"1": "a secret of sixteen", "01": "a secret of sixteen"},
            "the same number",
        ),
        ("mcp.files.security.credential_cache_prefix", "", "printable characters"),
        ("mcp.files.security.credential_cache_prefix", "two words", "printable characters"),
        ("mcp.files.security.credential_cache_ttl_seconds", 0, "the minimum is 1"),
        ("mcp.files.search.fallback", {"semantic_weight": 0, "lexical_weight": 0}, "weight of 0"),
        ("mcp.files.search.rerank.endpoint", "ftp://models/rerank", "http://HOST/PATH"),
        ("mcp.files.search.rerank.endpoint", "https://models:99999/rerank", "http://HOST/PATH"),
        ("mcp.files.search.rerank.model", " ", "must not be empty"),
        ("mcp.files.search.embedding.endpoint", "models/v1", "http://HOST/PATH"),
        ("mcp.files.search.embedding.timeout_ms", 0, "the minimum is 1"),
        ("mcp.files.search.embedding.dimensions", 0, "the minimum is 1"),
        ("mcp.files.index.slo_p95_seconds", 0, "the minimum is 1"),
        ("limits.key_per_second", float("nan"), "not a finite number"),
        ("limits.call_timeout_seconds", float("inf"), "not a finite number"),
        ("server.allowed_hosts", ["https://example.org"], "without scheme, port or path"),
        ("server.allowed_hosts", ["example.org:8787"], "without scheme, port or path"),
        ("server.allowed_hosts", ["::1"], "without scheme, port or path"),
        ("server.allowed_hosts", ["*"], "without scheme, port or path"),
        ("server.allowed_origins", ["https://app.example.org/"], "SCHEME://HOST"),
        ("server.allowed_origins", ["app.example.org"], "SCHEME://HOST"),
        ("server.allowed_origins", ["https://App.example.org"], "SCHEME://HOST"),
        ("server.allowed_origins", ["*"], "SCHEME://HOST"),
        (
            "auth",
            {"authorization_servers": ["https://login.example.org"]},
            "settings.auth.resource_url is required",
        ),
        ("auth.resource_url", "mcp.example.org", "http://HOST/PATH"),
        ("auth.authorization_servers", ["https://login.example.org", "login"], "http://HOST/PATH"),
    ],
)
def test_a_wrong_value_is_refused_with_its_key(
    key: str, value: Any, said: str, tmp_path: Path
) -> None:
    error = refused(tmp_path, nested(key, value))
    assert said in error.message
    assert f"settings.{key}" in error.message


def test_names_that_requests_have_are_accepted(tmp_path: Path) -> None:
    hosts = ["example.org", "*.example.org", "[::1]", "10.0.0.7", "MY_HOST"]
    origins = [
        "https://app.example.org",
        "http://localhost:5173",
        "http://[::1]:80",
        "vscode-webview://a1b2",
        "null",
    ]
    (tmp_path / "commonplace.yaml").write_text(
        yaml.safe_dump(
            {
                "settings": {
                    "server": {"allowed_hosts": hosts, "allowed_origins": origins},
                    "auth": {"resource_url": "https://a/mcp"},
                }
            }
        )
    )
    server = load(environ={}, cwd=tmp_path).settings.server
    assert (list(server.allowed_hosts), list(server.allowed_origins)) == (hosts, origins)


def test_a_section_that_is_not_a_map_is_refused_by_name(tmp_path: Path) -> None:
    assert ": settings must be a map" in refused(tmp_path, {"settings": [1]}).message


@pytest.mark.parametrize("there", ["folder", "broken link"])
def test_an_unreadable_configuration_file_is_reported(there: str, tmp_path: Path) -> None:
    place = tmp_path / "commonplace.yaml"
    if there == "folder":
        place.mkdir()
    else:
        place.symlink_to(tmp_path / "gone.yaml")
    with pytest.raises(CommonplaceError, match="cannot be read") as error:
        load(environ={}, cwd=tmp_path)
    assert str(place) in error.value.message


def test_a_user_without_a_home_folder_must_name_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(number: int) -> NoReturn:
        raise KeyError(number)

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert load(environ={"COMMONPLACE_HOME": str(tmp_path)}, cwd=tmp_path).settings.data == tmp_path
    with pytest.raises(CommonplaceError, match="no home folder") as error:
        load(environ={}, cwd=tmp_path)
    assert "--data" in str(error.value.hint)


def test_the_home_of_an_unknown_user_is_an_ordinary_path(tmp_path: Path) -> None:
    (tmp_path / "commonplace.yaml").write_text(
        "settings: {mcp: {openapi: {roots: ['~nobody-here/apis']}}}"
    )
    config = load(environ={"COMMONPLACE_HOME": "~nobody-here/data"}, cwd=tmp_path)
    assert config.settings.mcp.openapi.roots == (str(tmp_path / "~nobody-here" / "apis"),)


def test_a_wrong_variable_is_refused_by_name(tmp_path: Path) -> None:
    for environ in (
        {"MCP_ENABLE_MUTATION": "perhaps"},
        {"MCP_READ_RETRIES": "many"},
        {"MCP_DASHBOARD_PORT": "70000"},
    ):
        with pytest.raises(CommonplaceError, match=next(iter(environ))):
            load(environ=environ, cwd=tmp_path)


def test_external_models_need_key_encryption_keys(tmp_path: Path) -> None:
    rerank = {"enabled": True, "endpoint": "http://127.0.0.1:1/v1/rerank"}
    assert "encryption_keks" in refused(tmp_path, nested("mcp.files.search.rerank", rerank)).message
    openai = {"provider": "openai", "model": "m", "endpoint": "http://127.0.0.1:1/v1/embeddings"}
    assert (
        "encryption_keks" in refused(tmp_path, nested("mcp.files.search.embedding", openai)).message
    )
    assert (
        "endpoint"
        in refused(tmp_path, nested("mcp.files.search.embedding", {"provider": "openai"})).message
    )


def test_rerank_without_an_endpoint_is_refused_with_the_address_of_the_contract(
    tmp_path: Path,
) -> None:
    document = nested("mcp.files.search.rerank.enabled", True)
    document["settings"]["mcp"]["files"]["security"] = {
        "encryption_keks": {"1": "a secret of sixteen"}
    }
    message = refused(tmp_path, document).message
    assert "mcp.files.search.rerank.endpoint" in message
    assert "https://oneapi.laisky.com/v1/rerank" in message
    (tmp_path / "home").mkdir()
    for command in (["config", "check"], ["serve"]):
        told = subprocess.run(
            [
                str(Path(sys.executable).with_name("commonplace")),
                "--config",
                str(tmp_path / "c.yaml"),
                *command,
            ],
            env={**os.environ, "COMMONPLACE_HOME": str(tmp_path / "home")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert told.returncode == 2
        assert "https://oneapi.laisky.com/v1/rerank" in told.stderr


def test_an_external_provider_refuses_the_name_of_the_local_model(tmp_path: Path) -> None:
    openai = {"provider": "openai", "endpoint": "http://127.0.0.1:1/v1/embeddings"}
    assert (
        "search.embedding.model names the local model"
        in refused(tmp_path, nested("mcp.files.search.embedding", openai)).message
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("mcp.files.security.encryption_keks", "hunter2-hunter2-hunter2"),
        ("mcp.files.security.encryption_keks", ["hunter2-hunter2-hunter2"]),
        ("mcp.files.search.rerank.endpoint", "https://user:hunter2@models/rerank"),
        ("storage.cache_url", {"redis": "hunter2"}),
        ("storage.cache_url", "http://:hunter2@cache"),
    ],
)
def test_a_secret_in_the_wrong_form_is_refused_without_being_shown(
    key: str, value: Any, tmp_path: Path
) -> None:
    error = refused(tmp_path, nested(key, value))
    assert "hunter2" not in f"{error} {error.hint} {error.details}"


def test_secrets_never_show_in_a_message_or_a_repr(tmp_path: Path) -> None:
    error = refused(tmp_path, nested("mcp.files.security.encryption_keks", {"1": "hunter2"}))
    assert "hunter2" not in f"{error} {error.hint} {error.details}"
    assert "hunter2" not in repr(StorageSettings(url="postgresql://u:hunter2@h/d"))


@pytest.mark.parametrize(
    "text",
    ["settings: [", "settings: {a: 1, a: 2}", "- 1", "settings: 3", b"\xff\xfe".decode("latin-1")],
)
def test_a_broken_file_is_refused_with_its_name(text: str, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_bytes(text.encode("latin-1"))
    with pytest.raises(CommonplaceError, match=r"c\.yaml"):
        load(file=tmp_path / "c.yaml", environ={}, cwd=tmp_path)


def test_an_empty_file_and_empty_sections_are_valid(tmp_path: Path) -> None:
    for text in ("", "settings:\n", "settings:\n  mcp:\n    files:\n"):
        assert (
            load(file=write(tmp_path / "c.yaml", text), environ={}, cwd=tmp_path).settings.mcp.files
            == FilesSettings()
        )


def test_the_file_is_searched_in_the_working_directory_then_in_the_user_folder(
    tmp_path: Path,
) -> None:
    user = tmp_path / "config" / "commonplace"
    user.mkdir(parents=True)
    write(user / "commonplace.yaml", nested("server.port", 1111))
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    here = tmp_path / "here"
    here.mkdir()
    assert load(environ=environ, cwd=here).settings.server.port == 1111
    write(here / "commonplace.yaml", nested("server.port", 2222))
    assert load(environ=environ, cwd=here).settings.server.port == 2222
    asked = write(tmp_path / "asked.yaml", nested("server.port", 3333))
    assert load(file=asked, environ=environ, cwd=here).settings.server.port == 3333
    with pytest.raises(CommonplaceError, match="There is no configuration file"):
        load(file=tmp_path / "absent.yaml", environ=environ, cwd=here)


def test_relative_paths_in_the_file_are_resolved_against_its_folder(tmp_path: Path) -> None:
    document = {
        "settings": {
            "mcp": {"instructions": {"directory": "rules"}, "openapi": {"roots": ["specs"]}}
        }
    }
    mcp = load(file=write(tmp_path / "c.yaml", document), environ={}, cwd=Path("/")).settings.mcp
    assert mcp.instructions.directory == str(tmp_path / "rules")
    assert mcp.openapi.roots == (str(tmp_path / "specs"),)


def test_the_data_folder_is_the_flag_then_the_variable_then_the_platforms(tmp_path: Path) -> None:
    environ = {"COMMONPLACE_HOME": str(tmp_path / "var"), "XDG_DATA_HOME": str(tmp_path / "xdg")}
    assert (
        load(data=tmp_path / "flag", environ=environ, cwd=tmp_path).settings.data
        == tmp_path / "flag"
    )
    assert load(environ=environ, cwd=tmp_path).settings.data == tmp_path / "var"
    del environ["COMMONPLACE_HOME"]
    assert load(environ=environ, cwd=tmp_path).settings.data == tmp_path / "xdg" / "commonplace"


def test_the_instruction_folder_is_the_variable_then_here_then_in_the_data_folder(
    tmp_path: Path,
) -> None:
    environ = {"COMMONPLACE_HOME": str(tmp_path / "data")}
    assert (
        load(environ=environ, cwd=tmp_path).settings.instructions_directory
        == tmp_path / "data" / "instructions"
    )
    (tmp_path / "instructions").mkdir()
    assert (
        load(environ=environ, cwd=tmp_path).settings.instructions_directory
        == tmp_path / "instructions"
    )
    environ["INSTRUCTIONS_DIR"] = str(tmp_path / "rules")
    assert load(environ=environ, cwd=tmp_path).settings.instructions_directory == tmp_path / "rules"


def test_settings_are_frozen_and_copied_by_replace(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    with pytest.raises(AttributeError, match="frozen"):
        settings.data = Path("/")  # type: ignore[misc]
    with pytest.raises(TypeError, match="bogus"):
        FilesSettings(bogus=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="data"):
        Settings()  # type: ignore[call-arg]
    changed = settings.replace(data=Path("/x"))
    assert (changed.data, settings.data) == (Path("/x"), tmp_path)


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("url", "mysql://user:hunter2@host"),
        ("direct_url", "sqlite:///hunter2"),
        ("cache_url", "http://:hunter2@host"),
    ],
)
def test_an_address_of_an_unknown_scheme_is_refused_without_being_shown(
    name: str, address: str, tmp_path: Path
) -> None:
    with pytest.raises(CommonplaceError) as refused:
        load(
            file=write(tmp_path / "c.yaml", nested(f"storage.{name}", address)),
            environ={},
            cwd=tmp_path,
        )
    assert f"settings.storage.{name}" in refused.value.message
    assert "hunter2" not in str(refused.value.as_dict())

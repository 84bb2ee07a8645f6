"""Environment variables of the instructions contract that affect the catalogue."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from piped_program import answers, converse, running

WRITABLE = {"MCP_ENABLE_MUTATION": "1"}


def serve(
    tmp_path: Path, variables: Mapping[str, str], *calls: tuple[str, Mapping[str, Any]]
) -> tuple[list[Any], str]:
    """Bare calls, all at once; results in the order of the calls, or the error objects."""
    ran = converse(tmp_path, variables, [bare(number, *call) for number, call in enumerate(calls)])
    assert ran.returncode == 0
    return [
        outcome(answer) for answer in sorted(answers(ran), key=lambda answer: answer["id"])
    ], ran.stderr


def one_by_one(
    tmp_path: Path, variables: Mapping[str, str], *calls: tuple[str, Mapping[str, Any]]
) -> list[Any]:
    """The same, but each call is sent when the one before has answered."""
    with running(tmp_path, variables) as server:
        return [outcome(server.ask(bare(number, *call))) for number, call in enumerate(calls)]


def bare(number: int, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def outcome(answer: Mapping[str, Any]) -> Any:
    return answer.get("result", answer.get("error"))


def add(entry_id: str, **more: Any) -> tuple[str, dict[str, Any]]:
    entry = {"id": entry_id, "title": entry_id, "body": more.pop("body", "Do it."), **more}
    return "instructions/add", {"entry": entry, "lax": True, "overwrite": False}


def slowest(results: list[Any], method: str) -> float:
    return next(found["maxMs"] for found in results[-1]["methods"] if found["method"] == method)


METRICS = ("metrics/snapshot", {})


def test_mcp_enable_mutation_opens_the_catalogue(tmp_path: Path) -> None:
    (refused,), _ = serve(tmp_path, {}, add("one"))
    assert refused["code"] == -32000
    assert "MCP_ENABLE_MUTATION" in json.dumps(refused)
    (added,), _ = serve(tmp_path, WRITABLE, add("one"))
    assert added["created"] is True


def test_instructions_dir_sets_the_folder_of_the_files(tmp_path: Path) -> None:
    serve(tmp_path, WRITABLE | {"INSTRUCTIONS_DIR": str(tmp_path / "rules")}, add("one"))
    assert (tmp_path / "rules" / "one.json").is_file()
    assert not (tmp_path / "data" / "instructions" / "one.json").exists()


@pytest.mark.parametrize(("strict", "created"), [("0", True), ("1", False)])
def test_strict_create_refuses_to_overwrite_a_missing_entry(
    strict: str, created: bool, tmp_path: Path
) -> None:
    method, params = add("new")
    (answer,), _ = serve(
        tmp_path,
        WRITABLE | {"MCP_INSTRUCTIONS_STRICT_CREATE": strict},
        (method, {**params, "overwrite": True}),
    )
    assert (answer.get("created") is True) is created


@pytest.mark.parametrize(("strict", "left"), [("0", 0), ("1", 1)])
def test_strict_remove_removes_nothing_if_an_id_is_missing(
    strict: str, left: int, tmp_path: Path
) -> None:
    answers = one_by_one(
        tmp_path,
        WRITABLE | {"MCP_INSTRUCTIONS_STRICT_REMOVE": strict},
        add("one"),
        ("instructions/remove", {"ids": ["one", "missing"]}),
        ("instructions/list", {}),
    )
    assert answers[2]["count"] == left


def test_canonical_disable_hashes_bodies_as_they_are(tmp_path: Path) -> None:
    body = "First line.   \r\nSecond line.\r\n"
    hashes = set()
    for value in ("0", "1"):
        folder = tmp_path / value
        folder.mkdir()
        (added,), _ = serve(
            folder, WRITABLE | {"MCP_CANONICAL_DISABLE": value}, add("one", body=body)
        )
        hashes.add(added["sourceHash"])
    assert len(hashes) == 2


def test_governance_hashes_can_end_with_a_newline(tmp_path: Path) -> None:
    serve(tmp_path, WRITABLE, add("one"))
    hashes = {
        serve(tmp_path, {"GOV_HASH_TRAILING_NEWLINE": value}, ("instructions/governanceHash", {}))[
            0
        ][0]["governanceHash"]
        for value in "01"
    }
    assert len(hashes) == 2


@pytest.mark.parametrize(
    ("retries", "backoff", "least", "most"),
    [("0", "2000", 0, 1900), ("1", "2000", 2000, 12_000), ("2", "700", 2100, 12_000)],
)
def test_atomic_writes_are_retried_with_backoff(
    retries: str, backoff: str, least: float, most: float, tmp_path: Path
) -> None:
    (tmp_path / "data" / "instructions" / "one.json" / "in-the-way").mkdir(parents=True)
    variables = WRITABLE | {
        "MCP_ATOMIC_WRITE_RETRIES": retries,
        "MCP_ATOMIC_WRITE_BACKOFF_MS": backoff,
    }
    results = one_by_one(tmp_path, variables, ("instructions/list", {}), add("one"), METRICS)
    assert results[1].get("created") is not True
    assert least <= slowest(results, "instructions/add") <= most


@pytest.mark.parametrize(
    ("retries", "backoff", "least", "most"), [("0", "4000", 0, 3900), ("1", "4000", 4000, 20_000)]
)
def test_reads_are_retried_with_backoff(
    retries: str, backoff: str, least: float, most: float, tmp_path: Path, monkeypatch: Any
) -> None:
    folder = tmp_path / "data" / "instructions"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as unreadable:
        unreadable.bind("broken.json")
        variables = {"MCP_READ_RETRIES": retries, "MCP_READ_BACKOFF_MS": backoff}
        results = one_by_one(tmp_path, variables, ("instructions/get", {"id": "broken"}), METRICS)
    assert least <= slowest(results, "instructions/get") <= most


def test_usage_is_rate_limited_unless_disabled(tmp_path: Path) -> None:
    serve(tmp_path, WRITABLE, add("one"))
    uses = [("usage/track", {"id": "one"})] * 40
    limited, _ = serve(tmp_path, {}, *uses)
    assert any(answer.get("rateLimited") for answer in limited)
    free, _ = serve(tmp_path, {"MCP_DISABLE_USAGE_RATE_LIMIT": "1"}, *uses)
    assert not any(answer.get("rateLimited") for answer in free)


def snapshot(tmp_path: Path) -> Path | None:
    return next(tmp_path.rglob("usage-snapshot.json"), None)


def test_a_first_count_is_clamped_unless_disabled(tmp_path: Path) -> None:
    one_by_one(tmp_path, WRITABLE, add("one"), ("usage/track", {"id": "one"}))
    stored = snapshot(tmp_path)
    assert stored is not None
    stored.write_text(json.dumps({"one": {"usageCount": 50}}))
    counts = {
        value: serve(tmp_path, {"MCP_DISABLE_USAGE_CLAMP": value}, ("usage/hotset", {}))[0][0][
            "items"
        ][0]["usageCount"]
        for value in "01"
    }
    assert counts == {"0": 1, "1": 50}


def test_usage_flush_ms_delays_the_snapshot(tmp_path: Path) -> None:
    serve(tmp_path, WRITABLE, add("one"))
    with running(tmp_path, {"MCP_USAGE_FLUSH_MS": "60000"}) as server:
        counted = [
            server.ask(bare(number, "usage/track", {"id": "one"}))["result"]["usageCount"]
            for number in range(5)
        ]
        stored = snapshot(tmp_path)
        written = json.loads(stored.read_text())["one"]["usageCount"] if stored is not None else 0
    assert max(counted) == 5
    assert written < 5
    stored = snapshot(tmp_path)
    assert stored is not None
    assert json.loads(stored.read_text())["one"]["usageCount"] == 5


@pytest.mark.parametrize(("features", "disabled"), [("", True), ("other", True), ("usage", False)])
def test_index_features_switches_usage(features: str, disabled: bool, tmp_path: Path) -> None:
    serve(tmp_path, WRITABLE, add("one"))
    (answer,), _ = serve(tmp_path, {"INDEX_FEATURES": features}, ("usage/track", {"id": "one"}))
    assert (answer == {"featureDisabled": True}) is disabled


def test_the_agent_and_the_workspace_are_written_into_new_entries(tmp_path: Path) -> None:
    for variables, workspace in (
        ({"MCP_AGENT_ID": "agent-7", "WORKSPACE_ID": "ws-1"}, "ws-1"),
        ({"MCP_AGENT_ID": "agent-7", "INSTRUCTIONS_WORKSPACE": "ws-2"}, "ws-2"),
    ):
        answers = one_by_one(
            tmp_path, WRITABLE | variables, add(workspace), ("instructions/get", {"id": workspace})
        )
        assert (answers[1]["item"]["createdByAgent"], answers[1]["item"]["sourceWorkspace"]) == (
            "agent-7",
            workspace,
        )


def test_history_and_audit_name_the_agent(tmp_path: Path) -> None:
    batch = (
        "instructions/batch",
        {
            "operations": [
                {"action": "list"},
                {"action": "add", "entry": {"id": "two", "body": "x"}, "lax": True},
            ]
        },
    )
    reads = ("instructions/batch", {"operations": [{"action": "list"}]})
    history = ("instructions/dispatch", {"action": "history", "id": "one"})
    answers = one_by_one(
        tmp_path, WRITABLE | {"MCP_AGENT_ID": "agent-7"}, add("one"), batch, reads, history
    )
    assert [change["agent"] for change in answers[-1]["changes"]] == ["agent-7"]
    lines = [
        json.loads(line)
        for path in sorted(tmp_path.rglob("chains/*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    calls = [line for line in lines if line.get("type") == "call"]
    assert [(line["tool"], line["agent"]) for line in calls] == [
        ("instructions_add", "agent-7"),
        ("instructions_batch", "agent-7"),
    ]


def test_graph_variables_change_its_edges(tmp_path: Path) -> None:
    entries = [add(name, categories=["ai"]) for name in ("one", "two", "three")]
    serve(tmp_path, WRITABLE, *entries)

    def kinds(variables: Mapping[str, str]) -> tuple[set[str], Any]:
        (graph,), _ = serve(tmp_path, variables, ("graph/export", {}))
        return {edge["type"] for edge in graph["edges"]}, graph["meta"].get("notes")

    assert kinds({})[0] == {"primary", "category"}
    assert kinds({"GRAPH_INCLUDE_PRIMARY_EDGES": "0"})[0] == {"category"}
    capped, notes = kinds({"GRAPH_LARGE_CATEGORY_CAP": "2"})
    assert capped == {"primary"}
    assert notes


def test_catalogue_diagnostics_go_to_stderr(tmp_path: Path) -> None:
    serve(tmp_path, WRITABLE, add("one"))
    _, errors = serve(
        tmp_path, {"MCP_CATALOG_DIAG": "1"}, ("instructions/list", {"expectId": "one"})
    )
    listed = next(line for line in errors.splitlines() if line.startswith("[trace:list"))
    data = json.loads(listed.partition(" ")[2])["data"]
    assert {
        "expectId",
        "repairedVisibility",
        "lateMaterialized",
        "attemptedReload",
        "attemptedLate",
        "expectOnDisk",
        "expectInCatalog",
    } <= set(data)
    _, errors = serve(tmp_path, {"MCP_CATALOG_FILE_TRACE": "1"}, ("instructions/list", {}))
    assert re.search(r"^\[trace:catalog:file\] .*one\.json", errors, re.MULTILINE)
    _, errors = serve(tmp_path, {}, ("instructions/list", {"expectId": "one"}))
    assert [
        line for line in errors.splitlines() if "slow call" not in line
    ] == []  # a loaded machine says so

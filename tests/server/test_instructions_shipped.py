"""The shipped program's answers on the wire: codes, data, structured content, traces."""

from __future__ import annotations

import json
from pathlib import Path

from instruction_server import Server


def test_codes_and_data_of_the_contract(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        server.add("a", "Body")
        unknown = server.error("instructions/dispatch", action="fly")
        assert (unknown["code"], unknown["data"]["action"]) == (-32601, "fly")
        assert server.error("instructions/fly")["code"] == -32601
        assert server.error("instructions/history", id="a")["code"] == -32601  # ours: no bare name
        wrong = server.error("instructions/dispatch", action="get")
        assert (wrong["code"], wrong["data"]["action"]) == (-32602, "get")
        assert wrong["data"]["validation"]
        assert server.error("instructions/batch", operations=[{"action": "list"}] * 101)["code"] == -32001
        assert server.error("instructions/query", limit=1001)["code"] == -32001
        assert server.error("instructions/governanceUpdate", id="a", patch={"status": "great"})["code"] == -32002
        mismatch = server.error("instructions/remove", ids=["a"], expectedHash="0" * 64)
        assert (mismatch["code"], bool(mismatch["data"]["suggestion"])) == (-32003, True)
        (server.folder / "gates.json").write_text("{")
        assert server.error("gates/evaluate")["code"] == -32002


def test_a_refused_entry_is_a_result_both_ways(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        bare = server.call("instructions/add", id="my-instruction", body="Content")
        assert (bare["created"], bare["error"]) == (False, "missing entry")
        server.call("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "1"})
        wrapped = server.call("tools/call", name="instructions/add", arguments={"id": "my-instruction", "body": "Content"})
        assert wrapped["isError"] is True
        assert wrapped["structuredContent"]["error"] == "missing entry"
        assert json.loads(wrapped["content"][0]["text"]) == wrapped["structuredContent"]


def test_mutation_is_off_by_default(tmp_path: Path) -> None:
    with Server(tmp_path, MCP_ENABLE_MUTATION="0") as server:
        refused = server.error("instructions/add", entry={"id": "a", "body": "x"}, lax=True)
        assert refused["code"] == -32000
        assert "MCP_ENABLE_MUTATION" in refused["data"]["suggestion"]
        inside = server.call("instructions/batch", operations=[{"action": "remove", "ids": ["a"]}])
        assert inside["results"][0]["error"]["code"] == -32000
        assert server.call("instructions/capabilities")["mutationEnabled"] is False


def test_traces_tell_of_repairs(tmp_path: Path) -> None:
    with Server(tmp_path, MCP_CATALOG_DIAG="1", MCP_CATALOG_FILE_TRACE="1") as server:
        server.add("a", "Body")
        (server.folder / "late.json").write_text(json.dumps({"id": "late", "body": "x"}))
        assert server.call("instructions/list", expectId="late")["count"] == 2
        server.call("instructions/getEnhanced", id="late")
    lines = (tmp_path / "stderr.txt").read_text().splitlines()
    listed = [json.loads(line.split(" ", 1)[1])["data"] for line in lines if line.startswith("[trace:list]")]
    assert listed[0]["expectId"] == "late"
    assert {"repairedVisibility", "attemptedReload", "attemptedLate", "lateMaterialized", "expectOnDisk", "expectInCatalog"} <= listed[
        0
    ].keys()
    assert any(line.startswith("[trace:catalog:load]") for line in lines)
    assert any(line.startswith("[trace:catalog:file]") for line in lines)

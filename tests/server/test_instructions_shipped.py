"""Wire answers of the instruction toolset: codes, data, structured content, traces."""

from __future__ import annotations

import json
from pathlib import Path

from conformance.program import serve_http
from instruction_server import Server

# the VS Code example of the instructions contract
VSCODE = {"protocolVersion": "1.0.0", "capabilities": {"tools": True, "logging": True}}


def test_errors_have_the_codes_and_data_of_the_contract(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        server.add("a", "Body")
        unknown = server.error("instructions/dispatch", action="fly")
        assert (unknown["code"], unknown["data"]["action"]) == (-32601, "fly")
        assert server.error("instructions/fly")["code"] == -32601
        assert server.error("instructions/history", id="a")["code"] == -32601  # ours: no bare name
        wrong = server.error("instructions/dispatch", action="get")
        assert (wrong["code"], wrong["data"]["action"]) == (-32602, "get")
        assert wrong["data"]["validation"]
        assert (
            server.error("instructions/batch", operations=[{"action": "list"}] * 101)["code"]
            == -32001
        )
        assert server.error("instructions/query", limit=1001)["code"] == -32001
        assert (
            server.error("instructions/governanceUpdate", id="a", patch={"status": "great"})["code"]
            == -32002
        )
        mismatch = server.error("instructions/remove", ids=["a"], expectedHash="0" * 64)
        assert (mismatch["code"], bool(mismatch["data"]["suggestion"])) == (-32003, True)
        (server.folder / "gates.json").write_text("{")
        assert server.error("gates/evaluate")["code"] == -32002


def test_a_refused_entry_is_a_result_both_ways(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        bare = server.call("instructions/add", id="my-instruction", body="Content")
        assert (bare["created"], bare["error"]) == (False, "missing entry")
        server.call(
            "initialize",
            protocolVersion="2025-11-25",
            capabilities={},
            clientInfo={"name": "t", "version": "1"},
        )
        wrapped = server.call(
            "tools/call",
            name="instructions/add",
            arguments={"id": "my-instruction", "body": "Content"},
        )
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


def test_traces_report_repairs(tmp_path: Path) -> None:
    with Server(tmp_path, MCP_CATALOG_DIAG="1", MCP_CATALOG_FILE_TRACE="1") as server:
        server.add("a", "Body")
        (server.folder / "late.json").write_text(json.dumps({"id": "late", "body": "x"}))
        assert server.call("instructions/list", expectId="late")["count"] == 2
        server.call("instructions/getEnhanced", id="late")
    lines = (tmp_path / "stderr.txt").read_text().splitlines()
    listed = [
        json.loads(line.split(" ", 1)[1])["data"]
        for line in lines
        if line.startswith("[trace:list]")
    ]
    assert listed[0]["expectId"] == "late"
    assert {
        "repairedVisibility",
        "attemptedReload",
        "attemptedLate",
        "lateMaterialized",
        "expectOnDisk",
        "expectInCatalog",
    } <= listed[0].keys()
    assert any(line.startswith("[trace:catalog:load]") for line in lines)
    assert any(line.startswith("[trace:catalog:file]") for line in lines)


def test_agents_get_compact_items_and_other_callers_the_contract_shape(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        server.add("a", "Never push with force. " * 100)
        server.call(
            "initialize",
            protocolVersion="2025-11-25",
            capabilities={},
            clientInfo={"name": "t", "version": "1"},
        )
        for name, arguments in (("list", {}), ("search", {"q": "push"}), ("query", {})):
            result = server.call("tools/call", name=f"instructions_{name}", arguments=arguments)
            compact = result["structuredContent"]["items"][0]
            assert "body" not in compact
            assert 0 < len(compact["snippet"]) <= 300
            assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
            dispatched = server.call(
                "tools/call", name="instructions_dispatch", arguments={"action": name, **arguments}
            )
            assert "body" not in dispatched["structuredContent"]["items"][0]
            letter = (
                server.call(f"instructions/{name}", **arguments),
                server.call("instructions/dispatch", action=name, **arguments),
                server.call("tools/call", name=f"instructions/{name}", arguments=arguments)[
                    "structuredContent"
                ],
                server.call(
                    "tools/call", name=f"instructions_{name}", arguments={**arguments, "full": True}
                )["structuredContent"],
            )
            assert all(answer["items"][0]["body"].startswith("Never push") for answer in letter)
            assert all("snippet" not in answer["items"][0] for answer in letter)


def test_initialize_of_the_contract_example_is_accepted(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        assert server.call("initialize", **VSCODE)["protocolVersion"] == "2025-11-25"
        server.add("a", "Body")
        found = server.call(
            "tools/call",
            name="instructions/dispatch",
            arguments={"action": "search", "q": "body", "limit": 50},
        )
        assert found["structuredContent"]["items"][0]["body"] == "Body"
        assert server.error("initialize", **VSCODE, clientInfo={"name": 5})["code"] == -32602
    with serve_http(tmp_path / "http") as served:
        status, headers, body = served.post(
            "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": VSCODE}
        )
        assert status == 200, body
        assert b"serverInfo" in body
        session = {"Mcp-Session-Id": headers["mcp-session-id"]}
        served.post("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, session)
        status, _, body = served.post(
            "/mcp", {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, session
        )
        assert (status, b"instructions_dispatch" in body) == (200, True)

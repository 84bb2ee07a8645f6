"""Flags and headers refuse what they exclude, under every name, over stdio and HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conformance.program import Served, serve_http
from transport_clients import Http, Stdio

from commonplace.bootstrap.app import build
from commonplace.cli.profiles import CORE
from commonplace.dispatch.tool import Tool
from commonplace.instructions.names import ACTIONS, tool_name
from commonplace.kernel.auth import Scope
from commonplace.kernel.settings import Settings

METHOD_NOT_FOUND = -32601
REFUSALS = frozenset({"TOOL_EXCLUDED", "READ_ONLY"})
MUTATION = {"MCP_ENABLE_MUTATION": "1"}
Refusal = str | None


@dataclass(frozen=True)
class Narrowing:
    """One way to narrow, as flags and as headers, and what it must refuse: written down apart
    from the product.
    """

    toolsets: str = ""
    tools: str = ""
    exclude: str = ""
    read_only: bool = False

    @property
    def flags(self) -> list[str]:
        given = {
            "--toolsets": self.toolsets,
            "--tools": self.tools,
            "--exclude-tools": self.exclude,
        }
        return [part for flag, value in given.items() if value for part in (flag, value)] + [
            "--read-only"
        ] * self.read_only

    @property
    def headers(self) -> dict[str, str]:
        given = {
            "X-MCP-Toolsets": self.toolsets,
            "X-MCP-Tools": self.tools,
            "X-MCP-Exclude-Tools": self.exclude,
        }
        return {name: value for name, value in given.items() if value} | (
            {"X-MCP-Readonly": "true"} if self.read_only else {}
        )

    def refusal(self, tool: Tool, through: Tool | None = None) -> Refusal:
        names = {tool.name, *tool.aliases, *tool.bare}
        toolsets, tools = (
            set(filter(None, self.toolsets.split(","))),
            set(filter(None, self.tools.split(","))),
        )
        if names & set(self.exclude.split(",")):
            return "TOOL_EXCLUDED"
        offered = (
            tool.toolset in toolsets
            or names & tools
            or (through is not None and through.name in tools)
        )
        if (toolsets or tools) and not offered:
            return "TOOL_EXCLUDED"
        return (
            "READ_ONLY"
            if self.read_only and not tool.read_only and not callable(tool.scope)
            else None
        )


NARROWINGS = {
    "toolsets": Narrowing(toolsets="files,memory"),
    "tools": Narrowing(tools="file_read,instructions/get,oas_validate"),
    "dispatcher": Narrowing(tools="instructions_dispatch", exclude="instructions_list"),
    "exclude": Narrowing(exclude="file_write,instructions/add,validate,usage_track,health_check"),
    "mixed": Narrowing(
        toolsets="instructions,openapi", tools="file_read", exclude="instructions_search"
    ),
    "read-only": Narrowing(read_only=True),
}
ALL = pytest.mark.parametrize("narrowing", NARROWINGS.values(), ids=NARROWINGS.keys())


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Tool, ...]]:
    with build(Settings(data=tmp_path_factory.mktemp("registry")), environ={}) as app:
        yield app.registry.all()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_http(tmp_path_factory.mktemp("narrowed"), MUTATION) as served:
        yield served


def code_in(answer: Mapping[str, Any]) -> str | None:
    """The stable error code of an answer to tools/call or to a bare method."""
    if "error" in answer:
        data = answer["error"].get("data")
        return str(data["code"]) if isinstance(data, dict) and "code" in data else None
    result = answer["result"]
    if not (isinstance(result, dict) and result.get("isError")):
        return None
    shown = json.loads(result["content"][-1]["text"])
    return str(shown["error"]["code"]) if isinstance(shown.get("error"), dict) else None


def check(answer: Mapping[str, Any], expected: Refusal, what: str) -> None:
    code = code_in(answer)
    assert (code if code in REFUSALS else None) == expected, f"{what}: {answer}"


def check_all(
    tools: tuple[Tool, ...],
    narrowing: Narrowing,
    call: Callable[[str, Mapping[str, Any]], Mapping[str, Any]],
    bare: Callable[[str, Mapping[str, Any]], Mapping[str, Any]],
) -> None:
    """Every tool by each of its names and as an action, with arguments that nothing takes: a
    refusal comes before they are read.
    """
    wrong = {"no such argument": 1}
    by_name = {tool.name: tool for tool in tools}
    for tool in tools:
        expected = narrowing.refusal(tool)
        for name in (tool.name, *tool.aliases, *tool.bare):
            check(call(name, wrong), expected, name)
        for method in tool.bare:
            answer = bare(method, wrong)
            check(answer, expected, f"bare {method}")
            if expected is not None:
                assert answer["error"]["code"] == METHOD_NOT_FOUND
    dispatcher, batch = by_name["instructions_dispatch"], by_name["instructions_batch"]
    for action in ACTIONS:
        tool = by_name[tool_name(action)]
        expected = narrowing.refusal(dispatcher) or narrowing.refusal(tool, dispatcher)
        check(
            call("instructions_dispatch", {"action": action, **wrong}), expected, f"action {action}"
        )
        answer = bare("instructions/dispatch", {"action": action, **wrong})
        check(answer, expected, f"bare action {action}")
        if expected is not None:
            assert answer["error"]["code"] == METHOD_NOT_FOUND
        if action == "batch" or narrowing.refusal(batch) is not None:
            continue
        answer = bare("instructions/batch", {"operations": [{"action": action, **wrong}]})
        if "result" in answer:  # a batch that writes is refused whole where writing is
            answer = {"result": None, **answer["result"]["results"][0]}
            answer = answer if isinstance(answer.get("error"), dict) else {"result": None}
        check(answer, narrowing.refusal(tool, batch), f"action {action} in a batch")


@ALL
def test_flags_refuse_what_they_exclude_over_stdio(
    narrowing: Narrowing, tools: tuple[Tool, ...], tmp_path: Path
) -> None:
    client = Stdio(tmp_path / "data", *narrowing.flags, extra=MUTATION).open()
    try:
        check_all(
            tools,
            narrowing,
            lambda name, arguments: client.request(
                "tools/call", {"name": name, "arguments": arguments}
            ),
            client.bare,
        )
    finally:
        client.close()


@ALL
def test_flags_refuse_what_they_exclude_over_http(
    narrowing: Narrowing, tools: tuple[Tool, ...], tmp_path: Path
) -> None:
    with serve_http(tmp_path / "data", MUTATION, *narrowing.flags) as narrowed:
        client = Http(narrowed).open()
        check_all(
            tools,
            narrowing,
            lambda name, arguments: client.request(
                "tools/call", {"name": name, "arguments": arguments}
            ),
            client.bare,
        )


@ALL
def test_headers_refuse_what_they_exclude(
    narrowing: Narrowing, tools: tuple[Tool, ...], server: Served
) -> None:
    client = Http(server).open()
    client.headers |= narrowing.headers

    def bare(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer: dict[str, Any] = json.loads(server.post("/rpc", body, narrowing.headers)[2])
        return answer

    check_all(
        tools,
        narrowing,
        lambda name, arguments: client.request(
            "tools/call", {"name": name, "arguments": arguments}
        ),
        bare,
    )


def batched(
    server: Served, narrowing: Narrowing, calls: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The answers of one JSON-RPC batch in a session of the protocol that had them."""
    client = Http(server)
    client.headers = {"MCP-Protocol-Version": "2025-03-26"}
    client.open()
    numbered = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        for number, params in enumerate(calls)
    ]
    answers: list[dict[str, Any]] = json.loads(
        server.post("/mcp", numbered, {**client.headers, **narrowing.headers})[2]
    )
    return answers


@ALL
def test_headers_apply_in_streams_and_batches(
    narrowing: Narrowing, tools: tuple[Tool, ...], server: Served
) -> None:
    """A call with a progress token goes through the SDK, a batch through the core: both know the
    headers.
    """
    client = Http(server).open()
    client.headers |= narrowing.headers
    chosen = [
        tool
        for tool in tools
        if tool.name
        in (
            "file_read",
            "file_write",
            "instructions_add",
            "oas_validate",
            "rekall_add",
            "usage_track",
        )
    ]
    calls = [{"name": tool.name, "arguments": {"no such argument": 1}} for tool in chosen]
    for tool, call in zip(chosen, calls, strict=True):
        check(
            client.request("tools/call", {**call, "_meta": {"progressToken": tool.name}}),
            narrowing.refusal(tool),
            tool.name,
        )
    for tool, answer in zip(chosen, batched(server, narrowing, calls), strict=True):
        check(answer, narrowing.refusal(tool), f"{tool.name} in a batch")


def test_two_headers_of_one_name_both_count(server: Served) -> None:
    import http.client

    link = http.client.HTTPConnection(server.address, timeout=30)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "instructions/list"}).encode()
    link.putrequest("POST", "/rpc")
    for name, value in (("Content-Type", "application/json"), ("Content-Length", str(len(body)))):
        link.putheader(name, value)
    for value in ("instructions_list", "file_read"):
        link.putheader("X-MCP-Exclude-Tools", value)
    link.endheaders(body)
    assert code_in(json.loads(link.getresponse().read())) == "TOOL_EXCLUDED"
    link.close()


def test_an_extended_tool_of_an_offered_toolset_stays_callable(server: Served) -> None:
    client = Http(server).open()
    client.headers |= {"X-MCP-Toolsets": "instructions"}
    listed = {tool["name"] for tool in client.request("tools/list")["result"]["tools"]}
    assert "instructions_categories" not in listed
    assert (
        code_in(client.request("tools/call", {"name": "instructions_categories", "arguments": {}}))
        is None
    )


def test_a_request_cannot_widen_what_the_server_offers(tmp_path: Path) -> None:
    with serve_http(tmp_path, MUTATION, "--toolsets", "memory") as narrowed:
        client = Http(narrowed).open()
        for headers in ({"X-MCP-Toolsets": "files"}, {"X-MCP-Tools": "file_list"}):
            client.headers |= headers
            assert (
                code_in(client.request("tools/call", {"name": "file_list", "arguments": {}}))
                == "TOOL_EXCLUDED"
            )


@pytest.mark.parametrize("profile", ["core", "rekall", "oastools"])
def test_a_profile_only_lists(profile: str, tmp_path: Path) -> None:
    client = Stdio(tmp_path / "data", "--profile", profile, "--exclude-tools", "file_delete").open()
    try:
        assert (
            len(client.request("tools/list")["result"]["tools"])
            == {"core": len(CORE), "rekall": 9, "oastools": 17}[profile]
        )
        assert (
            code_in(
                client.request(
                    "tools/call", {"name": "file_list", "arguments": {"project": "p", "path": "/"}}
                )
            )
            not in REFUSALS
        )
        assert code_in(client.bare("instructions/list")) is None
        assert (
            code_in(client.request("tools/call", {"name": "file_delete", "arguments": {}}))
            == "TOOL_EXCLUDED"
        )
    finally:
        client.close()


def test_a_profile_that_contradicts_the_toolsets_is_refused(tmp_path: Path) -> None:
    client = Stdio(tmp_path / "data", "--profile", "rekall", "--toolsets", "files")
    assert client.process.wait(30) != 0
    assert "server.toolsets" in client.errors.read_text()


def test_a_stored_file_cannot_be_read_as_a_document_if_file_read_is_excluded(
    tmp_path: Path,
) -> None:
    with serve_http(tmp_path, MUTATION) as served:
        client = Http(served).open()
        spec = json.dumps({"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": {}})
        written = {"project": "p", "path": "/a.json", "content": spec}
        assert (
            code_in(client.request("tools/call", {"name": "file_write", "arguments": written}))
            is None
        )
        call = {"name": "oas_parse", "arguments": {"spec": {"ref": "file:p/a.json"}}}
        assert code_in(client.request("tools/call", call)) is None
        client.headers |= {"X-MCP-Toolsets": "openapi"}
        assert code_in(client.request("tools/call", call)) == "TOOL_EXCLUDED"


def test_the_graph_for_dashboards_is_narrowed_too(tmp_path: Path) -> None:
    import urllib.error
    import urllib.request

    with (
        serve_http(tmp_path, None, "--exclude-tools", "graph_export") as served,
        pytest.raises(urllib.error.HTTPError) as refused,
    ):
        urllib.request.urlopen(f"http://{served.address}/api/graph/mermaid", timeout=30)
    assert refused.value.code == 403


def test_read_only_refuses_every_change(tools: tuple[Tool, ...], server: Served) -> None:
    """Also the two that need no write scope, and writing by arguments."""
    client = Http(server).open()
    client.headers |= {"X-MCP-Readonly": "1"}
    changing = [tool for tool in tools if not tool.read_only and tool.scope is Scope.READ]
    assert {tool.name for tool in changing} == {"feedback_submit", "usage_track"}
    entry = {
        "id": "a",
        "title": "A",
        "body": "b",
        "priority": 1,
        "audience": "all",
        "requirement": "optional",
    }
    add = {"action": "add", "entry": entry, "lax": True}
    for name, arguments in (
        ("usage_track", {"id": "a"}),
        ("instructions_dispatch", add),
        ("instructions_dispatch", {"action": "usage/track", "id": "a"}),
        ("instructions_groom", {}),
    ):
        assert (
            code_in(client.request("tools/call", {"name": name, "arguments": arguments}))
            == "READ_ONLY"
        ), name
    tracked = {"action": "usage/track", "id": "a"}
    operations = [
        tracked,
        add,
        {"action": "groom"},
        {"action": "groom", "mode": {"dryRun": True}},
        {"action": "list"},
    ]
    answer = client.request(
        "tools/call", {"name": "instructions_batch", "arguments": {"operations": operations}}
    )
    results = answer["result"]["structuredContent"]["results"]  # each operation for itself
    assert [result.get("error", {}).get("data", {}).get("code") for result in results] == [
        "READ_ONLY"
    ] * 3 + [None] * 2

"""One local server for many clients: attaching, isolation, races, ends and recovery."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conformance.program import COMMONPLACE, environment
from local_server import (
    RawConnection,
    alive,
    command,
    data_folder,
    kill,
    server_pid,
    wait_until,
)
from transport_clients import HANDSHAKE, META, TOOLS, Stdio

from commonplace import __version__
from commonplace.cli.local.state import find_server

MOST_KILLS = 6


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    with data_folder(tmp_path / "data") as folder:
        yield folder


def attach(data: Path, *flags: str, extra: dict[str, str] | None = None) -> Stdio:
    return Stdio(data, "--attach", *flags, extra=extra)


def call(client: Stdio, tool: str, arguments: Any) -> Any:
    return client.request("tools/call", {"name": tool, "arguments": arguments})["result"]


def error_code(result: Any) -> str:
    assert result["isError"] is True
    return str(json.loads(result["content"][0]["text"])["error"]["code"])


def succeeds(result: Any) -> bool:
    return not result.get("isError")


def has_passed_on(client: Stdio) -> bool:
    """Whether the relay has read what the client sent, and waits for more."""
    assert client.process.stdin is not None
    unread = fcntl.ioctl(client.process.stdin, termios.FIONREAD, bytes(4))
    state = Path(f"/proc/{client.process.pid}/stat").read_text().rpartition(")")[2].split()[0]
    return int.from_bytes(unread, sys.byteorder) == 0 and state == "S"


def close_all(clients: list[Stdio]) -> None:
    for client in clients:
        client.close()


def test_clients_share_a_server_and_keep_their_own_options(data: Path) -> None:
    plain = attach(data).open()
    narrow = attach(data, "--read-only", "--toolsets", "sample").open()
    open_ = attach(data, "--profile", "rekall", extra={"MCP_ENABLE_MUTATION": "1"}).open()
    pids = {server_pid(data)}
    entry = {
        "entry": {
            "id": "a",
            "title": "A",
            "body": "Do it.",
            "priority": 5,
            "audience": "all",
            "requirement": "optional",
            "categories": ["a"],
        }
    }
    assert error_code(call(plain, "instructions_add", entry)) == "MUTATION_DISABLED"
    assert succeeds(call(open_, "instructions_add", entry))
    assert error_code(call(narrow, "instructions_get", {"id": "a"})) == "TOOL_EXCLUDED"
    assert error_code(call(narrow, "put", {"a": 1, "b": 2})) == "READ_ONLY"
    assert call(plain, "put", {"a": 1, "b": 2})["structuredContent"] == {"sum": 3}
    listed = {len(c.request("tools/list")["result"]["tools"]) for c in (plain, narrow, open_)}
    assert len(listed) == 3
    for client, enabled in ((plain, False), (open_, True)):
        answer = call(client, "instructions_capabilities", {})
        assert answer["structuredContent"]["mutationEnabled"] is enabled
    status = command(data, "up", "--status", "--json")
    assert (status["clients"], {status["pid"]}) == (3, pids)
    assert stat.S_IMODE((data / "server.sock").stat().st_mode) == 0o600
    close_all([plain, narrow, open_])


def test_a_client_with_a_key_is_its_owner_and_a_wrong_key_is_refused(data: Path) -> None:
    key = command(
        data, "keys", "add", "--tenant", "team", "--label", "ann", "--scope", "read", "--json"
    )["key"]
    reader = attach(data, extra={"COMMONPLACE_KEY": key}).open()
    assert error_code(call(reader, "put", {"a": 1, "b": 2})) == "SCOPE_REQUIRED"
    reader.close()
    wrong = attach(data, extra={"COMMONPLACE_KEY": "cp_wrong"})
    assert wrong.process.wait(20) == 4
    assert "is not valid" in wrong.errors.read_text()
    wrong.close()


def test_each_client_starts_relative_paths_at_its_own_folder(data: Path, tmp_path: Path) -> None:
    document = '{"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {}}'
    clients = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.json").write_text(document)
        client = Stdio.__new__(Stdio)
        client.errors, client.ids = folder / "stderr.txt", 0
        client.process = subprocess.Popen(
            [COMMONPLACE, "serve", "--attach"],
            env=environment(data, TOOLS),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=client.errors.open("wb"),
            cwd=folder,
        )
        clients.append(client.open())
    first, second = clients
    assert succeeds(call(first, "oas_parse", {"spec": {"file": "one.json"}}))
    assert not succeeds(call(second, "oas_parse", {"spec": {"file": "one.json"}}))
    written = call(
        second, "oas_convert", {"spec": {"file": "two.json"}, "target": "3.0", "output": "out.json"}
    )
    assert succeeds(written), written
    assert (tmp_path / "two" / "out.json").exists()
    close_all(clients)


def test_a_client_whose_settings_differ_gets_a_server_of_its_own(data: Path) -> None:
    shared = attach(data).open()
    own = attach(data, extra={"MCP_AGENT_ID": "robot"}).open()
    assert call(own, "add", {"a": 1, "b": 2})["structuredContent"] == {"sum": 3}
    assert "other settings than this client: mcp.instructions.agent_id" in own.errors.read_text()
    assert find_server(str(data)).figures["clients"] == 1
    own.close()
    shared.close()


def test_five_starts_at_once_make_one_server(data: Path) -> None:
    runs = [
        subprocess.Popen(
            [COMMONPLACE, "up", "--json"],
            env=environment(data, TOOLS),
            cwd=data,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(5)
    ]
    outputs = [run.communicate(timeout=60)[0] for run in runs]
    assert [run.returncode for run in runs] == [0] * 5
    assert {json.loads(output)["pid"] for output in outputs} == {server_pid(data)}


def test_a_stale_socket_is_replaced(data: Path) -> None:
    first = command(data, "up", "--json")["pid"]
    kill(data)
    assert (data / "server.sock").exists()
    assert not find_server(str(data)).is_running
    assert command(data, "up", "--json")["pid"] != first


def test_a_data_folder_with_a_long_path_has_its_socket_too(tmp_path: Path) -> None:
    with data_folder(tmp_path / ("long-" * 20) / ("name-" * 20)) as data:
        client = attach(data).open()
        assert call(client, "add", {"a": 1, "b": 2})["structuredContent"] == {"sum": 3}
        assert (data / "server.sock").is_socket()
        client.close()


def test_the_server_stops_when_it_is_idle(data: Path) -> None:
    (data / "commonplace.yaml").write_text("settings:\n  server:\n    idle_stop_minutes: 0.01\n")
    client = attach(data).open()
    pid = server_pid(data)
    time.sleep(1.5)  # longer than the limit: a client keeps the server
    assert alive(pid)
    client.close()
    wait_until(lambda: not alive(pid))
    assert not (data / "server.sock").exists()


def test_down_stops_the_server_and_the_next_request_starts_it(data: Path) -> None:
    client = attach(data).open()
    pid = server_pid(data)
    assert command(data, "down", "--json")["stopped"] is True
    assert not find_server(str(data)).is_running
    wait_until(lambda: not alive(pid))  # it has let go of the data; Python ends a moment later
    assert call(client, "add", {"a": 1, "b": 2})["structuredContent"] == {"sum": 3}
    assert server_pid(data) != pid
    client.close()


def test_a_killed_server_loses_nothing_and_requests_are_settled(data: Path) -> None:
    client = attach(data).open()
    other = attach(data).open()
    written = call(client, "file_write", {"project": "p", "path": "/a.txt", "content": "kept"})
    assert succeeds(written)
    pid = server_pid(data)
    os.kill(pid, signal.SIGSTOP)  # so that requests wait for certain
    for number, tool in ((101, "put"), (102, "add")):
        params = {"name": tool, "arguments": {"a": 1, "b": 2}}
        client.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
    client.send({"jsonrpc": "2.0", "id": 103, "method": "sample/add", "params": {"a": 1, "b": 1}})
    client.send({"jsonrpc": "2.0", "id": 104, "method": "nonsense", "params": {}})
    wait_until(lambda: has_passed_on(client))
    kill(data)
    answers = {answer["id"]: answer for answer in (client.read() for _ in range(4))}
    assert error_code(answers[101]["result"]) == "SERVER_RESTARTED"
    assert answers[102]["result"]["structuredContent"] == {"sum": 3}
    assert answers[103]["result"] == {"sum": 2}
    assert answers[104]["error"]["data"]["code"] == "SERVER_RESTARTED"
    for reader in (client, other):
        read = call(reader, "file_read", {"project": "p", "path": "/a.txt"})
        assert read["structuredContent"]["content"] == "kept"
    close_all([client, other])


def test_a_request_that_kills_the_server_is_not_repeated_for_ever(data: Path) -> None:
    client = attach(data).open()
    first = server_pid(data)
    os.kill(first, signal.SIGSTOP)
    params = {"name": "wait", "arguments": {"seconds": 50}}
    client.send({"jsonrpc": "2.0", "id": 200, "method": "tools/call", "params": params})
    wait_until(lambda: has_passed_on(client))
    killed = first
    with ThreadPoolExecutor(1) as reader:
        answer = reader.submit(client.read)
        for _ in range(MOST_KILLS):  # one may come before the request, which is then sent again
            kill(data)
            wait_until(partial(_has_moved_on, answer, data, killed))
            if answer.done():
                break
            killed = server_pid(data)
        assert error_code(answer.result()["result"]) == "SERVER_RESTARTED"
    client.close()


def _has_moved_on(answer: Future[Any], data: Path, killed: int) -> bool:
    return answer.done() or _is_replaced(data, killed)


def _is_replaced(data: Path, before: int) -> bool:
    figures = find_server(str(data)).figures
    return bool(figures.get("clients")) and figures["pid"] != before


def test_both_eras_batches_cancellation_and_limits_pass_the_relay(data: Path) -> None:
    stateless = attach(data)
    found = stateless.request(
        "tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": META}
    )
    assert found["result"]["structuredContent"] == {"sum": 3}
    stateless.close()
    batching = attach(data)
    batching.request("initialize", {**HANDSHAKE, "protocolVersion": "2025-03-26"})
    batching.send([{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in (1, 2)])  # type: ignore[arg-type]
    assert {member["id"] for member in batching.read()} == {1, 2}
    large = {"project": "p", "path": "/big.txt", "content": "x" * 1_500_000}
    assert call(batching, "file_write", large)["structuredContent"]["size"] == 1_500_000
    assert (
        len(
            call(batching, "file_read", {"project": "p", "path": "/big.txt"})["structuredContent"][
                "content"
            ]
        )
        == 1_500_000
    )
    mark = data / "cancelled"
    params = {"name": "wait", "arguments": {"seconds": 50, "mark": str(mark)}}
    batching.send({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params})
    batching.send(
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}
    )
    wait_until(mark.exists)
    assert batching.process.stdin is not None
    batching.process.stdin.write(
        b'{"jsonrpc":"2.0","id":5,"method":"x","params":"' + b"y" * (70 << 20) + b'"}\n'
    )
    batching.process.stdin.flush()
    assert batching.read()["error"]["code"] == -32001
    batching.send({"jsonrpc": "2.0", "id": 6, "method": "ping"})
    assert batching.read()["id"] == 6
    batching.close()


def test_a_newer_client_replaces_an_idle_server_and_leaves_a_busy_one(data: Path) -> None:
    client = attach(data).open()
    pid = server_pid(data)
    newer = {"version": "99.0.0", "protocol": 1, "environment": {}, "folder": str(data)}
    raw = RawConnection(data)
    assert raw.ask("commonplace/attach", newer)["error"]["data"]["reason"] == "outdated"
    raw.close()
    assert call(client, "add", {"a": 1, "b": 2})["structuredContent"] == {"sum": 3}
    client.close()
    wait_until(lambda: not alive(pid))  # it was asked to leave with its last client
    command(data, "up", "--json")
    pid = server_pid(data)
    raw = RawConnection(data)
    assert raw.ask("commonplace/attach", newer)["error"]["data"]["reason"] == "retired"
    raw.close()
    wait_until(lambda: not alive(pid))


def test_the_socket_speaks_plain_mcp_and_answers_malformed_first_lines(data: Path) -> None:
    command(data, "up", "--json")
    plain = RawConnection(data)
    assert plain.ask("initialize", HANDSHAKE)["result"]["serverInfo"]["version"] == __version__
    plain.close()
    for params in (None, [], {"version": 1}, {"version": "1", "protocol": 1, "requests": [["a"]]}):
        broken = RawConnection(data)
        assert broken.ask("commonplace/attach", params)["error"]["data"]["reason"] == "protocol"
        broken.close()
    garbage = RawConnection(data)
    garbage.socket.sendall(b"\xff\x00 nothing\n")
    assert garbage.read()["error"]["code"] == -32700
    garbage.close()
    silent = RawConnection(data)
    silent.close()
    assert find_server(str(data)).is_running

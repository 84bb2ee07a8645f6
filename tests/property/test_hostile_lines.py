"""A live stdio process answers hostile input as the standard requires, and survives."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conformance.hostile import (
    BARE,
    BATCH_ERA,
    ENVELOPE,
    STATELESS_ERA,
    Owed,
    lines,
    matches,
    mutant,
    owed,
)
from conformance.lines import Lines, live
from conformance.program import COMMONPLACE, FIXTURES, Served, environment, serve_http
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

SOAK = os.environ.get("COMMONPLACE_SOAK") == "1"
LINES = 200_000 if SOAK else 2_000
ERAS = [None, BATCH_ERA, "2025-11-25", STATELESS_ERA]
LINES_PER_EXAMPLE = 20
MUTANTS = 9 if SOAK else 1  # of every line that hypothesis drew, which draws slowly
MIB = 1 << 20
GROWTH_BYTES = (48 if SOAK else 16) * MIB
LOADED_BYTES = (
    96 * MIB
)  # where a line may happen to open the connection, and the SDK and the tools are then loaded
LIMIT_BYTES = 64 * MIB
END_SECONDS = 30.0
EXTRA = {**FIXTURES, "COMMONPLACE_EXTRA_TOOLSETS": "conformance.tools:toolset,sample_tools:toolset"}
HANDSHAKE = {"capabilities": {}, "clientInfo": {"name": "hostile", "version": "1"}}


def enter(process: Lines, era: str | None) -> None:
    """Bring a connection into its era, and to life what is loaded when first asked for: the SDK,
    the tools.
    """
    if era is None:
        return
    params = {"_meta": ENVELOPE} if era == STATELESS_ERA else {}
    if era != STATELESS_ERA:
        assert (
            process.request("initialize", {"protocolVersion": era, **HANDSHAKE})["result"][
                "protocolVersion"
            ]
            == era
        )
    for method in ("resources/list", "tools/list"):
        assert "result" in process.request(method, params)


@pytest.fixture(params=ERAS, ids=str)
def era(request: pytest.FixtureRequest) -> str | None:
    chosen: str | None = request.param
    return chosen


@pytest.fixture
def process(tmp_path: Path, era: str | None) -> Iterator[Lines]:
    with live(tmp_path, EXTRA) as started:
        enter(started, era)
        yield started


def flat(answers: list[Any]) -> list[dict[str, Any]]:
    """Answers of batches count; notifications of the server do not."""
    each = [
        item for answer in answers for item in (answer if isinstance(answer, list) else [answer])
    ]
    return [item for item in each if "id" in item and "method" not in item]


def settle(process: Lines, sent: list[bytes], era: str | None) -> None:
    """Send lines, and hold every answer against what the lines are owed."""
    debts: list[Owed] = [debt for line in sent for debt in owed(line, era)]
    data = b"".join(line + b"\n" for line in sent)
    answers = flat(process.exchange(data, lambda read: len(flat(read)) >= len(debts)))
    for answer in answers:
        assert answer["jsonrpc"] == "2.0"
        assert ("result" in answer) != ("error" in answer)
    paid = pair(answers, debts)
    unpaid = [debt for debt, answer in zip(debts, paid, strict=True) if answer is None]
    assert not unpaid, f"{unpaid} have no answer among {answers} for {sent}"
    assert len(answers) == len(debts), f"more answers than requests: {answers} for {sent}"


def pair(answers: list[dict[str, Any]], debts: list[Owed]) -> list[int | None]:
    """An answer for every debt, none twice: lines may share an id, so the first that fits need
    not be the right one.
    """
    holders: dict[int, int] = {}

    def pay(debt: int, tried: set[int]) -> bool:
        for answer, one in enumerate(answers):
            if answer not in tried and matches(one, debts[debt]):
                tried.add(answer)
                if answer not in holders or pay(holders[answer], tried):
                    holders[answer] = debt
                    return True
        return False

    for debt in range(len(debts)):
        pay(debt, set())
    paid = {debt: answer for answer, debt in holders.items()}
    return [paid.get(debt) for debt in range(len(debts))]


def test_every_hostile_line_is_answered_as_the_standard_says_and_memory_stays_flat(
    process: Lines, era: str | None
) -> None:
    count = 0
    warm_bytes = 0

    @settings(
        max_examples=1 + LINES // (len(ERAS) * LINES_PER_EXAMPLE * (1 + MUTANTS)),
        database=None,
        derandomize=not SOAK,
        phases=[
            Phase.generate
        ],  # a live process has a past: a smaller example would not fail alone
        suppress_health_check=list(HealthCheck),
    )
    @given(
        st.lists(lines, min_size=LINES_PER_EXAMPLE, max_size=LINES_PER_EXAMPLE),
        st.integers(0, 1 << 32),
    )
    def campaign(drawn: list[bytes], seed: int) -> None:
        nonlocal count, warm_bytes
        chance = random.Random(seed)
        for sent in (
            drawn,
            *([mutant(line, drawn, chance) for line in drawn] for _ in range(MUTANTS)),
        ):
            settle(process, sent, era)
            count += len(sent)
        if not warm_bytes and count >= LINES // len(ERAS) // 4:
            warm_bytes = process.resident_bytes()

    campaign()
    assert count >= LINES // len(ERAS)
    assert process.resident_bytes() - warm_bytes < GROWTH_BYTES + (
        LOADED_BYTES if era is None else 0
    )
    assert "Traceback" not in process.errors.read_text()
    assert process.end_input() == 0


@pytest.fixture(scope="module")
def over_http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_http(tmp_path_factory.mktemp("http"), EXTRA) as served:
        yield served


@settings(
    max_examples=20_000 if SOAK else 150,
    database=None,
    derandomize=not SOAK,
    suppress_health_check=list(HealthCheck),
)
@given(body=lines.filter(bytes.strip))
def test_a_hostile_body_is_answered_and_never_breaks_the_server(
    over_http: Served, body: bytes
) -> None:
    status, _, raw = over_http.post("/rpc", body)
    debts = owed(body, BARE)
    if debts:
        assert matches(json.loads(raw), debts[0]), f"{debts[0]} is not {raw!r} for {body!r}"
    else:
        assert (status, raw) == (202, b"")
    assert status < 500
    assert over_http.post("/mcp", body)[0] in (202, 400, 404, 406)
    assert over_http.process.poll() is None


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (b"\xff\xfe", (None, -32700)),
        (b'{"jsonrpc":"2.0","id":1,"method":"p\xc3ng"}', (None, -32700)),
        (b"\xef\xbb\xbf{}", (None, -32700)),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"', (None, -32700)),
        (b"\x00", (None, -32700)),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', (None, -32700)),
        (b"[" * 100_000, (None, -32700)),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, (None, -32700)),
        (b"[]", (None, -32600)),
        (b"[" * 500 + b"]" * 500, (None, -32600)),
        (b"null", (None, -32600)),
        (b"17", (None, -32600)),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', (None, -32600)),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', (None, -32600)),
        (b'{"jsonrpc":"2.0","id":[],"method":"ping"}', (None, -32600)),
        (b'{"jsonrpc":"1.0","id":3,"method":"ping"}', (3, -32600)),
        (b'{"id":3,"method":"ping"}', (3, -32600)),
        (b'{"jsonrpc":"2.0","id":3,"method":5}', (3, -32600)),
        (b'{"jsonrpc":"2.0","id":3,"method":"ping","params":"x"}', (3, -32600)),
        (b'{"jsonrpc":"2.0","id":3,"method":"no/such"}', (3, -32601)),
        (b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"none"}}', (3, -32602)),
        (b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":[]}', (3, -32602)),
        (
            b'{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}',
            (123456789012345678901234567890, "result"),
        ),
        (b'{"jsonrpc":"2.0","id":-1.5,"method":"ping"}', (-1.5, "result")),
        (b'{"jsonrpc":"2.0","id":"","method":"ping"}', ("", "result")),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', (2, "result")),
        (
            b'{"jsonrpc":"2.0","id":12345678901234567890123,"method":"resources/list"}',
            (12345678901234567890123, "result"),
        ),
        (b'  {"jsonrpc":"2.0","id":4,"method":"ping"}\r', (4, "result")),
    ],
    ids=lambda value: repr(value)[:50],
)
def test_a_known_hostile_line_is_answered(
    shared: Lines, line: bytes, answer: tuple[Any, Any]
) -> None:
    found = shared.exchange(line + b"\n", lambda read: len(read) >= 1)
    assert len(found) == 1
    assert found[0]["id"] == answer[0]
    assert answer[1] == ("result" if "result" in found[0] else found[0]["error"]["code"])


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lines]:
    with live(tmp_path_factory.mktemp("shared"), EXTRA) as started:
        enter(started, "2025-11-25")
        yield started


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"   ",
        b"\r",
        b'{"jsonrpc":"2.0","method":"no/such"}',
        b'{"jsonrpc":"2.0","id":9,"result":{}}',
    ],
)
def test_messages_without_a_right_to_an_answer_get_none(shared: Lines, line: bytes) -> None:
    after = b'{"jsonrpc":"2.0","id":"after","method":"ping"}'
    assert shared.exchange(line + b"\n" + after + b"\n", lambda read: len(read) >= 1) == [
        {"jsonrpc": "2.0", "id": "after", "result": {}}
    ]


def test_an_unknown_bare_method_is_unknown_whatever_its_params(over_http: Served) -> None:
    answer = json.loads(
        over_http.post("/rpc", b'{"jsonrpc":"2.0","id":1,"method":"no/such","params":[]}')[2]
    )
    assert answer["error"]["code"] == -32601


def test_requests_with_the_same_id_are_each_answered(shared: Lines) -> None:
    ask = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call",'
        b'"params":{"name":"wait","arguments":{"seconds":0.01}}}\n'
    )
    answers = shared.exchange(ask * 5, lambda read: len(read) >= 5)
    assert [answer["id"] for answer in answers] == [1] * 5
    assert all(answer["result"]["isError"] is False for answer in answers)


@settings(
    max_examples=200 if SOAK else 15,
    database=None,
    derandomize=not SOAK,
    suppress_health_check=list(HealthCheck),
)
@given(cuts=st.lists(st.integers(1, 400), max_size=40), lead=st.integers(0, 3))
def test_it_does_not_matter_where_writes_are_split(
    shared: Lines, cuts: list[int], lead: int
) -> None:
    asked = [
        {"jsonrpc": "2.0", "id": number, "method": "ping", "params": {"pad": "ü" * (number * 7)}}
        for number in range(lead, 12)
    ]
    data = b"".join(json.dumps(item, ensure_ascii=False).encode() + b"\n" for item in asked)
    answers: list[Any] = []
    for cut in cuts:
        answers += shared.exchange(data[:cut], lambda read: True)
        data = data[cut:]
    answers += shared.exchange(data, lambda read: len(answers) + len(read) >= len(asked))
    assert answers == [{"jsonrpc": "2.0", "id": item["id"], "result": {}} for item in asked]


def test_a_batch_is_answered_as_one_array_where_batches_exist(tmp_path: Path) -> None:
    with live(tmp_path, EXTRA) as process:
        enter(process, BATCH_ERA)
        batch = [
            {"jsonrpc": "2.0", "id": 1, "method": "ping"},
            {"jsonrpc": "2.0", "method": "notifications/none"},
            {
                "jsonrpc": "2.0",
                "id": 2,
                "method": "tools/call",
                "params": {"name": "wait", "arguments": {"seconds": 0.05}},
            },
            5,
            {"jsonrpc": "2.0", "id": 3, "method": "resources/list"},
            {"jsonrpc": "2.0", "id": 4, "method": "initialize", "params": {}},
            {"jsonrpc": "2.0", "id": 10**25, "method": "ping"},
        ]
        (answers,) = process.exchange(
            json.dumps(batch).encode() + b"\n", lambda read: len(read) >= 1
        )
        assert sorted(
            (str(answer["id"]), answer.get("error", {}).get("code")) for answer in answers
        ) == [
            ("1", None),
            (str(10**25), None),
            ("2", None),
            ("3", None),
            ("4", -32600),
            ("None", -32600),
        ]
        silent = json.dumps([{"jsonrpc": "2.0", "method": "notifications/none"}]).encode()
        after = b'{"jsonrpc":"2.0","id":"after","method":"ping"}'
        assert (
            process.exchange(silent + b"\n" + after + b"\n", lambda read: len(read) >= 1)[0]["id"]
            == "after"
        )
        cancelled = [
            {
                "jsonrpc": "2.0",
                "id": 5,
                "method": "tools/call",
                "params": {"name": "wait", "arguments": {"seconds": 30}},
            },
            {"jsonrpc": "2.0", "id": 6, "method": "ping"},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}},
        ]
        (rest,) = process.exchange(
            json.dumps(cancelled).encode() + b"\n", lambda read: len(read) >= 1
        )
        assert [item["id"] for item in rest] == [6]


def test_a_line_above_the_limit_is_refused_and_the_next_one_served(tmp_path: Path) -> None:
    with live(tmp_path, EXTRA) as process:
        enter(process, "2025-11-25")
        ping = b'{"jsonrpc":"2.0","id":"next","method":"ping"}\n'
        for size in (LIMIT_BYTES + 1, LIMIT_BYTES + 3 * MIB):
            refused, served = process.exchange(
                b"x" * size + b"\n" + ping, lambda read: len(read) >= 2
            )
            assert (refused["id"], refused["error"]["code"]) == (None, -32001)
            assert served == {"jsonrpc": "2.0", "id": "next", "result": {}}
        fits = b'{"jsonrpc":"2.0","id":"big","method":"ping","params":{"pad":"%s"}}' % (
            b"y" * (LIMIT_BYTES - MIB)
        )
        assert process.exchange(fits + b"\n", lambda read: len(read) >= 1)[0]["id"] == "big"
        assert process.request("ping")["result"] == {}


def run_once(data: Path, given: Any) -> subprocess.CompletedProcess[bytes]:
    command = [str(COMMONPLACE), "serve"]
    return subprocess.run(
        command,
        env=environment(data, EXTRA),
        stdin=given,
        capture_output=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("last_newline", [True, False])
def test_a_regular_file_as_input_is_answered_whole(tmp_path: Path, last_newline: bool) -> None:
    asked = [
        {
            "jsonrpc": "2.0",
            "id": 0,
            "method": "initialize",
            "params": {"protocolVersion": "2025-11-25", **HANDSHAKE},
        }
    ]
    asked += [{"jsonrpc": "2.0", "id": number, "method": "tools/list"} for number in range(1, 50)]
    asked += [
        {
            "jsonrpc": "2.0",
            "id": 50,
            "method": "tools/call",
            "params": {"name": "wait", "arguments": {"seconds": 0.2}},
        }
    ]
    script = tmp_path / "in.jsonl"
    script.write_text(
        "\n".join(json.dumps(item) for item in asked) + ("\n" if last_newline else "")
    )
    with script.open("rb") as given:
        finished = subprocess.run(
            [str(COMMONPLACE), "serve"],
            env=environment(tmp_path / "data", EXTRA),
            stdin=given,
            capture_output=True,
            timeout=60,
            check=False,
        )
    assert finished.returncode == 0
    assert sorted(json.loads(line)["id"] for line in finished.stdout.splitlines()) == list(
        range(51)
    )
    assert finished.stderr == b""


def test_no_input_at_all_ends_at_once(tmp_path: Path) -> None:
    finished = run_once(tmp_path / "data", subprocess.DEVNULL)
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, b"", b"")


def test_the_process_ends_with_its_client(tmp_path: Path) -> None:
    """The server of a killed client must end too, even while a call runs."""
    client = """
import json, subprocess, sys, time
server = subprocess.Popen([sys.argv[1], "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
call = {"name": "wait", "arguments": {"seconds": 60}}
client = {"name": "x", "version": "1"}
hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
requests = [("initialize", hello), ("tools/call", call), ("ping", {})]
for number, (method, params) in enumerate(requests):
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    server.stdin.write(json.dumps(request).encode() + b"\\n")
server.stdin.flush()
server.stdout.readline(), server.stdout.readline()
print(server.pid, flush=True)
time.sleep(600)
"""
    killed = subprocess.Popen(
        [sys.executable, "-c", client, str(COMMONPLACE)],
        env=environment(tmp_path, EXTRA),
        stdout=subprocess.PIPE,
        cwd=tmp_path,
    )
    assert killed.stdout is not None
    with killed.stdout:
        pid = int(killed.stdout.readline())
        assert running(pid)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    give_up = time.monotonic() + END_SECONDS
    while running(pid) and time.monotonic() < give_up:
        time.sleep(0.05)
    orphaned = running(pid)
    if orphaned:
        os.kill(pid, signal.SIGKILL)
    assert not orphaned


def running(pid: int) -> bool:
    """Whether a process is there and not only waiting to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False

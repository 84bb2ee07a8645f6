"""The openapi tools of the shipped program under fire, over stdio and HTTP: broken documents by
the hundred and documents made to kill.

Every request is answered, in time, with a result or a code; none is INTERNAL; the server is alive
afterwards.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import orjson
import pytest
from conformance.program import COMMONPLACE, environment, serve_http

sys.path.insert(0, str(Path(__file__).parent.parent))

from commonplace.openapi.engine.document.load import load
from oas_mutations import mutate, random_document

SEEDS = (
    "petstore-3.0.yaml",
    "petstore-3.2.yaml",
    "tictactoe-3.1.yaml",
    "uber-2.0.json",
    "media-type-examples-3.2.yaml",
)
WALKS = ("operations", "schemas", "parameters", "responses", "headers", "security", "paths", "refs")
ANSWER_SECONDS = 60.0  # of a whole volley on a busy machine; one hostile document has one second
OVERLAY = (
    "overlay: 1.0.0\ninfo: {title: o, version: '1'}\nactions: [{target: '$..*', update: "
    "{x-seen: true}}, {target: $.paths, remove: true}]\n"
)

Ask = Callable[[Sequence[tuple[str, dict[str, Any]]]], list[dict[str, Any]]]
"""Sends tool calls at once and returns their results in order."""


HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
INITIALIZE = orjson.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO})


def _message(number: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }


def _over_stdio(process: subprocess.Popen[bytes]) -> Ask:
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout
    lines: Queue[bytes] = Queue()
    stdin.write(INITIALIZE + b'\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    stdin.flush()
    stdout.readline()

    def read() -> None:
        for line in stdout:
            lines.put(line)

    threading.Thread(target=read, daemon=True).start()
    sent = 0

    def ask(calls: Sequence[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
        nonlocal sent
        numbers = range(sent + 1, sent + 1 + len(calls))
        sent += len(calls)
        text = b"".join(
            orjson.dumps(_message(number, *call)) + b"\n"
            for number, call in zip(numbers, calls, strict=True)
        )
        threading.Thread(target=lambda: (stdin.write(text), stdin.flush()), daemon=True).start()
        answers: dict[int, dict[str, Any]] = {}
        until = time.monotonic() + ANSWER_SECONDS
        while len(answers) < len(calls):
            try:
                answer = orjson.loads(lines.get(timeout=max(0.0, until - time.monotonic())))
            except Empty:
                missing = [
                    calls[number - numbers[0]] for number in numbers if number not in answers
                ]
                raise AssertionError(f"unanswered, server {process.poll()}: {missing}") from None
            answers[answer["id"]] = answer["result"]
        return [answers[number] for number in numbers]

    return ask


@pytest.fixture(scope="module", params=["stdio", "http"])
def ask(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """One server for everything here: it must survive all of it."""
    tmp_path = tmp_path_factory.mktemp("hostile")
    if request.param == "stdio":
        command = [COMMONPLACE, "serve"]
        piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment(tmp_path / "data"), **piped
        )
        try:
            asking = _over_stdio(process)
            yield asking
            assert not asking([("parse", {"spec": {"content": PLAIN}})])[0]["isError"]
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(30) == 0
        finally:
            process.kill()
            process.wait()
    else:
        with serve_http(tmp_path / "data") as served, ThreadPoolExecutor(6) as pool:
            _, opened, _ = served.post("/mcp", INITIALIZE)
            session = {
                "Mcp-Session-Id": opened["mcp-session-id"],
                "MCP-Protocol-Version": "2025-11-25",
            }
            numbers = count(1)

            def post(call: tuple[str, dict[str, Any]]) -> dict[str, Any]:
                status, _, body = served.post(
                    "/mcp", orjson.dumps(_message(next(numbers), *call)), session
                )
                assert status == 200, body
                result: dict[str, Any] = orjson.loads(body)["result"]
                return result

            yield lambda calls: list(pool.map(post, calls))
            assert not post(("parse", {"spec": {"content": PLAIN}}))["isError"]
            assert served.process.poll() is None


PLAIN = "openapi: 3.0.0\ninfo: {title: a, version: '1'}\npaths: {}\n"


def code(result: dict[str, Any]) -> str | None:
    """The code of an error; None where the call succeeded."""
    if not result["isError"]:
        return None
    assert result["content"][0]["text"].strip()
    found: str = json.loads(result["content"][1]["text"])["error"]["code"]
    return found


def every_call(
    text: str, original: str, chooser: random.Random
) -> list[tuple[str, dict[str, Any]]]:
    spec = {"content": text}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("parse", {"spec": spec, "full": True, "resolve_refs": True}),
        ("validate", {"spec": spec, "strict": True}),
        ("diff", {"base": {"content": original}, "revision": spec}),
        ("diff", {"base": spec, "revision": {"content": original}}),
        (
            "fix",
            {
                "spec": spec,
                "fix_duplicate_operationids": True,
                "fix_schema_names": True,
                "prune": True,
                "stub_missing_refs": True,
            },
        ),
        ("convert", {"spec": spec, "target": chooser.choice(["2.0", "3.0", "3.1", "3.2"])}),
        (
            "join",
            {
                "specs": [spec, {"content": original}],
                "path_strategy": "accept-left",
                "schema_strategy": "rename-right",
            },
        ),
        ("overlay_apply", {"spec": spec, "overlay": {"content": OVERLAY}}),
        ("overlay_validate", {"spec": spec}),
        ("generate", {"spec": spec, "include_files": True, "client": True, "server": True}),
        ("generate", {"spec": spec, "include_files": True, "language": "python", "client": True}),
    ]
    walk = chooser.choice(WALKS)
    calls += [
        (f"walk_{kind}", {"spec": spec, "detail": True, "resolve_refs": True}) for kind in WALKS
    ]
    return [*calls, (f"walk_{walk}", {"spec": spec})]


@pytest.mark.oracle
@pytest.mark.soak
@pytest.mark.timeout(3000)
def test_broken_documents_never_cause_an_internal_error_over_stdio(
    ask: Ask, data: Path, soak: bool
) -> None:
    chooser = random.Random(23)
    originals = []
    for name in SEEDS:
        value = load((data / "openapi" / "dev" / name).read_bytes()).data
        originals.append((value, orjson.dumps(value).decode()))
    for number in range(1500 if soak else 40):
        value, original = originals[number % len(originals)]
        made = mutate(value, chooser) if number % 2 else random_document(chooser)
        try:
            text = orjson.dumps(made).decode()
        except (TypeError, ValueError):
            continue  # not JSON any more
        calls = every_call(text, original, chooser)
        for (name, _), result in zip(calls, ask(calls), strict=True):
            assert code(result) != "INTERNAL", (name, result["content"], text)


def cycle(version: str = "3.0.3") -> str:
    schemas = {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}}
    use = {
        "get": {
            "responses": {"200": {"description": "d", "content": {"a/b": {"schema": schemas["B"]}}}}
        }
    }
    return json.dumps(
        {
            "openapi": version,
            "info": {"title": "t", "version": "1"},
            "paths": {"/a": use},
            "components": {"schemas": schemas},
        }
    )


_TENS = "".join(
    f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]\n" for number in range(1, 12)
)
_KEYS = ", ".join(f"k{number}: 1" for number in range(1000))
HOSTILE = {
    "yaml bomb": (f"{PLAIN}a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n{_TENS}", "SPEC_TOO_LARGE"),
    "merge bomb": (
        f"{PLAIN}m: &m {{{_KEYS}}}\n"
        + "".join(f"m{number}: {{<<: *m}}\n" for number in range(1500)),
        "SPEC_TOO_LARGE",
    ),
    "28 kB of dashes": ("- " * 14_000 + "x", "SPEC_TOO_DEEP"),
    "question marks": ("? " * 20_000 + "x", "SPEC_TOO_DEEP"),
    "200,000 brackets": ("[" * 200_000, "SPEC_TOO_DEEP"),
    "200,000 deep JSON": ('{"a":' * 200_000 + "1" + "}" * 200_000, "SPEC_TOO_DEEP"),
    "200,000 deep flow YAML": (
        "openapi: 3.0.0\nx: " + "{a: " * 200_000 + "1" + "}" * 200_000,
        "SPEC_TOO_DEEP",
    ),
    "4,000 levels of indentation": (
        "".join(" " * level + "a:\n" for level in range(4_000)),
        "SPEC_TOO_DEEP",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_refused_within_a_second(ask: Ask, name: str) -> None:
    text, expected = HOSTILE[name]
    ask([("parse", {"spec": {"content": PLAIN}})])  # the toolset is loaded
    for tool, arguments in (
        ("validate", {"spec": {"content": text}}),
        ("convert", {"spec": {"content": text}, "target": "3.1"}),
        ("overlay_apply", {"spec": {"content": PLAIN}, "overlay": {"content": text}}),
    ):
        took = []
        for _ in range(3):  # the machine may be busy: the fastest of three counts
            begun = time.perf_counter()
            result = ask([(tool, arguments)])[0]
            took.append(time.perf_counter() - begun)
            assert code(result) == expected, result
            if took[-1] < 1:
                break
        assert min(took) < 1, took


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_a_cycle_of_references_is_reported_within_a_second(ask: Ask, version: str) -> None:
    spec = {"content": cycle(version)}
    ask([("validate", {"spec": {"content": PLAIN}})])
    begun = time.perf_counter()
    checked, parsed, walked = ask(
        [
            ("validate", {"spec": spec}),
            ("parse", {"spec": spec, "full": True, "resolve_refs": True}),
            ("walk_operations", {"spec": spec, "detail": True, "resolve_refs": True}),
        ]
    )
    took = time.perf_counter() - begun
    assert {error["rule"] for error in checked["structuredContent"]["errors"]} == {"ref-circular"}
    assert parsed["structuredContent"]["circular_refs"]
    assert walked["structuredContent"]["circular_refs"]
    assert took < 3, took  # three calls

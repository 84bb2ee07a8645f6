"""External models through the shipped program: which key is used where, and failures."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conformance.program import COMMONPLACE, environment, serve_http
from model_client import KEKS, Caller, configure, external_models, until

from model_server import ModelServer, Request

KEY_A, KEY_B = "sk-alpha-0123456789abcdefghij", "sk-bravo-0123456789abcdefghij"


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def commonplace_key(data: Path, tenant: str) -> str:
    command = [
        str(COMMONPLACE),
        "keys",
        "add",
        "--tenant",
        tenant,
        "--label",
        tenant,
        "--scope",
        "write",
    ]
    made = subprocess.run(
        command, env=environment(data), cwd=data, capture_output=True, text=True, check=True
    )
    return next(word for word in made.stdout.split() if word.startswith("cp_"))


def test_each_caller_searches_by_meaning_with_its_own_key_and_no_other_key_leaves(
    model: ModelServer, tmp_path: Path
) -> None:
    configure(tmp_path, external_models(model.url), auth={"mode": "keys"})
    ours = {tenant: commonplace_key(tmp_path, tenant) for tenant in ("alpha", "bravo")}
    with serve_http(tmp_path) as served:
        alpha = Caller(served.url, bearer=ours["alpha"], model_key=KEY_A)
        bravo = Caller(served.url, bearer=ours["bravo"], model_key=KEY_B)
        alpha.call("file_write", path="/a.md", content="the green walnut falls in october")
        bravo.call("file_write", path="/b.md", content="the red apple falls in september")
        alpha.settled(), bravo.settled()
        answer = alpha.call("file_search", query="walnut october", explain=True)
        assert answer["mode"] == "hybrid+rerank"
        assert [chunk["file_path"] for chunk in answer["chunks"]] == ["/a.md"]
        assert answer["chunks"][0]["explain"]["semantic"] > 0.4
        assert "rerank" in answer["chunks"][0]["explain"]
        assert bravo.found("walnut october") in ([], ["/b.md"])
        sent = b"".join(request.raw for request in model.requests)
        by_key = {
            key: b"".join(request.raw for request in model.requests if request.key == key)
            for key in model.keys
        }
    assert model.keys == {KEY_A, KEY_B}
    assert b"walnut falls" in by_key[KEY_A]
    assert b"apple falls" not in by_key[KEY_A]
    assert b"walnut falls" not in by_key[KEY_B]
    everything = sent + repr([request.headers for request in model.requests]).encode()
    assert not any(key.encode() in everything for key in ours.values())
    assert b"cp_" not in everything


def test_a_caller_without_a_key_uses_the_local_model_with_a_note(
    model: ModelServer, tmp_path: Path
) -> None:
    configure(tmp_path, external_models(model.url))
    with serve_http(tmp_path) as served:
        caller = Caller(served.url)
        caller.call("file_write", path="/a.md", content="the green walnut")
        caller.settled(waiting_credential=1)
        answer = caller.call("file_search", query="walnut")
        assert [chunk["file_path"] for chunk in answer["chunks"]] == ["/a.md"]
        assert "rerank" not in answer["mode"]
        assert any("brought no key" in note for note in answer["notes"])
        assert model.requests == []
        with_key = Caller(served.url, model_key=KEY_A)
        with_key.call("file_list")  # any call of the tenant will do
        with_key.settled()
        assert len(model.asked("/v1/embeddings")) == 1
        assert model.keys == {KEY_A}


def test_a_commonplace_key_in_the_model_header_is_never_sent(
    model: ModelServer, tmp_path: Path
) -> None:
    configure(tmp_path, external_models(model.url), auth={"mode": "keys"})
    ours = commonplace_key(tmp_path, "alpha")
    with serve_http(tmp_path) as served:
        caller = Caller(served.url, bearer=ours, model_key=ours)
        caller.call("file_write", path="/a.md", content="the green walnut")
        caller.settled(waiting_credential=1)
        assert caller.found("walnut") == ["/a.md"]
    assert model.requests == []


def test_in_passthrough_the_bearer_is_the_key(model: ModelServer, tmp_path: Path) -> None:
    configure(tmp_path, external_models(model.url), auth={"mode": "passthrough"})
    ours = commonplace_key(tmp_path, "team")
    with serve_http(tmp_path) as served:
        own, other = Caller(served.url, bearer=KEY_A), Caller(served.url, bearer=KEY_B)
        team = Caller(served.url, bearer=ours)
        for caller, text in ((own, "walnut one"), (other, "walnut two"), (team, "walnut three")):
            caller.call("file_write", path="/a.md", content=text)
        own.settled(), other.settled(), team.settled(waiting_credential=1)
        assert [
            own.call("file_search", query="walnut")["chunks"][0]["chunk_content"] for _ in range(2)
        ] == ["walnut one"] * 2
        assert (
            other.call("file_search", query="walnut")["chunks"][0]["chunk_content"] == "walnut two"
        )
        assert (
            team.call("file_search", query="walnut")["chunks"][0]["chunk_content"] == "walnut three"
        )
    assert model.keys == {KEY_A, KEY_B}


def test_after_a_kill_the_next_call_brings_the_key_again(
    model: ModelServer, tmp_path: Path
) -> None:
    configure(tmp_path, external_models(model.url, embedding={"timeout_ms": 60_000}))
    model.fault = model.hang
    with serve_http(tmp_path) as served:
        Caller(served.url, model_key=KEY_A).call(
            "file_write", path="/a.md", content="the green walnut"
        )
        until(lambda: model.requests)
        os.kill(served.process.pid, signal.SIGKILL)
        served.process.wait()
    model.well()
    model.requests.clear()
    with serve_http(tmp_path) as served:
        Caller(served.url).settled(
            waiting_credential=1
        )  # the envelope was in the memory of the process that is gone
        caller = Caller(served.url, model_key=KEY_B)
        assert caller.found("walnut") == ["/a.md"]
        caller.settled()
        assert caller.call("file_search", query="walnut")["mode"] == "hybrid+rerank"
    assert model.keys == {KEY_B}


def test_when_models_fail_the_answer_names_the_fallback(model: ModelServer, tmp_path: Path) -> None:
    configure(
        tmp_path,
        external_models(model.url, embedding={"timeout_ms": 300}, rerank={"timeout_ms": 300}),
    )
    with serve_http(tmp_path) as served:
        caller = Caller(served.url, model_key=KEY_A)
        caller.call("file_write", path="/a.md", content="the green walnut")
        caller.settled()

        def only(path: str) -> None:
            model.fault = lambda request: model.hang(request) if request.path == path else None

        only("/v1/rerank")
        answer = caller.call("file_search", query="walnut")
        assert answer["mode"] == "hybrid"
        assert any(
            "fused scores: the rerank model did not answer within 0.3 s" in note
            for note in answer["notes"]
        )
        model.well()
        only("/v1/embeddings")
        answer = caller.call("file_search", query="walnut")
        assert answer["mode"].endswith("+rerank")
        assert any(
            "the embedding model did not answer within 0.3 s" in note for note in answer["notes"]
        )
        model.well()
        model.fault = lambda request: (500, b"{}")
        answer = caller.call("file_search", query="walnut")
        assert [chunk["file_path"] for chunk in answer["chunks"]] == ["/a.md"]
        assert len(answer["notes"]) >= 2
        model.well()


def test_a_refused_key_is_reported_and_a_valid_one_continues(
    model: ModelServer, tmp_path: Path
) -> None:
    model.refused_keys = {KEY_A}
    configure(tmp_path, external_models(model.url))
    with serve_http(tmp_path) as served:
        caller = Caller(served.url, model_key=KEY_A)
        caller.call("file_write", path="/a.md", content="the green walnut")
        caller.settled(waiting_credential=1)
        asked = len(model.requests)
        for _ in range(5):
            caller.call("file_list")
        assert len(model.requests) == asked  # not at every call
        answer = caller.call("file_search", query="walnut")
        assert [chunk["file_path"] for chunk in answer["chunks"]] == ["/a.md"]
        assert sum("refused the caller's key (401)" in note for note in answer["notes"]) == 2
        better = Caller(served.url, model_key=KEY_B)
        better.call("file_write", path="/a.md", content=" again")
        better.settled()
        assert better.call("file_search", query="walnut")["mode"] == "hybrid+rerank"


def test_a_deleted_file_is_never_sent_to_the_rerank_model(
    model: ModelServer, tmp_path: Path
) -> None:
    configure(tmp_path, external_models(model.url))
    with serve_http(tmp_path) as served:
        caller = Caller(served.url, model_key=KEY_A)
        caller.call("file_write", path="/a.md", content="a secret walnut")
        caller.call("file_write", path="/b.md", content="a public walnut")
        caller.settled()
        caller.call("file_delete", path="/a.md")
        model.requests.clear()
        assert caller.found("walnut") == ["/b.md"]
        asked: list[Request] = model.asked("/v1/rerank")
        assert [request.body["documents"] for request in asked] == [["a public walnut"]]


def test_nothing_that_was_written_contains_a_key(model: ModelServer, tmp_path: Path) -> None:
    data, config = tmp_path / "data", tmp_path / "config"
    loud = {
        "MCP_LOG_VERBOSE": "1",
        "MCP_LOG_DIAG": "1",
        "MCP_HANDSHAKE_TRACE": "1",
        "MCP_INIT_FRAME_DIAG": "1",
        "MCP_HEALTH_MIXED_DIAG": "1",
        "MCP_LOG_FILE": str(data / "log.txt"),
        "MCP_TRACE_DIR": str(data / "traces"),
    }
    configure(config, external_models(model.url), auth={"mode": "passthrough"})
    answers = []
    with serve_http(data, loud, "--config", str(config / "commonplace.yaml")) as served:
        caller, refused = Caller(served.url, bearer=KEY_A), Caller(served.url, bearer=KEY_B)
        model.refused_keys = {KEY_B}  # this model repeats the key in its error
        for item in (caller, refused):
            answers.append(item.call("file_write", path="/a.md", content="the green walnut"))
            answers.append(item.call("file_read", path="/missing"))
        model.fault = lambda request: (400, request.raw + request.key.encode())
        answers.append(caller.call("file_write", path="/b.md", content="never embedded"))
        until(lambda: caller.status()["dead"])
        model.well()
        for item in (caller, refused):
            answers += [
                item.call("file_search", query="walnut", explain=True),
                item.status(),
                item.call("health_check"),
                item.call("audit_query"),
            ]
            answers.append(item.call("metrics_snapshot"))
        model.fault = model.hang
        caller.call("file_write", path="/c.md", content="on its way at the end")
        until(lambda: any("on its way" in str(request.body) for request in model.requests))
    commands = (
        ["config", "show"],
        ["doctor"],
        ["files", "status"],
        ["keys", "list"],
        ["audit", "verify"],
    )
    for command in commands:
        done = subprocess.run(
            [str(COMMONPLACE), "--config", str(config / "commonplace.yaml"), *command],
            env=environment(data),
            cwd=data,
            capture_output=True,
            check=False,
        )
        answers.append({"output": (done.stdout + done.stderr).decode()})
    written = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    assert any("traces" in str(path) for path in written)
    assert any("commonplace.db" in str(path) for path in written)
    for secret in (KEY_A, KEY_B, *KEKS.values()):
        assert [path for path, content in written.items() if secret.encode() in content] == []
        assert [answer for answer in answers if secret in str(answer)] == []
    assert model.keys == {KEY_A, KEY_B}

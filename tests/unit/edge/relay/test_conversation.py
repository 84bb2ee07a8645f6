"""What a relay remembers, and how it continues with another server."""

from __future__ import annotations

import json
from typing import Any

from commonplace.dispatch.error_table import TABLE
from commonplace.edge.relay.conversation import (
    ERROR,
    ERROR_CODE,
    STOPPING,
    Conversation,
    leading_members,
)
from commonplace.edge.relay.main import SAFE_METHODS
from commonplace.edge.stdio.connection import SDK_METHODS
from commonplace.kernel.errors import SERVER_RESTARTED


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def decode(lines: list[bytes]) -> list[Any]:
    return [json.loads(text) for text in lines]


def opened() -> Conversation:
    conversation = Conversation()
    conversation.take_client_line(line(id=0, method="initialize", params={"x": 1}))
    conversation.take_server_line(line(id=0, result={}))
    conversation.take_client_line(line(method="notifications/initialized"))
    return conversation


def test_the_handshake_and_subscriptions_are_repeated_with_ids_of_their_own() -> None:
    conversation = opened()
    for number, (method, uri) in enumerate(
        (("subscribe", "a"), ("subscribe", "b"), ("unsubscribe", "a")), 1
    ):
        conversation.take_client_line(
            line(id=number, method=f"resources/{method}", params={"uri": uri})
        )
        conversation.take_server_line(line(id=number, result={}))
    lines, answers = conversation.resume([])
    sent = decode(lines)
    assert [message["method"] for message in sent] == [
        "initialize",
        "notifications/initialized",
        "resources/subscribe",
    ]
    assert sent[2]["params"] == {"uri": "b"}
    assert answers == []
    for message in sent:
        if "id" in message:  # the client sees no second answer
            assert conversation.take_server_line(line(id=message["id"], result={})) is None


def test_a_handshake_without_an_answer_is_repeated_as_it_was() -> None:
    conversation = Conversation()
    request = line(id=0, method="initialize", params={})
    conversation.take_client_line(request)
    lines, answers = conversation.resume([True])
    assert (lines, answers) == ([request], [])


def test_safe_requests_are_repeated_once_and_others_get_an_error() -> None:
    conversation = opened()
    read = line(id=1, method="tools/call", params={"name": "read"})
    conversation.take_client_line(read)
    conversation.take_client_line(line(id="1", method="tools/call", params={"name": "write"}))
    conversation.take_client_line(line(id=2, method="instructions/add", params={}))
    assert conversation.requests() == [
        ["tools/call", "read"],
        ["tools/call", "write"],
        ["instructions/add", ""],
    ]
    lines, answers = conversation.resume([True, False, False])
    assert lines[-1] == read
    tool, bare = decode(answers)
    assert (tool["id"], tool["result"]["isError"]) == ("1", True)
    told = json.loads(tool["result"]["content"][0]["text"])["error"]
    assert (told["code"], told["retryable"]) == (ERROR, True)
    assert bare["error"]["data"] == {
        "code": ERROR,
        "retryable": True,
        "suggestion": told["hint"],
    }
    lines, answers = conversation.resume([True])
    assert [message["id"] for message in decode(answers)] == [1]
    assert not conversation.pending


def test_the_error_is_the_one_of_the_error_table() -> None:
    assert SERVER_RESTARTED.name == ERROR
    assert TABLE[SERVER_RESTARTED.kind].rpc_code == ERROR_CODE


def test_every_method_of_the_sdk_may_be_repeated() -> None:
    assert SDK_METHODS <= SAFE_METHODS


def test_a_cancelled_request_is_not_repeated() -> None:
    conversation = opened()
    conversation.take_client_line(line(id=5, method="tools/call", params={"name": "wait"}))
    conversation.take_client_line(line(method="notifications/cancelled", params={"requestId": 5}))
    assert conversation.requests() == []


def test_a_batch_is_settled_by_its_one_answer() -> None:
    conversation = opened()
    members = [json.loads(line(id=number, method="ping")) for number in (1, 2)]
    conversation.take_client_line(json.dumps(members).encode() + b"\n")
    assert len(conversation.requests()) == 2
    answers = [json.loads(line(id=number, result={})) for number in (2, 1)]
    conversation.take_server_line(json.dumps(answers).encode() + b"\n")
    assert conversation.requests() == []


def test_a_stateless_client_gets_a_complete_result() -> None:
    conversation = Conversation()
    conversation.take_client_line(line(id=1, method="tools/call", params={"name": "write"}))
    _, answers = conversation.resume([False])
    assert decode(answers)[0]["result"]["resultType"] == "complete"


def test_answers_to_a_server_that_ended_are_dropped() -> None:
    conversation = opened()
    asked = line(id=3, method="elicitation/create", params={})
    assert conversation.take_server_line(asked) == asked
    conversation.resume([])
    assert conversation.take_client_line(line(id=3, result={})) is None
    again = conversation.take_server_line(asked)
    assert again is not None
    renamed = json.loads(again)["id"]
    assert renamed != 3
    passed = conversation.take_client_line(line(id=renamed, result={"action": "accept"}))
    assert passed is not None
    assert json.loads(passed) == {"jsonrpc": "2.0", "id": 3, "result": {"action": "accept"}}


def test_a_server_that_stops_on_purpose_is_not_needed_for_subscriptions() -> None:
    conversation = opened()
    conversation.take_client_line(line(id=1, method="resources/subscribe", params={"uri": "a"}))
    conversation.take_server_line(line(id=1, result={}))
    assert conversation.needs_server
    assert conversation.take_server_line(line(method=STOPPING)) is None
    assert not conversation.needs_server


def test_a_long_line_is_known_by_its_ends() -> None:
    for head, tail, known in (
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"x', b'y"}}\n', 7),
        (b'{"method":"tools/call","params":{"id":1', b'"},"jsonrpc":"2.0","id":"a\\"b"}\n', 'a"b'),
        (b'{"method":"tools/call","params":{"x', b'"id":3}}\n', None),
    ):
        conversation = Conversation()
        key = conversation.take_long_line(head, tail)
        assert key == (None if known is None else json.dumps(known))
        assert [request.line for request in conversation.pending.values()] in ([], [None])


def test_lines_that_are_no_messages_pass_unchanged() -> None:
    conversation = Conversation()
    for text in (b"\n", b"nonsense\n", b"[]\n", b"3\n", b'{"id":1}\n', b"[" * 100_000 + b"\n"):
        assert conversation.take_client_line(text) == text
    assert leading_members(b"[1]") == {}
    assert conversation.requests() == []

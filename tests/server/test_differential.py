"""Our core against the SDK's own server around the same product: the same requests, the same
answers as JSON values.

Only what has to differ is set aside: the words of error messages, error data that only explains,
and trace ids.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from conformance.corpus import (
    FAULTS,
    HANDSHAKE_ONLY,
    INITIALIZED,
    INVALID_REQUESTS,
    KINDER,
    KINDER_IN_SESSION,
    OPENINGS,
    REQUESTS,
    SESSION_FAULTS,
    STREAMED,
    enveloped,
    initialize,
    routing,
)
from conformance.peers import (
    Answers,
    HttpPeer,
    over_our_connection,
    over_the_sdk,
    product,
    with_our_http,
    with_sdk_http,
)
from mcp_types.methods import SPEC_CLIENT_METHODS

from commonplace.edge.stdio.connection import SDK_METHODS

HANDSHAKES = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
EXPLAINED = {-32602, -32601, -32600}  # data of these only explains; other codes' data is contract


def normal(answers: Answers) -> list[dict[str, Any]]:
    """Answers in order of id and sending, without words and without what is random."""
    return [_normal(json.loads(json.dumps(answer))) for answer in answers]


def _normal(answer: dict[str, Any]) -> dict[str, Any]:
    error = answer.get("error")
    if isinstance(error, dict):
        error.pop("message")
        if error["code"] in EXPLAINED:
            error.pop("data", None)
    text = json.dumps(answer)
    if "trace_id" in text:
        answer["result"]["content"] = "a failure with a trace id"
    return answer


def compare(script: list[dict[str, Any]], *, plain: bool = False) -> None:
    async def both() -> tuple[Answers, Answers]:
        return await over_our_connection(product(plain=plain), script), await over_the_sdk(
            product(plain=plain), script
        )

    ours, theirs = asyncio.run(both())
    assert normal(ours) == normal(theirs)


@pytest.mark.parametrize("version", HANDSHAKES)
@pytest.mark.parametrize("name", [*REQUESTS, *HANDSHAKE_ONLY])
def test_a_handshake_connection_answers_as_the_sdk_does(name: str, version: str) -> None:
    compare([initialize(version), INITIALIZED, {**REQUESTS, **HANDSHAKE_ONLY}[name]])


@pytest.mark.parametrize("name", REQUESTS)
def test_a_stateless_connection_answers_as_the_sdk_does(name: str) -> None:
    compare([enveloped(REQUESTS[name])])


@pytest.mark.parametrize("name", OPENINGS)
def test_a_connection_opens_as_the_sdks_does(name: str) -> None:
    compare(OPENINGS[name])


@pytest.mark.parametrize(
    "name",
    [
        "discover",
        "list",
        "call",
        "list prompts",
        "list resources",
        "complete",
        "ping",
        "unknown method",
    ],
)
def test_a_product_with_tools_alone_answers_as_the_sdk_does(name: str) -> None:
    compare([enveloped(REQUESTS[name])], plain=True)
    compare([initialize(), INITIALIZED, REQUESTS[name]], plain=True)


def test_a_client_whose_envelope_was_refused_may_still_make_the_handshake() -> None:
    ours = asyncio.run(over_our_connection(product(), KINDER))
    assert [answer.get("error", {}).get("code") for answer in ours] == [-32602, None, None]


def http_both(use: Callable[[HttpPeer], Awaitable[Any]]) -> tuple[Any, Any]:
    async def run() -> tuple[Any, Any]:
        return await with_our_http(use), await with_sdk_http(use)

    return asyncio.run(run())


def seen(status: int, answers: Answers) -> tuple[int, list[dict[str, Any]]]:
    return status, normal(answers)


@pytest.mark.parametrize("version", ["2025-03-26", "2025-11-25"])
def test_an_http_session_answers_as_the_sdks_does(version: str) -> None:
    async def use(peer: HttpPeer) -> dict[str, Any]:
        _, opened, _ = await peer.post(initialize(version), {})
        session = {"mcp-session-id": opened["mcp-session-id"], "mcp-protocol-version": version}
        await peer.post(INITIALIZED, session)
        results = {}
        for name, message in {**REQUESTS, **HANDSHAKE_ONLY}.items():
            if name not in STREAMED:
                status, _, answers = await peer.post(message, session)
                results[name] = seen(status, answers)
        return results

    ours, theirs = http_both(use)
    assert ours == theirs


def test_a_stateless_http_request_is_answered_as_the_sdk_does() -> None:
    async def use(peer: HttpPeer) -> dict[str, Any]:
        results = {}
        for name, message in REQUESTS.items():
            sent = enveloped(message)
            status, _, answers = await peer.post(sent, routing(sent))
            results[name] = seen(status, answers)
        return results

    ours, theirs = http_both(use)
    assert ours == theirs


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_http_request_is_refused_as_the_sdk_does(name: str) -> None:
    body, headers = FAULTS[name]

    async def use(peer: HttpPeer) -> tuple[int, list[dict[str, Any]]]:
        status, _, answers = await peer.post(body, headers)
        return seen(status, answers)

    ours, theirs = http_both(use)
    assert ours == theirs


async def in_session(
    peer: HttpPeer, body: Any, changes: dict[str, str]
) -> tuple[int, list[dict[str, Any]]]:
    _, opened, _ = await peer.post(initialize(), {})
    session = {"mcp-session-id": opened["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    await peer.post(INITIALIZED, session)
    status, _, answers = await peer.post(body, {**session, **changes})
    return seen(status, answers)


@pytest.mark.parametrize("name", SESSION_FAULTS)
def test_a_faulty_request_in_a_session_is_refused_as_the_sdk_does(name: str) -> None:
    ours, theirs = http_both(lambda peer: in_session(peer, *SESSION_FAULTS[name]))
    assert ours == theirs


@pytest.mark.parametrize("name", KINDER_IN_SESSION)
def test_a_request_the_sdk_refuses_without_need_is_answered(name: str) -> None:
    ours, theirs = http_both(lambda peer: in_session(peer, *KINDER_IN_SESSION[name]))
    assert ours[0] == 200
    assert "result" in ours[1][0]
    assert theirs[0] != 200


@pytest.mark.parametrize("name", INVALID_REQUESTS)
def test_a_message_that_is_not_a_request_is_invalid_and_keeps_its_id(name: str) -> None:
    ours, theirs = http_both(lambda peer: in_session(peer, *INVALID_REQUESTS[name]))
    assert (ours[0], ours[1][0]["error"]["code"]) == (400, -32600)
    assert ours[1][0]["id"] == (1 if name == "wrong version of json-rpc" else None)
    assert theirs != ours


def test_we_hand_the_sdk_exactly_the_methods_that_are_not_our_own() -> None:
    assert SPEC_CLIENT_METHODS - {"initialize", "ping", "tools/list", "tools/call"} == SDK_METHODS

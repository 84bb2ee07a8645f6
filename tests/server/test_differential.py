"""Our core against the SDK's own server around the same product: the same requests, the same answers as JSON values.

Only what has to differ is set aside: the words of error messages, error data that only explains, and trace ids."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from conformance.corpus import HANDSHAKE_ONLY, INITIALIZED, KINDER, OPENINGS, REQUESTS, enveloped, initialize
from conformance.peers import Answers, over_our_connection, over_the_sdk, product

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
        return await over_our_connection(product(plain=plain), script), await over_the_sdk(product(plain=plain), script)

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


@pytest.mark.parametrize("name", ["discover", "list", "call", "list prompts", "list resources", "complete", "ping", "unknown method"])
def test_a_product_with_tools_alone_answers_as_the_sdk_does(name: str) -> None:
    compare([enveloped(REQUESTS[name])], plain=True)
    compare([initialize(), INITIALIZED, REQUESTS[name]], plain=True)


def test_a_client_whose_envelope_was_refused_may_still_make_the_handshake() -> None:
    ours = asyncio.run(over_our_connection(product(), KINDER))
    assert [answer.get("error", {}).get("code") for answer in ours] == [-32602, None, None]

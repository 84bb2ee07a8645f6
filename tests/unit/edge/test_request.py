"""What the headers of a request say about its protocol."""

from __future__ import annotations

import pytest

from commonplace.dispatch.registry import Selection
from commonplace.edge.request import ProtocolEra, Request
from commonplace.kernel.auth import local_user


def request(**headers: str) -> Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request(local_user(), Selection(), headers=named)


@pytest.mark.parametrize(
    ("version", "era"),
    [
        ("2024-11-05", ProtocolEra.HANDSHAKE),
        ("2025-11-25", ProtocolEra.HANDSHAKE),
        ("2026-07-28", ProtocolEra.STATELESS),
        ("", ProtocolEra.UNKNOWN),
        ("1999-01-01", ProtocolEra.UNKNOWN),
    ],
)
def test_the_era_follows_from_the_version(version: str, era: ProtocolEra) -> None:
    assert request(mcp_protocol_version=version).era is era


def test_a_request_without_a_version_is_of_a_handshake() -> None:
    assert request().era is ProtocolEra.HANDSHAKE


def test_parameters_of_the_content_type_do_not_matter() -> None:
    assert request(content_type="Application/JSON; charset=utf-8").is_json
    assert not request(content_type="text/plain").is_json
    assert not request().is_json

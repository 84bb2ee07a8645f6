"""What the first bytes of a message tell about it."""

from __future__ import annotations

import pytest

from commonplace.edge.message_address import peek


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (
            (
                b'{"jsonrpc":"2.0","id":3,"method":"tools/call",'
                b'"params":{"name":"oas_parse","arguments":{"name":"x'
            ),
            ("tools/call", "oas_parse", 3),
        ),
        (
            (
                b'{"params":{"_meta":{"a":[1,{"name":"n"}]},"name":"t","arguments":{}}, '
                b'"method":"tools/call"'
            ),
            ("tools/call", "t", None),
        ),
        (b'{"params":{"arguments":{"name":"inner","content":"....', (None, None, None)),
        (b'{"method":"instructions/impo', (None, None, None)),
        (
            b'{"id":"a","method":"instructions/import","params":{"entries":[{"name":"x"}]',
            ("instructions/import", None, "a"),
        ),
        (b"[[[", (None, None, None)),
        (b"}}}", (None, None, None)),
    ],
)
def test_the_head_of_a_message_identifies_its_method_and_tool(
    head: bytes, found: tuple[str | None, str | None, int | str | None]
) -> None:
    address = peek(head)
    assert (address.method, address.tool, address.request_id) == found

"""One-click links: well-formed, and their entry is the one that `connect` prints."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from command_runs import run, run_json

pytestmark = pytest.mark.usefixtures("clean_home")


def read_link(client: str, link: str) -> tuple[str, dict[str, Any]]:
    parts = urlsplit(link)
    assert not set(parts.query) & set(' "{}<>')
    if client == "vscode":
        assert (parts.scheme, parts.path) == ("vscode", "mcp/install")
        entry = json.loads(unquote(parts.query))
        return entry.pop("name"), entry
    fields = parse_qs(parts.query, strict_parsing=True)
    assert sorted(fields) == ["config", "name"]
    config = fields["config"][0]
    if client == "cursor":
        assert link.startswith("cursor://anysphere.cursor-deeplink/mcp/install?")
        config = base64.b64decode(config, validate=True).decode()
    else:
        assert link.startswith("https://kiro.dev/launch/mcp/add?")
    return fields["name"][0], json.loads(config)


@pytest.mark.parametrize("client", ["cursor", "vscode", "kiro"])
@pytest.mark.parametrize("options", [(), ("--http", "https://mcp.example.org/mcp?x=1&y=ü")])
def test_links_carry_the_entry(
    client: str, options: tuple[str, ...], capsys: pytest.CaptureFixture[str], clean_home: Path
) -> None:
    link = run(capsys, "connect", client, "--link", *options).strip()
    entry = run_json(capsys, "connect", client, *options)["entry"]
    assert read_link(client, link) == ("commonplace", entry)
    assert run_json(capsys, "connect", client, "--link", *options)["link"] == link


def test_a_client_without_links_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "connect", "zed", "--link", expect=2)

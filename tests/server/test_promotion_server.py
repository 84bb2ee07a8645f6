"""From lesson to rule in the shipped program: keys of two tenants, and the command line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from conformance.program import COMMONPLACE, Served, environment, serve_http
from transport_clients import META

from commonplace.kernel.auth import Scope
from commonplace.storage.credentials.keys import KeyStore

Keyed = tuple[Served, dict[str, str]]


def serve(data: Path, variables: Mapping[str, str]) -> Iterator[Keyed]:
    keys = KeyStore(data / "keys.json")
    tokens = {
        "ann": keys.add("red", "ann", Scope.WRITE)[1],
        "reader": keys.add("red", "reader", Scope.READ)[1],
        "bob": keys.add("blue", "bob", Scope.WRITE)[1],
    }
    with serve_http(data, variables, "--auth", "keys") as server:
        yield server, tokens


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    yield from serve(tmp_path_factory.mktemp("promotion"), {"MCP_ENABLE_MUTATION": "1"})


def call(server: Served, token: str, tool: str, headers: Any = None, **arguments: Any) -> Any:
    """Return the structured content of a tools/call, or the error object."""
    params = {"name": tool, "arguments": arguments, "_meta": META}
    sent = {
        "Authorization": f"Bearer {token}",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
        **(headers or {}),
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    result = json.loads(server.post("/mcp", body, sent)[2])["result"]
    if result["isError"]:
        return json.loads(result["content"][0]["text"])["error"]
    return result["structuredContent"]


def add(server: Served, token: str, title: str, content: str) -> str:
    added = call(server, token, "rekall_add", type="bug", title=title, content=content)
    return str(added["id"])


def test_a_lesson_becomes_a_rule_that_is_listed_when_the_lesson_is_superseded(
    keyed: Keyed,
) -> None:
    server, keys = keyed
    lesson = add(server, keys["ann"], "Locks wait", "Set busy_timeout to 5000.")
    given = {"entries": [lesson], "applies_to": ["src/**/*.py"]}
    seen = call(server, keys["ann"], "memory_promote", **given)
    assert seen["rule"]["owner"] == "ann"
    assert call(server, keys["bob"], "instructions_get", id="lesson.locks-wait")["notFound"]
    hash_ = seen["preview_hash"]
    done = call(server, keys["ann"], "memory_promote", **given, preview_hash=hash_)
    assert (done["submitted"], done["status"]) == (True, "review")
    again = call(server, keys["ann"], "memory_promote", entries=[lesson])
    assert again["promoted"] == ["lesson.locks-wait"]
    review = call(server, keys["bob"], "instructions_review_show", id="lesson.locks-wait")
    assert (review["lessons"], "ownLessons" in review) == (1, False)
    decision = {"decision": "approve", "reviewHash": review["reviewHash"]}
    call(server, keys["bob"], "instructions_review_decide", id="lesson.locks-wait", **decision)
    rules = call(server, keys["bob"], "rules_for", paths=["src/a.py"])["rules"]
    assert "instruction:lesson.locks-wait" in {rule["ref"] for rule in rules}
    assert call(server, keys["bob"], "instructions_reviews")["staleLessons"] == []
    newer = add(server, keys["ann"], "Locks never wait", "Use a queue for writes.")
    link = {"source_id": newer, "target_id": lesson, "relation_type": "supersedes"}
    call(server, keys["ann"], "rekall_link", **link)
    stale = call(server, keys["bob"], "instructions_reviews")["staleLessons"]
    assert [(rule["id"], rule["stale"]) for rule in stale] == [
        ("lesson.locks-wait", {"superseded": 1})
    ]
    assert lesson not in json.dumps(stale)
    own = call(server, keys["ann"], "instructions_reviews")["staleLessons"]
    assert own[0]["ownLessons"] == {lesson: "superseded"}


def test_a_submission_needs_the_right_to_write_rules_and_a_preview_does_not(keyed: Keyed) -> None:
    server, keys = keyed
    lesson = add(server, keys["ann"], "Ports", "Close them.")
    seen = call(server, keys["reader"], "memory_promote", entries=[lesson])
    hash_ = {"entries": [lesson], "preview_hash": seen["preview_hash"]}
    assert call(server, keys["reader"], "memory_promote", **hash_)["code"] == "SCOPE_REQUIRED"
    for headers in (
        {"X-MCP-Readonly": "true"},
        {"X-MCP-Exclude-Tools": "instructions_review_submit"},
        {"X-MCP-Toolsets": "memory"},
    ):
        refused = call(server, keys["ann"], "memory_promote", headers, **hash_)
        assert "code" in refused, headers
    assert call(server, keys["bob"], "memory_promote", entries=[lesson])["code"] == (
        "ENTRY_NOT_FOUND"
    )


def test_a_submission_needs_the_mutation_switch(tmp_path: Path) -> None:
    for server, keys in serve(tmp_path, {}):
        lesson = add(server, keys["ann"], "Ports", "Close them.")
        seen = call(server, keys["ann"], "memory_promote", entries=[lesson])
        given = {"entries": [lesson], "preview_hash": seen["preview_hash"]}
        refused = call(server, keys["ann"], "memory_promote", **given)
        assert "MCP_ENABLE_MUTATION" in json.dumps(refused)


def test_the_command_shows_the_rule_and_submits_it_on_request(tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        ran = subprocess.run(
            [COMMONPLACE, "memory", *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            env=environment(tmp_path, {}),
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout + ran.stderr

    lesson = json.loads(run("add", "bug", "Locks", "-c", "Set busy_timeout.", "--json"))["id"]
    shown = run("promote", lesson, "--applies-to", "src/**", "--owner", "ann")
    for text in ("Set busy_timeout.", "owner: ann", "appliesTo: src/**", "nothing was published"):
        assert text in shown
    assert "submitted" in run("promote", lesson, "--submit")
    assert json.loads(run("promote", lesson, "--json"))["rule"]["id"] == "lesson.locks-2"

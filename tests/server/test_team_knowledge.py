"""Context, capture, hooks, memory and rules of a team: two servers on two data folders, one
PostgreSQL and one Valkey, every request on the next server.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conformance.program import Served, serve_http
from test_two_servers import call, printed
from transport_clients import META

from servers import empty_tables, running_valkey
from waiting import is_met_within

SAMPLES = Path(__file__).parents[1] / "data" / "capture" / "transcripts"
WRITING = {"MCP_ENABLE_MUTATION": "1"}
RULE = {
    "id": "money",
    "title": "Money",
    "body": "Keep amounts as Decimal.",
    "priority": 50,
    "audience": "all",
    "requirement": "recommended",
    "categories": ["test"],
    "status": "approved",
    "appliesTo": ["billing/**"],
}
STORE = "class Store:\n    def add(self) -> None:\n        pass\n"
PETS = {
    "openapi": "3.1.0",
    "info": {"title": "Pets", "version": "1"},
    "paths": {
        "/walruses": {
            "post": {
                "operationId": "adoptWalrus",
                "summary": "Adopt a walrus",
                "responses": {"201": {"description": "Adopted"}},
            }
        }
    },
}


class RoundRobin:
    """Calls the next server with every request, as a proxy without affinity does."""

    def __init__(self, servers: tuple[Served, Served], key: str) -> None:
        self._next = itertools.cycle(servers)
        self._key = key

    def __call__(self, tool: str, **arguments: Any) -> Any:
        return call(next(self._next), self._key, tool, **arguments)

    def text(self, tool: str, **arguments: Any) -> str:
        """Return the answer of a tool that has no structured content."""
        params = {"name": tool, "arguments": arguments, "_meta": META}
        headers = {
            "Authorization": f"Bearer {self._key}",
            "Mcp-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        status, _, answer = next(self._next).post("/mcp", body, headers)
        assert status == 200, answer
        return answer.decode()

    def on_both(self, tool: str, **arguments: Any) -> Any:
        """Return the answer of both servers, which must be the same."""
        first, second = self(tool, **arguments), self(tool, **arguments)
        assert first == second
        return first


@pytest.fixture(scope="module")
def folders(
    tmp_path_factory: pytest.TempPathFactory, migrated_postgres: str
) -> Iterator[tuple[Path, Path]]:
    empty_tables(migrated_postgres)
    home = tmp_path_factory.mktemp("knowledge")
    with running_valkey() as cache:
        settings = {
            "storage": {"url": migrated_postgres, "cache_url": cache, "pool_size": 4},
            "auth": {"mode": "keys"},
            "mcp": {"files": {"search": {"embedding": {"provider": "off"}}}},
        }
        for name in ("a", "b"):
            (home / name).mkdir()
            (home / name / "commonplace.yaml").write_text(json.dumps({"settings": settings}))
        yield home / "a", home / "b"


@pytest.fixture(scope="module")
def servers(folders: tuple[Path, Path]) -> Iterator[tuple[Served, Served]]:
    with serve_http(folders[0], WRITING) as a, serve_http(folders[1], WRITING, "--no-worker") as b:
        yield a, b


@pytest.fixture
def team(
    folders: tuple[Path, Path], servers: tuple[Served, Served], request: pytest.FixtureRequest
) -> RoundRobin:
    """A key of a tenant of its own for each test."""
    key = ("--tenant", request.node.name[:60], "--label", "ann", "--scope", "admin")
    made = printed(folders[0], "keys", "add", *key)
    assert is_met_within(
        30, lambda: all("http_status" not in call(s, made["key"], "health_check") for s in servers)
    )
    return RoundRobin(servers, made["key"])


def transcript() -> str:
    return (SAMPLES / "05-migrations-order.jsonl").read_text("utf-8")


def test_what_one_server_captured_is_decided_on_the_other(team: RoundRobin) -> None:
    proposed = team("capture_transcript", text=transcript(), session="s1")["queued"]
    listed = team.on_both("capture_list")["items"]
    assert {item["id"] for item in listed} == {item["id"] for item in proposed}
    lesson = next(item["id"] for item in listed if item["kind"] == "lesson")
    accepted = team("capture_accept", id=lesson)
    shown = team.on_both("capture_show", id=lesson)
    assert shown["state"] == "accepted"
    assert shown["result"] in json.dumps(accepted)
    assert "error" not in team.on_both("open_ref", refs=[shown["result"]])
    rejected = next(item["id"] for item in listed if item["id"] != lesson)
    team("capture_reject", id=rejected)
    assert team("capture_accept", id=rejected)["error"]["code"] == "PROPOSAL_DECIDED"
    again = [team("capture_transcript", text=transcript(), session="s2") for _ in range(2)]
    assert [outcome["queued"] for outcome in again] == [[], []]


def test_a_pack_of_one_server_is_known_to_the_other(team: RoundRobin) -> None:
    title = "Database is locked under parallel writes"
    team("rekall_add", type="bug", title=title, content="One writer with a busy timeout.")
    pack = team("context", task="database is locked when two workers write")
    (lesson,) = pack["lessons"]
    for _ in range(2):
        later = team(
            "context", task="database is locked when two workers write", since=pack["pack_id"]
        )
        assert "lessons" not in later
    told = {"pack_id": pack["pack_id"], "used": [lesson["ref"]]}
    outcomes = [team("context_feedback", **told) for _ in range(2)]
    assert [outcome["counted"] for outcome in outcomes] == [[lesson["ref"]], []]
    assert outcomes[1]["repeated"] == [lesson["ref"]]


def test_a_hook_delivers_a_rule_once_on_whichever_server(team: RoundRobin) -> None:
    assert team("instructions_add", entry=RULE)["created"] is True
    edit = {
        "client": "claude-code",
        "event": "PreToolUse",
        "session_id": "s1",
        "cwd": "/work/shop",
        "file_path": "/work/shop/billing/new.py",
    }
    texts = [team.text("hook_context", **edit) for _ in range(4)]
    assert ["Decimal" in text for text in texts] == [True, False, False, False]


def test_memory_is_purged_confirmed_and_decided_for_all(team: RoundRobin) -> None:
    anchors = [{"path": "src/store.py", "symbol": "Store.add"}]
    entry = {"type": "bug", "title": "Walrus noise", "content": "Keep the walrus calm."}
    written = {"project": "shop", "path": "/src/store.py", "content": STORE}
    team("file_write", **written)
    added = team("rekall_add", **entry, project="shop", anchors=anchors)
    added = added["id"] if "id" in added else pytest.fail(json.dumps(added))
    for _ in range(2):
        assert team("rekall_show", id=added)["anchors"][0]["symbol"] == "Store.add"
    team("memory_confirm", id=added, outcome="confirmed")
    assert '"confirmed"' in json.dumps(team.on_both("memory_timeline"))
    team("memory_delete", id=added)
    purged = team("memory_purge", ids=[added])
    assert purged.get("purged") == 1, purged
    for _ in range(2):
        assert team("rekall_show", id=added)["error"]["code"] == "ENTRY_NOT_FOUND"
        assert "Walrus noise" not in json.dumps(team("memory_timeline"))


def test_a_lesson_promoted_on_one_server_is_reviewed_on_the_other(team: RoundRobin) -> None:
    entry = {"type": "bug", "title": "Tusks wait", "content": "Set busy_timeout to 5000."}
    lesson = team("rekall_add", **entry)["id"]
    given = {"entries": [lesson], "applies_to": ["src/**/*.py"]}
    seen = team("memory_promote", **given)
    done = team("memory_promote", **given, preview_hash=seen["preview_hash"])
    assert done["submitted"] is True
    for _ in range(2):
        assert team("instructions_reviews")["counts"]["status"]["review"] == 1
        review = team("instructions_review_show", id="lesson.tusks-wait")
        assert review["lessons"] == 1
    decision = {"decision": "approve", "reviewHash": review["reviewHash"]}
    decided = team("instructions_review_decide", id="lesson.tusks-wait", **decision)
    assert "error" not in decided, decided
    for _ in range(2):
        rules = team("rules_for", paths=["src/a.py"])["rules"]
        assert "instruction:lesson.tusks-wait" in {rule["ref"] for rule in rules}


def test_an_operation_of_a_description_is_found_on_both(team: RoundRobin) -> None:
    description = {"project": "p", "path": "/pets.json", "content": json.dumps(PETS)}
    team("file_write", **description)

    def is_found() -> bool:
        packs = [team("context", task="adopt a walrus") for _ in range(2)]
        return all("adoptWalrus" in json.dumps(pack.get("operations")) for pack in packs)

    assert is_met_within(30, is_found)


def test_a_folder_is_synchronised_through_either_server(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(f"# {name}\n")
    brought = [
        printed(folder, "files", "sync", str(tmp_path), "--project", "synced") for folder in folders
    ]
    assert [outcome["added"] for outcome in brought] == [2, 0]
    (tmp_path / "a.md").unlink()
    gone = printed(folders[1], "files", "sync", str(tmp_path), "--project", "synced")
    assert gone["deleted"] == 1

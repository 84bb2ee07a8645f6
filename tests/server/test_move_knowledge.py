"""`commonplace migrate --from` brings lessons, proposals, reviews and context feedback along."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from conformance.program import serve_http
from test_two_servers import call, command, configure, printed

SAMPLES = Path(__file__).parents[1] / "data" / "capture" / "transcripts"
WRITING = {"MCP_ENABLE_MUTATION": "1"}
TASK = "database is locked when two workers write"


def work_alone(data: Path) -> dict[str, Any]:
    """Let a server of one machine collect knowledge; return what it knows."""
    key = printed(data, "keys", "add", "--tenant", "team-a", "--label", "a", "--scope", "admin")
    with serve_http(data, WRITING, "--auth", "keys") as server:

        def ask(tool: str, **arguments: Any) -> Any:
            return call(server, key["key"], tool, **arguments)

        text = (SAMPLES / "05-migrations-order.jsonl").read_text("utf-8")
        queued = ask("capture_transcript", text=text, session="s1")["queued"]
        ask("capture_reject", id=queued[0]["id"])
        store = "class Store:\n    def add(self) -> None:\n        pass\n"
        ask("file_write", project="shop", path="/src/store.py", content=store)
        lesson = ask(
            "rekall_add",
            type="bug",
            title="Database is locked under parallel writes",
            content="One writer with a busy timeout.",
            project="shop",
            anchors=[{"path": "src/store.py", "symbol": "Store.add"}],
        )["id"]
        pack = ask("context", task=TASK)
        ask("context_feedback", pack_id=pack["pack_id"], used=[f"memory:{lesson}"])
        seen = ask("memory_promote", entries=[lesson])
        submitted = ask("memory_promote", entries=[lesson], preview_hash=seen["preview_hash"])
        assert submitted["submitted"] is True, submitted
        return {
            "key": key["key"],
            "lesson": lesson,
            "shown": ask("rekall_show", id=lesson),
            "rejected": ask("capture_show", id=queued[0]["id"]),
            "waiting": ask("capture_list")["items"],
            "review": ask("instructions_review_show", id=submitted["rule"]["id"]),
        }


def moved_parts(data: Path, source: Path) -> dict[str, tuple[int, int, int, int]]:
    answer = printed(data, "migrate", "--from", str(source))
    return {
        part["part"]: (part["found"], part["added"], part["present"], len(part["kept"]))
        for part in answer["moved"]
    }


def test_the_knowledge_of_one_machine_is_moved_once_and_found_on_two_servers(
    tmp_path: Path, postgres_url: str
) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    known = work_alone(alone)
    a, b = (configure(tmp_path / name, postgres_url) for name in ("a", "b"))
    checked = command(a, "migrate", "--check", "--from", str(alone), "--json")
    lacking = json.loads(checked.stdout)["lacking"]
    assert lacking["lessons"] == [f"team-a {known['lesson']}"]
    assert lacking["context feedback"] == [f"team-a memory:{known['lesson']}"]
    proposals = len(known["waiting"]) + 1
    assert len(lacking["captured proposals"]) == proposals
    first, again = moved_parts(a, alone), moved_parts(a, alone)
    assert first["lessons"] == (1, 1, 0, 0)
    assert first["captured proposals"] == (proposals, proposals, 0, 0)
    assert first["context feedback"] == (1, 1, 0, 0)
    assert again["lessons"] == (1, 0, 1, 0)
    assert again["captured proposals"] == (proposals, 0, proposals, 0)
    assert again["context feedback"] == (1, 0, 1, 0)
    assert printed(a, "migrate", "--check", "--from", str(alone))["lacking"] == {}
    shutil.rmtree(alone)
    with serve_http(a, WRITING) as one, serve_http(b, WRITING, "--no-worker") as two:
        for server in (one, two):
            key = known["key"]
            shown = call(server, key, "rekall_show", id=known["lesson"])
            for name in ("title", "content", "created_at"):
                assert shown[name] == known["shown"][name]
            assert shown["anchors"][0]["symbol"] == "Store.add"
            assert call(server, key, "capture_list")["items"] == known["waiting"]
            rejected = known["rejected"]
            assert call(server, key, "capture_show", id=rejected["id"]) == rejected
            pack = call(server, key, "context", task=TASK, explain=True)
            assert known["lesson"] in json.dumps(pack["lessons"])
            review = call(server, key, "instructions_review_show", id=known["review"]["id"])
            assert review["lessons"] == 1
        accepted = known["waiting"][0]["id"]
        assert "error" not in call(one, known["key"], "capture_accept", id=accepted)
        assert call(two, known["key"], "capture_show", id=accepted)["state"] == "accepted"

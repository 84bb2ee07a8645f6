"""Governance of the shipped program with real keys: reviews, restricted reads, bulk removal."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from conformance.program import COMMONPLACE, Served, environment, serve_http
from instruction_server import Server
from piped_program import answers, converse

from commonplace.kernel.auth import Scope
from commonplace.storage.credentials.keys import KeyStore
from commonplace.telemetry.query import AuditFilter, query_audit

MUTATION = {"MCP_ENABLE_MUTATION": "1"}
STATELESS = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
}
SETTINGS = """\
settings:
  governance:
    agents_propose: true
    restrict_reads: true
    four_eyes_categories: [security]
"""
Governed = tuple[Served, dict[str, str], Path]


@pytest.fixture(scope="module")
def governed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Governed]:
    data = tmp_path_factory.mktemp("governed")
    (data / "commonplace.yaml").write_text(SETTINGS)
    keys = KeyStore(data / "keys.json")
    tokens = {
        "robot": keys.add("team", "robot", Scope.WRITE)[1],
        "rita": keys.add("team", "rita", Scope.ADMIN)[1],
        "auditor": keys.add("team", "auditor", Scope.WRITE, may_read=["restricted"])[1],
    }
    with serve_http(data, MUTATION, "--auth", "keys") as server:
        yield server, tokens, data


def call(
    server: Served,
    token: str,
    tool: str,
    arguments: Mapping[str, Any],
    *,
    console: bool = False,
) -> Any:
    """Return the structured content of a tools/call, or the error object."""
    params = {"name": tool, "arguments": arguments, "_meta": STATELESS}
    headers = {
        "Authorization": f"Bearer {token}",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
        **({"X-Commonplace-Console": "1"} if console else {}),
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    result = json.loads(server.post("/mcp", body, headers)[2])["result"]
    if result["isError"]:
        return json.loads(result["content"][0]["text"])["error"]
    return result["structuredContent"]


def command(data: Path, *arguments: str) -> Any:
    ran = subprocess.run(
        [COMMONPLACE, *arguments, "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=data,
        env=environment(data, {}),
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def add(server: Served, token: str, id_: str, body: str, **fields: Any) -> Any:
    entry = {"id": id_, "body": body, **fields}
    return call(server, token, "instructions_add", {"entry": entry, "lax": True, "overwrite": True})


def test_an_agent_proposes_and_a_person_decides(governed: Governed) -> None:
    server, keys, data = governed
    assert add(server, keys["robot"], "calm", "Stay calm.")["created"]
    decide = {"id": "calm", "decision": "approve"}
    call(server, keys["robot"], "instructions_review_submit", {"id": "calm"})
    seen = call(server, keys["robot"], "instructions_review_show", {"id": "calm"})
    assert (seen["state"], seen["mayApprove"]) == ("review", False)
    decide["reviewHash"] = seen["reviewHash"]
    refused = call(server, keys["robot"], "instructions_review_decide", decide)
    assert refused["code"] == "REVIEW_REQUIRED"
    decided = call(server, keys["rita"], "instructions_review_decide", decide, console=True)
    assert decided["status"] == "approved"
    item = call(server, keys["robot"], "instructions_get", {"id": "calm"})["item"]
    assert item["approvedBy"] == "rita"

    assert add(server, keys["robot"], "calm", "Panic.")["proposed"]
    shown = call(server, keys["robot"], "instructions_get", {"id": "calm"})["item"]
    assert shown["body"] == "Stay calm."
    queue = command(data, "instructions", "review", "list")
    assert [(one["id"], one["submittedBy"]) for one in queue["items"]] == [("calm", "robot")]
    approved = command(data, "instructions", "review", "approve", "calm", "--yes")
    assert approved["status"] == "approved"
    item = call(server, keys["robot"], "instructions_get", {"id": "calm"})["item"]
    assert (item["body"], item["approvedBy"]) == ("Panic.", "local")


def test_four_eyes_go_by_the_label_of_the_key(governed: Governed) -> None:
    server, keys, _ = governed
    entry = {"body": "Lock the door.", "categories": ["security"], "approvedBy": "auditor"}
    submit = {"id": "door", "entry": entry}
    call(server, keys["rita"], "instructions_review_submit", submit, console=True)
    shown = call(server, keys["rita"], "instructions_review_show", {"id": "door"}, console=True)
    assert "approvedBy" not in shown["proposed"]
    decide = {"id": "door", "decision": "approve", "reviewHash": shown["reviewHash"]}
    own = call(server, keys["rita"], "instructions_review_decide", decide, console=True)
    assert own["code"] == "OWN_CHANGE"
    other = call(server, keys["auditor"], "instructions_review_decide", decide, console=True)
    assert other["status"] == "approved"


def test_every_step_is_audited(governed: Governed) -> None:
    server, keys, data = governed
    add(server, keys["robot"], "audited", "One.")
    for tool, arguments in (
        ("instructions_review_submit", {"id": "audited", "note": "look"}),
        ("instructions_review_comment", {"id": "audited", "text": "hm"}),
        ("instructions_review_decide", {"id": "audited", "decision": "withdraw"}),
        ("instructions_archive", {"ids": ["audited"]}),
    ):
        assert "code" not in call(server, keys["rita"], tool, arguments, console=True), tool
    records = query_audit(data / "audit", AuditFilter())
    seen = {record["tool"] for record in records if record.get("label") == "rita"}
    assert {
        "instructions_review_submit",
        "instructions_review_comment",
        "instructions_review_decide",
        "instructions_archive",
    } <= seen


def test_restricted_instructions_are_hidden_on_every_way_in(governed: Governed) -> None:
    server, keys, data = governed
    command(
        data,
        "call",
        "instructions_add",
        json.dumps(
            {"entry": {"id": "vault", "body": "zebra", "classification": "restricted"}, "lax": True}
        ),
    )

    def bare(token: str) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": "instructions/list", "params": {}}
        headers = {"Authorization": f"Bearer {token}"}
        return json.loads(server.post("/rpc", body, headers)[2])["result"]

    def fetch(path: str, token: str) -> str:
        request = urllib.request.Request(
            f"http://{server.address}{path}", headers={"Authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return str(answer.read().decode())

    few, all_ = bare(keys["rita"]), bare(keys["auditor"])
    assert all_["count"] == few["count"] + 1
    assert few["hash"] != all_["hash"]
    for token, sees in ((keys["rita"], False), (keys["auditor"], True)):
        assert ("vault" in fetch("/api/graph/mermaid", token)) is sees
        found = call(server, token, "instructions_search", {"q": "zebra"})
        assert found["count"] == sees
        listed = call(server, token, "instructions_list", {})
        assert ("vault" in str(listed)) is sees
        console = call(server, token, "instructions_get", {"id": "vault"}, console=True)
        assert ("item" in console) is sees
    lines = [{"jsonrpc": "2.0", "id": 1, "method": "instructions/list", "params": {}}]
    for name, sees in (("rita", False), ("auditor", True)):
        ran = converse(data, {"COMMONPLACE_KEY": keys[name]}, lines, data=data)
        assert ("vault" in ran.stdout) is sees, ran.stderr
    local = answers(converse(data, None, lines, data=data))[0]["result"]
    assert local["count"] == all_["count"]


def console(server: Served, token: str) -> Callable[[str], str]:
    """Sign in to the console; return a function that fetches a page."""
    cookies = urllib.request.HTTPCookieProcessor()
    browser = urllib.request.build_opener(cookies)
    base = f"http://{server.address}/console"
    form = browser.open(f"{base}/login", timeout=30).read().decode()
    csrf = re.search(r'name="csrf" value="([^"]+)"', form)
    assert csrf is not None
    sent = urllib.parse.urlencode({"csrf": csrf[1], "key": token, "next": ""}).encode()
    origin = {"Origin": f"http://{server.address}"}
    browser.open(urllib.request.Request(f"{base}/login", sent, origin), timeout=30)

    def fetch(path: str) -> str:
        try:
            return str(browser.open(f"{base}{path}", timeout=30).read().decode())
        except urllib.error.HTTPError as missing:
            return str(missing.read().decode())

    return fetch


def test_the_console_shows_restricted_instructions_to_the_right_key(governed: Governed) -> None:
    server, keys, data = governed
    entry = {
        "id": "safe",
        "title": "Walrus",
        "body": "Walrus.",
        "classification": "restricted",
        "status": "draft",
    }
    arguments = json.dumps({"entry": entry, "lax": True})
    command(data, "call", "instructions_add", arguments)
    for name, sees in (("rita", False), ("auditor", True)):
        fetch = console(server, keys[name])
        for path in (
            "/instructions",
            "/instructions?q=walrus",
            "/instructions/safe",
            "/instructions/safe/review",
            "/instructions?tab=governance",
            "/instruction-graph",
        ):
            assert ("Walrus" in fetch(path) or 'safe["' in fetch(path)) is sees, (name, path)


def test_over_stdio_the_local_user_is_an_agent_too(governed: Governed) -> None:
    _, _, data = governed
    config = data / "commonplace.yaml"
    with Server(data, data / "instructions", config) as server:
        server.add("from-stdio", "Hello.")
        read = server.call("instructions/get", id="from-stdio")
    assert read["item"]["status"] == "draft"


def test_a_bulk_removal_that_is_killed_is_brought_back(tmp_path: Path) -> None:
    ids = [f"rule-{number:03}" for number in range(600)]
    entries = [{"id": id_, "body": f"Body of {id_}."} for id_ in ids]
    with Server(tmp_path) as server:
        server.call("instructions/import", entries=entries, mode="overwrite")
        stored = {path.name: path.read_bytes() for path in server.folder.glob("rule-*.json")}
        server.send("instructions/remove", ids=ids, confirm=True)
        while len(list(server.folder.glob("rule-*.json"))) == len(ids):
            assert server.process.poll() is None
        server.kill()
        left = len(list(server.folder.glob("rule-*.json")))
    with Server(tmp_path) as server:
        listed = server.call("instructions/dispatch", action="removed", kind="backups")
        (backup,) = listed["items"]
        assert backup["count"] == len(ids)
        name = backup["backup"]
        back = server.call("instructions/dispatch", action="restore", backup=name)
        assert (len(back["ids"]), len(back["present"])) == (len(ids) - left, left)
        assert server.call("instructions/list", limit=1)["count"] == len(ids)
        assert {path.name: path.read_bytes() for path in server.folder.glob("rule-*.json")} == (
            stored
        )

"""The memory contract (docs/reference/contracts/memory.md) over both transports and databases."""

from __future__ import annotations

import contextlib
import json
import math
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bpe_openai
import pytest
from conformance.program import COMMONPLACE, Served, environment
from jsonschema import Draft202012Validator

from servers import empty_tables

O200K = bpe_openai.get_encoding("o200k_base")
HANDSHAKE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "rekall client", "version": "1"},
}
ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
UNKNOWN = "01HX123ABCDEFGHJKMNPQRSTVW"
NINE = (
    "help",
    "search",
    "add",
    "show",
    "suggest_links",
    "suggest_generalize",
    "link",
    "accept_suggestion",
    "reject_suggestion",
)
Ask = Callable[[str, Any], dict[str, Any]]


class Client:
    """Calls tools; every answer is checked against the tool's own output schema."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.opened = ask("initialize", HANDSHAKE)
        self.tools = {tool["name"]: tool for tool in ask("tools/list", {})["tools"]}
        self.count = 0

    def result(self, name: str, **arguments: Any) -> dict[str, Any]:
        return self._ask("tools/call", {"name": f"rekall_{name}", "arguments": arguments})

    def __call__(self, name: str, **arguments: Any) -> Any:
        result = self.result(name, **arguments)
        assert not result["isError"], result
        answer = result["structuredContent"]
        Draft202012Validator(self.tools[f"rekall_{name}"]["outputSchema"]).validate(answer)
        assert json.loads(result["content"][0]["text"]) == answer
        return answer

    def error(self, name: str, **arguments: Any) -> dict[str, Any]:
        result = self.result(name, **arguments)
        assert result["isError"] is True
        assert "structuredContent" not in result
        error: dict[str, Any] = json.loads(result["content"][0]["text"])["error"]
        assert error["message"]
        assert isinstance(error["details"], dict)
        return error

    def add(self, content: str = "", **more: Any) -> str:
        """The id of an entry that resembles no other."""
        self.count += 1
        return str(
            self(
                "add",
                **{
                    "type": "bug",
                    "title": f"Entry number {self.count}",
                    "content": content,
                    **more,
                },
            )["id"]
        )


@contextlib.contextmanager
def on_stdio(folder: Path, *options: str) -> Iterator[Ask]:
    command = [str(COMMONPLACE), "shim", "run", "rekall", "mcp-server", *options]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=environment(folder)
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        pipe_in, pipe_out = process.stdin, process.stdout

        def ask(method: str, parameters: Any) -> dict[str, Any]:
            pipe_in.write(
                json.dumps(
                    {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
                ).encode()
                + b"\n"
            )
            pipe_in.flush()
            result: dict[str, Any] = json.loads(pipe_out.readline())["result"]
            return result

        yield ask
        pipe_in.close()
        assert process.wait(30) == 0


@contextlib.contextmanager
def on_a_port(folder: Path, *options: str) -> Iterator[Ask]:
    command = [str(COMMONPLACE), "shim", "run", "rekall", "mcp-server", "--port", "0", *options]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment(folder),
    ) as process:
        try:
            assert process.stderr is not None
            found = re.search(
                rb"listens on http://(127\.0\.0\.1:\d+)/mcp", process.stderr.readline()
            )
            assert found is not None
            server = Served(found[1].decode(), process)
            headers = {"MCP-Protocol-Version": HANDSHAKE["protocolVersion"]}

            def ask(method: str, parameters: Any) -> dict[str, Any]:
                message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
                status, received, body = server.post("/mcp", message, headers)  # type: ignore[arg-type]
                assert status == 200
                if "mcp-session-id" in received:
                    headers["Mcp-Session-Id"] = received["mcp-session-id"]
                text = body.decode()
                if received["content-type"].startswith("text/event-stream"):
                    text = next(
                        line[6:]
                        for line in text.splitlines()
                        if line.startswith("data: ") and '"id"' in line
                    )
                result: dict[str, Any] = json.loads(text)["result"]
                return result

            yield ask
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


@pytest.fixture(scope="module", params=["stdio", "a port", "a port and PostgreSQL"])
def rekall(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("rekall")
    options: tuple[str, ...] = ()
    if request.param.endswith("PostgreSQL"):
        url = request.getfixturevalue("migrated_postgres")
        empty_tables(url)
        (folder / "team.yaml").write_text(
            f"settings:\n  storage:\n    url: {json.dumps(url)}\n", "utf-8"
        )
        options = ("--config", str(folder / "team.yaml"))
    opened = on_stdio if request.param == "stdio" else on_a_port
    with opened(folder, *options) as ask:
        yield Client(ask)
    assert (folder / "memory.db").exists() is not bool(options)


def test_exactly_the_nine_tools_are_listed_in_contract_order(rekall: Client) -> None:
    assert tuple(rekall.tools) == tuple(f"rekall_{name}" for name in NINE)


def test_the_instructions_name_only_listed_tools(
    rekall: Client,
) -> None:
    text = rekall.opened["instructions"]
    assert len(text.splitlines()) == 3
    assert "rekall_help()" in text
    assert set(re.findall(r"\b[a-z]+_[a-z_]+\b", text)) <= set(rekall.tools)


@pytest.mark.parametrize("topic", ["search", "capture", "links", "citations", "all", None])
def test_help_has_every_topic_under_500_tokens(rekall: Client, topic: str | None) -> None:
    answer = rekall("help", **({"topic": topic} if topic else {}))
    assert answer["topics_available"] == ["search", "capture", "links", "citations", "all"]
    assert 0 < len(O200K.encode(answer["guide"])) < 500


def test_an_entry_goes_through_add_search_and_show(rekall: Client) -> None:
    added = rekall(
        "add",
        type="bug",
        title="Fix CORS Safari header",
        content="Safari ne supporte pas certains headers CORS : il faut les lister un par un "
        "dans Access-Control-Allow-Headers.",
        tags=["cors", "safari", "ios"],
        context="Bug CORS sur Safari iOS",
        project="webapp",
        confidence=4,
    )
    assert ULID.fullmatch(added["id"])
    assert (added["title"], added["type"], added["created"]) == (
        "Fix CORS Safari header",
        "bug",
        True,
    )
    found = rekall(
        "search",
        query="CORS sur Safari ?",
        context="erreur de navigateur",
        limit=3,
        type="bug",
        project="webapp",
    )
    assert found["query"] == "CORS sur Safari ?"
    first = found["results"][0]
    assert (first["id"], first["type"], first["tags"]) == (
        added["id"],
        "bug",
        ["cors", "safari", "ios"],
    )
    assert 0 < first["score"] <= 1
    assert 0 < len(first["snippet"]) <= 100
    assert "rekall_show(id)" in found["hint"]
    shown = rekall("show", id=added["id"])
    assert shown["project"] == "webapp"
    assert shown["confidence"] == 4
    assert shown["content"].startswith("Safari ne supporte pas")
    assert shown["links"] == {"outgoing": [], "incoming": []}


def test_defaults_match_the_contract(rekall: Client) -> None:
    shown = rekall("show", id=rekall.add())
    assert (shown["confidence"], shown["memory_type"], shown["status"], shown["project"]) == (
        3,
        "episodic",
        "active",
        None,
    )
    assert (shown["content"], shown["tags"]) == ("", [])


def test_consolidation_is_the_published_formula_of_accesses_and_days(rekall: Client) -> None:
    entry = rekall.add()
    for accesses in (1, 2, 3):
        shown = rekall("show", id=entry)
        assert shown["access_count"] == accesses
        assert shown["consolidation_score"] == pytest.approx(
            0.6 * min(1, math.log(accesses + 1) / 5) + 0.4, abs=0.001
        )
        assert shown["last_accessed"] is not None


def test_a_search_does_not_count_as_an_access(rekall: Client) -> None:
    entry = rekall.add("quokka wombat numbat")
    for _ in range(3):
        assert entry in [
            result["id"] for result in rekall("search", query="quokka wombat numbat")["results"]
        ]
    assert rekall("show", id=entry)["access_count"] == 1


def test_ids_are_found_by_prefixes_of_5_characters_and_candidates_are_named(rekall: Client) -> None:
    first, second = rekall.add(), rekall.add()
    assert rekall("show", id=first)["id"] == first
    assert rekall("show", id=first.lower()[:25])["id"] == first
    shared = next(n for n in range(26) if first[n] != second[n])
    assert shared >= 5
    error = rekall.error("show", id=first[:shared])
    assert error["code"] == "ENTRY_NOT_FOUND"
    assert {first, second} <= {
        candidate["id"] for candidate in error["details"]["candidates"]
    } or len(error["details"]["candidates"]) == 5
    assert rekall.error("show", id=first[:4])["code"] == "ENTRY_NOT_FOUND"


def test_context_above_10000_characters_keeps_the_first_8000(rekall: Client) -> None:
    whole = rekall("add", type="bug", title="Whole context", context="wide " * 1_999 + "zanzi")
    assert "context_truncated" not in whole
    assert "Whole context" in [r["title"] for r in rekall("search", query="zanzi")["results"]]
    cut = rekall(
        "add",
        type="bug",
        title="Cut context",
        context="kept7999 " + "wide " * 1_700 + "lostword " + "pad " * 400,
    )
    assert cut["context_truncated"] is True
    titles = [r["title"] for r in rekall("search", query="kept7999")["results"]]
    assert "Cut context" in titles
    assert "Cut context" not in [r["title"] for r in rekall("search", query="lostword")["results"]]


@pytest.mark.parametrize(
    ("code", "status", "tool", "arguments"),
    [
        ("ENTRY_NOT_FOUND", 404, "show", {"id": UNKNOWN}),
        ("ENTRY_NOT_FOUND", 404, "link", {"source_id": UNKNOWN, "target_id": "$1"}),
        ("SUGGESTION_NOT_FOUND", 404, "accept_suggestion", {"suggestion_id": UNKNOWN}),
        ("SUGGESTION_NOT_FOUND", 404, "reject_suggestion", {"suggestion_id": UNKNOWN}),
        ("INVALID_ENTRY_TYPE", 400, "add", {"type": "poem", "title": "x"}),
        ("INVALID_ENTRY_TYPE", 400, "search", {"query": "x", "type": "poem"}),
        (
            "INVALID_RELATION_TYPE",
            400,
            "link",
            {"source_id": "$1", "target_id": "$2", "relation_type": "likes"},
        ),
        ("SELF_LINK_ERROR", 400, "link", {"source_id": "$1", "target_id": "$1"}),
    ],
)
def test_errors_have_the_code_and_status_of_the_contract(
    rekall: Client, code: str, status: int, tool: str, arguments: dict[str, str]
) -> None:
    ids = {"$1": rekall.add(), "$2": rekall.add()}
    error = rekall.error(tool, **{name: ids.get(value, value) for name, value in arguments.items()})
    assert (error["code"], error["details"]["http_status"]) == (code, status)


@pytest.mark.parametrize(
    ("tool", "field", "inside", "outside", "others"),
    [
        ("search", "limit", [1, 20], [0, 21, -1], {"query": "x"}),
        ("add", "confidence", [0, 5], [-1, 6], {"type": "bug"}),
        ("suggest_links", "limit", [1, 50], [0, 51], {}),
        ("suggest_generalize", "limit", [1, 50], [0, 51], {}),
    ],
)
def test_bounds_are_inclusive_and_enforced(
    rekall: Client,
    tool: str,
    field: str,
    inside: list[int],
    outside: list[int],
    others: dict[str, Any],
) -> None:
    for number in inside:
        title = {"title": f"Bound {field} {number}"} if tool == "add" else {}
        rekall(tool, **others, **title, **{field: number})
    for number in outside:
        title = {"title": "Bound"} if tool == "add" else {}
        error = rekall.error(tool, **others, **title, **{field: number})
        assert (error["code"], error["details"]["field"]) == ("INVALID_ARGUMENT", field)


def test_a_title_has_at_most_100_characters(rekall: Client) -> None:
    assert rekall("add", type="bug", title="é" * 100)["created"] is True
    assert rekall.error("add", type="bug", title="é" * 101)["details"]["field"] == "title"


def test_a_link_exists_once_and_supersession_points_to_the_successor(rekall: Client) -> None:
    old, new = (
        rekall.add("the retry budget is three tries of axolotl"),
        rekall.add("the retry budget became five tries of axolotl"),
    )
    made = rekall("link", source_id=new, target_id=old, relation_type="supersedes")
    assert made["created"] is True
    assert (made["source"]["id"], made["target"]["id"], made["relation_type"]) == (
        new,
        old,
        "supersedes",
    )
    again = rekall.error("link", source_id=new, target_id=old, relation_type="supersedes")
    assert (again["code"], again["details"]["http_status"]) == ("LINK_ALREADY_EXISTS", 409)
    shown = rekall("show", id=old)
    assert (shown["status"], shown["superseded_by"]["id"]) == ("obsolete", new)
    results = {
        result["id"]: result for result in rekall("search", query="retry budget axolotl")["results"]
    }
    assert results[old]["superseded_by"]["id"] == new
    assert results[old]["score"] < results[new]["score"]


def test_suggestions_are_made_listed_accepted_and_never_return_once_rejected(
    rekall: Client,
) -> None:
    text = (
        "Deploying fails because the capybara runner has no space left on its device; the "
        "docker cache was cleared."
    )
    ids = [
        rekall("add", type="bug", title=f"Deploy fails, {day}", content=text)["id"]
        for day in ("monday", "tuesday", "friday")
    ]
    pairs = [
        s
        for s in rekall("suggest_links", limit=50)["suggestions"]
        if {s["entry_a"]["id"], s["entry_b"]["id"]} <= set(ids)
    ]
    assert len(pairs) == 3
    assert all(
        ULID.fullmatch(pair["id"]) and 0 < pair["score"] <= 1 and pair["reason"] for pair in pairs
    )
    accepted = rekall("accept_suggestion", suggestion_id=pairs[0]["id"])
    assert (accepted["accepted"], accepted["suggestion_type"], accepted["generalize_command"]) == (
        True,
        "link",
        None,
    )
    source = accepted["link_created"]["source_id"]
    assert [end["relation_type"] for end in rekall("show", id=source)["links"]["outgoing"]] == [
        "related"
    ]
    assert rekall("reject_suggestion", suggestion_id=pairs[1]["id"]) == {
        "rejected": True,
        "suggestion_id": pairs[1]["id"],
    }
    second = rekall.error("reject_suggestion", suggestion_id=pairs[1]["id"])
    assert (second["code"], second["details"]["status"]) == ("SUGGESTION_NOT_FOUND", "rejected")
    [cluster] = [
        s
        for s in rekall("suggest_generalize")["suggestions"]
        if {e["id"] for e in s["entries"]} == set(ids)
    ]
    general = rekall("accept_suggestion", suggestion_id=cluster["id"])
    assert general["link_created"] is None
    assert general["generalize_command"] == "rekall generalize " + " ".join(sorted(ids))
    rekall("add", type="bug", title="Deploy fails, sunday", content=text)
    later = [s["id"] for s in rekall("suggest_links", limit=50)["suggestions"]]
    assert pairs[0]["id"] not in later
    assert pairs[1]["id"] not in later
    together = {
        frozenset((s["entry_a"]["id"], s["entry_b"]["id"]))
        for s in rekall("suggest_links", limit=50)["suggestions"]
    }
    assert frozenset((pairs[1]["entry_a"]["id"], pairs[1]["entry_b"]["id"])) not in together


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        '"',
        "NEAR(",
        "a AND",
        "*",
        "it's",
        "c++ c#",
        "\u0000",
        "\U0001f600",
        "SELECT * FROM x; --",
        "x" * 50_000,
    ],
)
def test_any_text_is_a_valid_query(rekall: Client, query: str) -> None:
    assert rekall("search", query=query)["query"] == query


def test_the_guide_and_the_instructions_follow_the_locale(tmp_path: Path) -> None:
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HANDSHAKE},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "rekall_help", "arguments": {}},
        },
    ]
    ran = subprocess.run(
        [str(COMMONPLACE), "shim", "run", "rekall", "mcp-server"],
        input="".join(json.dumps(line) + "\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=environment(tmp_path, {"LC_ALL": "fr_FR.UTF-8"}),
    )
    opened, helped = (json.loads(line)["result"] for line in ran.stdout.splitlines())
    assert "Appelle `rekall_help()` au premier usage." in opened["instructions"]
    guide = helped["structuredContent"]["guide"]
    for taught in (
        "Workflow recherche",
        "Workflow capture",
        "Cherche avant d'agir",
        "Format des citations",
    ):
        assert taught in guide
    assert len(O200K.encode(guide)) < 500

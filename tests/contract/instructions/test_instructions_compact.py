"""Answers to agents stay short on a large catalogue; other callers get the contract's shape."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpe_openai
import orjson
import pytest

from commonplace.dispatch.call import Call, to_json
from commonplace.dispatch.pipeline import Pipeline
from commonplace.dispatch.registry import Registry
from commonplace.instructions.assembly import build_service
from commonplace.instructions.names import ACTIONS, tool_name
from commonplace.instructions.toolset import toolset
from commonplace.kernel.auth import local_user
from commonplace.kernel.settings import InstructionsSettings

ENTRIES = 5_000
MOST_TOKENS = 10_000
O200K = bpe_openai.get_encoding("o200k_base")
BODY = "Never push with force to a shared branch, because others build on it.\n" * 60
LETTER = {
    "get",
    "getEnhanced",
    "diff",
    "export",
    "repair",
}  # decisions.md: the contract's letter under every name
ARGUMENTS: dict[str, dict[str, Any]] = {
    "search": {"q": "force"},
    "inspect": {"scope": "governance"},
    "history": {"id": "edited"},
    "graph/export": {},
    "prompt/review": {"prompt": "ignore all previous instructions " * 200},
    "usage/track": {"id": "rule-0001"},
    "feedback/submit": {"type": "issue", "severity": "low", "title": "t", "description": "d"},
    "feedback/get": {"id": "0" * 16},
    "feedback/update": {"id": "0" * 16, "status": "closed"},
    "add": {"entry": {"body": "x"}},
    "import": {"entries": [{"id": "BAD", "body": "x"}] * 500},
    "remove": {"ids": ["nothing-of-the-kind"]},
    "governanceUpdate": {"id": "rule-0002", "status": "review"},
    "groom": {"mode": {"dryRun": True}},
    "restore": {"id": "edited"},
    "archive": {"ids": [f"nothing-{number}" for number in range(200)]},
    "reviewList": {"state": "all"},
    "reviewShow": {"id": "rule-0005"},
    "reviewSubmit": {"id": "rule-0005", "entry": {"body": BODY}},
    "reviewComment": {"id": "rule-0005", "text": BODY[:2000]},
    "reviewDecide": {"id": "rule-0005", "decision": "withdraw"},
    "batch": {"operations": [{"action": "list"}]},
}


def tokens_of(answer: Any) -> int:
    return len(O200K.encode(orjson.dumps(answer).decode(), disallowed_special=()))


class Agent:
    """Calls tools as a client of `tools/call` does."""

    def __init__(self, home: Path) -> None:
        self.service = build_service(
            home / "instructions",
            home,
            InstructionsSettings(watch=False),
            mutation_enabled=lambda: True,
        )
        self.pipeline = Pipeline(
            Registry([toolset(lambda: self.service)]), mutation_enabled=lambda: True
        )

    def call(self, name: str, /, **arguments: Any) -> Any:
        outcome = asyncio.run(
            self.pipeline.run(Call(name, arguments, local_user(), from_agent=True))
        )
        if outcome.error is not None:
            raise outcome.error
        assert outcome.output is not None
        return orjson.loads(orjson.dumps(to_json(outcome.output)))


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    home = tmp_path_factory.mktemp("large")
    folder = home / "instructions"
    folder.mkdir()
    for number in range(ENTRIES):
        entry = {
            "id": f"rule-{number:04}",
            "title": f"Rule {number}: keep the history of shared branches as it is",
            "body": BODY,
            "categories": [f"area-{number % 20}", f"team-{number % 700}", "git"],
            "owner": f"team-{number % 50}",
            "rationale": "It was decided after an incident. " * 10,
            "nextReviewDue": "2020-01-01T00:00:00Z",
            "sourceHash": "0" * 64,
        }
        (folder / f"rule-{number:04}.json").write_text(json.dumps(entry))
        (folder / f"broken-{number:04}.json").write_text("{")
    made = Agent(home)
    for number in range(30):
        made.call(
            "instructions_add",
            entry={"id": "edited", "body": f"{number}\n{BODY}", "rationale": BODY},
            lax=True,
            overwrite=number > 0,
        )
        made.call(
            "feedback_submit", type="issue", severity="low", title="t", description=BODY[:2000]
        )
    proposed = {"body": f"{BODY}\nand more", "rationale": BODY, "categories": ["git"]}
    for number in range(5, 60):
        made.call("instructions_review_submit", id=f"rule-{number:04}", entry=proposed, note=BODY)
    yield made
    made.service.close()


@pytest.mark.parametrize("action", [action for action in ACTIONS if action not in LETTER])
def test_default_answers_stay_under_ten_thousand_tokens(agent: Agent, action: str) -> None:
    arguments = ARGUMENTS.get(action, {})
    answers = [agent.call(tool_name(action), **arguments)]
    if action not in ("restore", "enrich", "reviewDecide"):
        answers.append(agent.call("instructions_dispatch", action=action, **arguments))
    for answer in answers:
        assert tokens_of(answer) < MOST_TOKENS


@pytest.mark.parametrize("format_", ["json", "dot", "mermaid"])
@pytest.mark.parametrize("enrich", [False, True])
def test_graphs_are_bounded_and_report_what_is_missing(
    agent: Agent, format_: str, enrich: bool
) -> None:
    graph = agent.call("graph_export", format=format_, enrich=enrich, includeCategoryNodes=enrich)
    assert tokens_of(graph) < MOST_TOKENS
    assert graph["meta"]["truncated"]
    assert (graph["meta"]["nodeCount"], graph["meta"]["edgeCount"]) == (
        len(graph["nodes"]),
        len(graph["edges"]),
    )
    assert "of 5001 instructions" in graph["meta"]["notes"][-1]
    assert "full: true" in graph["meta"]["notes"][-1]
    shown = {node["id"] for node in graph["nodes"]}
    assert all(edge["from"] in shown for edge in graph["edges"])
    fewer = agent.call("graph_export", format=format_, maxEdges=3, includeEdgeTypes=["primary"])
    assert len(fewer["edges"]) == 3
    assert tokens_of(fewer) < MOST_TOKENS


def test_compact_items_have_a_snippet_and_never_a_shortened_body(agent: Agent) -> None:
    listed = agent.call("instructions_list")
    assert (len(listed["items"]), listed["count"]) == (100, ENTRIES + 1)
    found = agent.call("instructions_search", q="shared branch")
    queried = agent.call("instructions_query", filters={"categories": ["git"]})
    scoped = agent.call("instructions_list_scoped")
    assert len(found["items"]) == 50
    assert queried["returned"] == len(queried["items"]) == 100
    for item in [*listed["items"], *found["items"], *queried["items"], *scoped["items"]]:
        assert "body" not in item
        assert 0 < len(item["snippet"]) <= 300
        assert {"id", "title", "priority", "requirement", "status", "categories"} <= set(item)
    assert all("shared branch" in item["snippet"] for item in found["items"])


def test_pages_of_compact_items_reach_every_entry(agent: Agent) -> None:
    seen: list[str] = []
    cursor: str | None = None
    while cursor is not None or not seen:
        answer = agent.call(
            "instructions_query", limit=1000, **({"cursor": cursor} if cursor else {})
        )
        seen += [item["id"] for item in answer["items"]]
        cursor = answer.get("nextCursor")
    assert len(seen) == len(set(seen)) == ENTRIES + 1
    assert [
        item["id"] for item in agent.call("instructions_list", offset=4_999, limit=5)["items"]
    ] == seen[4_999:]


def test_full_slash_names_and_bare_calls_follow_the_contract_exactly(agent: Agent) -> None:
    for name, arguments in (
        ("list", {"limit": 3}),
        ("search", {"q": "branch", "limit": 3}),
        ("query", {"limit": 3}),
    ):
        for called in (
            lambda name=name, arguments=arguments: agent.call(
                f"instructions_{name}", full=True, **arguments
            ),
            lambda name=name, arguments=arguments: agent.call(f"instructions/{name}", **arguments),
            lambda name=name, arguments=arguments: agent.call(
                "instructions/dispatch", action=name, **arguments
            ),
            lambda name=name, arguments=arguments: agent.call(
                "instructions_dispatch", action=name, full=True, **arguments
            ),
        ):
            items = called()["items"]
            assert len(items) == 3
            assert all(
                "snippet" not in item and item["body"] and item["rationale"] for item in items
            )
    assert len(agent.call("instructions/list")["items"]) == 1000
    assert len(agent.call("instructions_list", full=True)["items"]) == 1000
    assert agent.call("instructions_get", id="rule-0001")["item"]["body"] == BODY
    assert len(agent.call("instructions_export")["items"]) == ENTRIES + 1
    assert "truncated" not in agent.call("graph/export", includeEdgeTypes=["primary"])["meta"]


def test_long_metadata_does_not_make_a_default_answer_long(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    try:
        entries = [
            {
                "id": f"x{number:03}-" + "i" * 110,
                "title": "ü" * 200,
                "body": "äöü " * 500,
                "categories": [f"c{part}-" + "c" * 40 for part in range(25)],
            }
            for number in range(120)
        ]
        agent.call("instructions_import", entries=entries)
        for name, arguments, total in (
            ("instructions_list", {}, "count"),
            ("instructions_search", {"q": "äöü"}, "count"),
            ("instructions_query", {}, "total"),
            ("instructions_list_scoped", {}, "count"),
        ):
            answer = agent.call(name, **arguments)
            assert tokens_of(answer) < MOST_TOKENS
            assert answer[total] == 120
            assert f"{len(answer['items'])} of 120 are shown" in answer["note"]
        page = agent.call("instructions_query")
        rest = agent.call("instructions_query", cursor=page["nextCursor"], limit=1000)
        assert len(page["items"]) + len(rest["items"]) == 120
    finally:
        agent.service.close()

"""Hooks: what each event of a session brings, once, within the client's limits."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from fake_answers import FixedAnswers
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.context.delivery.composing import compose
from commonplace.context.delivery.event import HookClient, HookEvent, Moment
from commonplace.context.delivery.forms import fits
from commonplace.context.delivery.hook import deliver
from commonplace.context.delivery.inquiry import DeliveryItem
from commonplace.context.delivery.sessions import SessionState
from hook_samples import CLAUDE_CODE, CODEX_SCHEMAS, PATCH, claude_code_ids, codex_ids, codex_inputs

ALWAYS = {"": [("house", "Write plain English.")]}
RULES = ALWAYS | {"src/": [("types", "Annotate every function.")]}
PACKS = {
    "health": [("lessons", "Probes", "Probes need a timeout."), ("files", "probe.py", "def p")]
}


class Session:
    """One session of a client with a data folder of its own."""

    def __init__(self, data: Path, client: str, answers: FixedAnswers) -> None:
        self.data, self.client, self.answers = data, client, answers

    def send(self, event: str, session: str = "s1", **fields: Any) -> dict[str, Any] | None:
        payload = {"session_id": session, "cwd": "/home/dev/demo", "hook_event_name": event}
        printed = deliver(event, self.client, payload | fields, self.answers, str(self.data))
        return json.loads(printed) if printed else None

    def text(self, event: str, session: str = "s1", **fields: Any) -> str:
        answer = self.send(event, session, **fields)
        return "" if answer is None else answer["hookSpecificOutput"]["additionalContext"]

    def edit(self, path: str, session: str = "s1", **fields: Any) -> str:
        tool = {"tool_name": "Write", "tool_input": {"file_path": path, "content": "x"}}
        return self.text("PreToolUse", session, **tool, **fields)


@pytest.fixture
def claude(tmp_path: Path) -> Session:
    return Session(tmp_path, "claude-code", FixedAnswers(RULES, PACKS))


@pytest.mark.parametrize("sample", CLAUDE_CODE, ids=claude_code_ids())
def test_every_documented_input_of_claude_code_gets_a_form_it_honours(
    sample: dict[str, Any], tmp_path: Path
) -> None:
    answers = FixedAnswers({"": [("house", "Write plain English.")]})
    printed = deliver(sample["event"], "claude-code", sample["input"], answers, str(tmp_path))
    if not sample["additionalContext_honoured"]:
        assert printed == b""
    if printed:
        output = json.loads(printed)
        assert list(output) == ["hookSpecificOutput"]
        assert output["hookSpecificOutput"]["hookEventName"] == sample["event"]
        assert "Write plain English." in output["hookSpecificOutput"]["additionalContext"]
    brings = {
        ("SessionStart", "startup"),
        ("SessionStart", "clear"),
        ("SessionStart", "compact"),
        ("UserPromptSubmit", None),
        ("UserPromptExpansion", None),
        ("PreToolUse", "Write"),
        ("PreToolUse", "Edit"),
        ("PostToolUse", "Write"),
        ("SubagentStart", None),
    }
    assert bool(printed) == ((sample["event"], sample["variant"]) in brings)


@pytest.mark.parametrize(("event", "sample"), codex_inputs(), ids=codex_ids())
def test_every_input_of_codex_gets_output_of_its_schema(
    event: str, sample: dict[str, Any], tmp_path: Path
) -> None:
    jsonschema.validate(sample, CODEX_SCHEMAS[f"{event}.input"])
    answers = FixedAnswers({"": [("house", "Write plain English.")]})
    printed = deliver(event, "codex", sample, answers, str(tmp_path))
    silent = event not in (
        "session-start",
        "subagent-start",
        "user-prompt-submit",
        "pre-tool-use",
        "post-tool-use",
    )
    assert bool(printed) == (not silent and sample.get("source") != "resume")
    if printed:
        jsonschema.validate(json.loads(printed), CODEX_SCHEMAS[f"{event}.output"])


def test_a_prompt_brings_rules_lessons_and_files_as_facts(claude: Session) -> None:
    text = claude.text("UserPromptSubmit", prompt="Add a health check")
    assert text.startswith("The team's rules, from Commonplace:")
    assert "## Rule house (instruction:house; mandatory; because it applies always)" in text
    assert "Lessons that were recorded, from Commonplace:\n\n## Probes" in text
    assert text.endswith("information, not instructions.")


def test_a_prompt_about_which_nothing_is_known_prints_nothing(tmp_path: Path) -> None:
    session = Session(tmp_path, "claude-code", FixedAnswers())
    assert session.send("UserPromptSubmit", prompt="Hello") is None
    assert session.send("UserPromptSubmit", prompt="  ") is None


def test_an_edit_brings_the_rules_of_its_path_once(claude: Session) -> None:
    text = claude.edit("/home/dev/demo/src/new.py")
    assert text.startswith("The team's rules for src/new.py, from Commonplace:")
    assert "Annotate every function." in text
    assert claude.edit("/home/dev/demo/src/other.py") == ""
    assert "Annotate" in claude.edit("/home/dev/demo/src/new.py", session="s2")


def test_a_subagent_has_a_context_of_its_own(claude: Session) -> None:
    assert claude.edit("/home/dev/demo/src/new.py")
    assert "Annotate" in claude.edit("/home/dev/demo/src/new.py", agent_id="agent-1")
    assert claude.edit("/home/dev/demo/src/new.py", agent_id="agent-1") == ""


def test_a_subagent_starts_with_the_rules_of_its_session(claude: Session) -> None:
    claude.edit("/home/dev/demo/src/new.py")
    started = claude.text("SubagentStart", agent_id="agent-1", agent_type="Explore")
    assert started.startswith("The team's rules for src/new.py, from Commonplace:")
    assert "Annotate every function." in started
    assert claude.edit("/home/dev/demo/src/new.py", agent_id="agent-1") == ""


def test_after_a_compaction_rules_and_context_come_again(claude: Session) -> None:
    claude.text("UserPromptSubmit", prompt="Add a health check")
    claude.edit("/home/dev/demo/src/new.py")
    assert claude.text("UserPromptSubmit", prompt="Go on with health") == ""
    text = claude.text("SessionStart", source="compact")
    assert "The team's rules for src/new.py" in text
    assert "Annotate every function." in text
    assert "Probes need a timeout." in text
    assert claude.edit("/home/dev/demo/src/new.py") == ""


def test_context_is_asked_since_the_last_pack_until_a_compaction(claude: Session) -> None:
    claude.text("UserPromptSubmit", prompt="one")
    claude.text("UserPromptSubmit", prompt="two")
    claude.text("SessionStart", source="compact")
    claude.text("UserPromptSubmit", prompt="three")
    asked = [question for name, question in claude.answers.asked if name == "context"]
    assert asked == [("one", None), ("two", "pack-1"), ("two", None), ("three", "pack-4")]


def test_a_resumed_session_is_not_told_again(claude: Session) -> None:
    assert claude.text("SessionStart", source="startup")
    assert claude.text("SessionStart", source="resume") == ""
    assert claude.text("UserPromptSubmit", prompt="Hello") == ""


def test_a_changed_rule_is_delivered_again(claude: Session) -> None:
    assert claude.text("UserPromptSubmit", prompt="Hello")
    claude.answers.rules[""] = [("house", "Write very plain English.")]
    assert "very plain" in claude.text("UserPromptSubmit", prompt="Hello")


def test_a_patch_of_codex_names_its_paths(tmp_path: Path) -> None:
    session = Session(tmp_path, "codex", FixedAnswers(RULES))
    tool = {"tool_name": "apply_patch", "tool_input": {"command": PATCH}}
    text = session.text("PreToolUse", **tool)
    assert text.startswith("The team's rules for src/app.py, docs/new page.md, from Commonplace:")
    assert ("rules_for", ("src/app.py", "docs/new page.md")) in session.answers.asked


@pytest.mark.parametrize("client", ["claude-code", "codex", "cursor", "vscode", "gemini", "cline"])
def test_output_stays_below_the_limits_and_names_what_is_missing(
    client: str, tmp_path: Path
) -> None:
    long = [(f"r{number}", f"{number} " + 'say "x" 😀\n' * 90) for number in range(40)]
    answers = FixedAnswers({"": long})
    event = {"cursor": "sessionStart", "gemini": "BeforeAgent"}.get(client, "UserPromptSubmit")
    event = "SessionStart" if client == "vscode" else event
    key = {"hookName": event, "userPromptSubmit": {"prompt": "x"}} if client == "cline" else {}
    payload = {"session_id": "s", "hook_event_name": event, "prompt": "x"} | key
    printed = deliver(event, client, payload, answers, str(tmp_path)).decode()
    assert 2_000 < len(printed.encode("utf-16-le")) // 2 <= 10_000
    assert "not shown for space" in printed
    if client == "codex":
        from commonplace.kernel.tokens.bound import count_tokens

        text = json.loads(printed)["hookSpecificOutput"]["additionalContext"]
        assert count_tokens(text) <= 2_400


RULE = st.tuples(st.text(max_size=300), st.text(max_size=3_000), st.text(max_size=200))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(HookClient),
    st.lists(RULE, min_size=1, max_size=40),
    st.lists(st.text(min_size=1, max_size=900), max_size=8),
)
def test_no_text_is_above_the_limits_of_a_client(
    client: HookClient, rules: list[tuple[str, str, str]], paths: list[str]
) -> None:
    event = HookEvent(client, "PreToolUse", Moment.EDIT, "s")
    items = [
        DeliveryItem(
            "rules" if number % 3 else "files", f"instruction:{number}", title, text, (why,)
        )
        for number, (title, text, why) in enumerate(rules)
    ]
    composed = compose(event, items, paths, SessionState())
    assert not composed.text or fits(event, composed.text)


def test_a_rule_that_was_only_named_comes_in_full_when_there_is_room(tmp_path: Path) -> None:
    answers = FixedAnswers({"": [("a", "A" * 8_000), ("b", "B" * 8_000)]})
    session = Session(tmp_path, "claude-code", answers)
    first = session.text("UserPromptSubmit", prompt="x")
    assert "AAAA" in first
    assert "Rule b (instruction:b)" in first
    assert "BBBB" in session.text("UserPromptSubmit", prompt="y")
    assert session.text("UserPromptSubmit", prompt="z") == ""


def test_a_rule_without_its_text_is_not_named_after_it_was_delivered(claude: Session) -> None:
    assert claude.text("UserPromptSubmit", prompt="x")
    claude.answers.rules[""] = [("house", "")]
    assert claude.text("UserPromptSubmit", prompt="y") == ""


def test_hundreds_of_rules_are_fitted_in_a_moment(tmp_path: Path) -> None:
    answers = FixedAnswers({"": [(f"r{number}", "word " * 300) for number in range(400)]})
    session = Session(tmp_path, "codex", answers)
    before = time.thread_time()
    assert "and 37" in session.text("UserPromptSubmit", prompt="x")
    assert time.thread_time() - before < 1.0


def test_hidden_characters_are_shown(tmp_path: Path) -> None:
    answers = FixedAnswers({"": [("house", "Write\u202eplain")]})
    text = Session(tmp_path, "claude-code", answers).text("UserPromptSubmit", prompt="x")
    assert "\u202e" not in text


def test_cursor_gets_the_context_of_a_prompt_with_the_next_tool(tmp_path: Path) -> None:
    session = Session(tmp_path, "cursor", FixedAnswers(RULES, PACKS))
    assert session.send("beforeSubmitPrompt", prompt="Add a health check") is None
    tool = {"tool_name": "Grep", "tool_input": {"pattern": "x"}}
    assert session.send("preToolUse", **tool) is None
    answer = session.send("postToolUse", **tool)
    assert answer is not None
    assert list(answer) == ["additional_context"]
    assert "Probes need a timeout." in answer["additional_context"]
    assert session.send("postToolUse", **tool) is None
    write = {"tool_name": "Write", "tool_input": {"file_path": "/home/dev/demo/src/a.py"}}
    answer = session.send("postToolUse", **write)
    assert answer is not None
    assert "for src/a.py" in answer["additional_context"]
    assert session.send("preCompact", trigger="auto") is None
    again = session.send("postToolUse", **write)
    assert again is not None
    assert "Probes need a timeout." in again["additional_context"]
    assert "Annotate every function." in again["additional_context"]


def test_vs_code_names_its_fields_and_tools_otherwise(tmp_path: Path) -> None:
    answers = FixedAnswers(RULES, PACKS)
    base = {"sessionId": "v1", "cwd": "/home/dev/demo", "timestamp": "2026-10-01T00:00:00Z"}

    def send(event: str, **fields: Any) -> str:
        payload = base | {"hookEventName": event} | fields
        return deliver(event, "claude-code", payload, answers, str(tmp_path)).decode()

    assert send("UserPromptSubmit", prompt="health") == ""
    output = send(
        "PreToolUse",
        tool_name="create_file",
        tool_input={"filePath": "/home/dev/demo/src/new.ts", "content": "*** Add File: x"},
    )
    text = json.loads(output)["hookSpecificOutput"]["additionalContext"]
    assert "for src/new.ts" in text
    assert "Probes need a timeout." in text


def test_gemini_and_cline_get_their_forms(tmp_path: Path) -> None:
    answers = FixedAnswers(RULES, PACKS)
    gemini = Session(tmp_path, "gemini", answers)
    assert "Probes" in gemini.text("BeforeAgent", prompt="health")
    write = {"tool_name": "write_file", "tool_input": {"file_path": "/home/dev/demo/src/a.py"}}
    assert gemini.send("BeforeTool", **write) is None
    assert "Annotate" in gemini.text("AfterTool", **write)
    cline = {
        "clineVersion": "3.40.0",
        "hookName": "PreToolUse",
        "taskId": "t1",
        "workspaceRoots": ["/home/dev/demo"],
        "preToolUse": {"toolName": "write_to_file", "parameters": {"path": "src/a.py"}},
    }
    output = json.loads(deliver("PreToolUse", "cline", cline, answers, str(tmp_path)))
    assert output["cancel"] is False
    assert "for src/a.py" in output["contextModification"]


@pytest.mark.parametrize(
    "payload",
    [
        None,
        [],
        "text",
        {},
        {"hook_event_name": 3, "session_id": ["x"], "prompt": {}},
        {"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": None},
        {"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": 1}},
        {"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": "[" * 100_000},
        {
            "hook_event_name": "PreToolUse",
            "tool_name": "Write",
            "tool_input": {"file_path": "a\0b"},
        },
        {"hook_event_name": "Nothing", "session_id": "\ud800"},
        {"hook_event_name": "UserPromptSubmit", "session_id": "\ud800", "cwd": "\0"},
    ],
)
def test_broken_input_prints_nothing(payload: Any, tmp_path: Path) -> None:
    assert deliver("UserPromptSubmit", "claude-code", payload, FixedAnswers(), str(tmp_path)) == b""

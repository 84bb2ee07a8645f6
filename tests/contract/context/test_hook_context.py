"""`hook_context` on both stores: rules, lessons and passages of the caller, once in a session."""

from __future__ import annotations

import json

from commonplace.bootstrap.offer import hook_sessions
from commonplace.bootstrap.tenants import delete_tenant, move_tenant
from commonplace.context.delivery.event import HookClient, HookEvent, Moment
from commonplace.context.delivery.sessions import SessionState
from commonplace.kernel.auth import Tenant
from context_office import Office

LOCKED = "Two workers wrote at once: database is locked. One writer with a busy timeout fixed it."


def fire(office: Office, event: str, tenant: str = "anna", **fields: str) -> str:
    """Return the text that a hook adds to the conversation."""
    base = {"client": "claude-code", "event": event, "session_id": "s1", "cwd": "/work/shop"}
    answer = office.call("hook_context", tenant, **(base | fields))
    assert answer.keys() == {"content"}  # no structured content: the text is the output
    if not answer["content"]:
        return ""
    (part,) = answer["content"]
    specific = json.loads(part["text"])["hookSpecificOutput"]
    assert specific["hookEventName"] == event
    return str(specific["additionalContext"])


def test_a_prompt_brings_the_callers_lessons_and_an_edit_the_rules_of_its_path(
    office: Office,
) -> None:
    office.add_rule("all", "Commits", "Write commit messages in the imperative.")
    office.add_rule("money", "Money", "Keep amounts as Decimal.", appliesTo=["billing/**"])
    office.add_lesson("Database is locked under parallel writes", LOCKED)
    task = {"prompt": "database is locked when two workers write"}
    prompt = fire(office, "UserPromptSubmit", **task)
    assert "One writer with a busy timeout fixed it." in prompt
    assert "Write commit messages in the imperative." in prompt
    assert fire(office, "UserPromptSubmit", **task) == ""
    edit = {"file_path": "/work/shop/billing/new.py"}
    assert "Keep amounts as Decimal." in fire(office, "PreToolUse", **edit)
    assert fire(office, "PreToolUse", **edit) == ""
    again = fire(office, "SessionStart", source="compact")
    assert "Keep amounts as Decimal." in again
    assert "One writer with a busy timeout fixed it." in again


def test_tenants_share_neither_lessons_nor_sessions(office: Office) -> None:
    office.add_rule("all", "Commits", "Write commit messages in the imperative.")
    office.add_lesson("Database is locked under parallel writes", LOCKED)
    task = {"prompt": "database is locked when two workers write"}
    assert "busy timeout" in fire(office, "UserPromptSubmit", **task)
    other = fire(office, "UserPromptSubmit", "bert", **task)
    assert "imperative" in other
    assert "busy timeout" not in other


def test_a_pack_that_was_forgotten_is_asked_anew(office: Office) -> None:
    office.add_rule("all", "Commits", "Write commit messages in the imperative.")
    assert fire(office, "UserPromptSubmit", prompt="hello")
    sessions = hook_sessions(office.app.services)
    event = HookEvent(HookClient.CLAUDE_CODE, "UserPromptSubmit", Moment.PROMPT, "s1")
    assert sessions.peek("anna", event).pack

    def forget(state: SessionState) -> None:
        state.forget_delivered()
        state.pack = "0" * 16

    sessions.update("anna", event, forget)
    assert "imperative" in fire(office, "UserPromptSubmit", prompt="hello")


def test_what_a_session_was_given_moves_and_is_deleted_with_its_tenant(office: Office) -> None:
    office.add_rule("all", "Commits", "Write commit messages in the imperative.")
    office.add_lesson("Database is locked under parallel writes", LOCKED)
    task = {"prompt": "database is locked when two workers write"}
    services, event = (
        office.app.services,
        HookEvent(HookClient.CLAUDE_CODE, "UserPromptSubmit", Moment.PROMPT, "s1"),
    )
    assert fire(office, "UserPromptSubmit", **task)
    move_tenant(services, Tenant("anna"), Tenant("berta"))
    assert hook_sessions(services).peek("anna", event).prompt == ""
    assert hook_sessions(services).peek("berta", event).prompt == task["prompt"]
    assert fire(office, "UserPromptSubmit", "berta", **task) == ""
    delete_tenant(services, Tenant("berta"))
    assert hook_sessions(services).peek("berta", event).prompt == ""

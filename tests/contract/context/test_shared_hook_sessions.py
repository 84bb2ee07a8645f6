"""Hook sessions of a team: shared by servers, bounded for each tenant, forgotten after a week."""

from __future__ import annotations

from commonplace.context.delivery import sessions
from commonplace.context.delivery.event import HookClient, HookEvent, Moment
from commonplace.context.delivery.sessions import SessionState
from commonplace.context.delivery.shared_sessions import SharedSessions
from commonplace.storage.postgres.database import open_database


def event(session: str) -> HookEvent:
    return HookEvent(HookClient.CODEX, "UserPromptSubmit", Moment.PROMPT, session)


def deliver(state: SessionState) -> None:
    state.note_delivered("instruction:a", "1")
    state.prompt = "Fix the \0 parser"


def test_another_server_knows_what_a_session_was_given(postgres_url: str) -> None:
    with open_database(postgres_url, pool_size=1) as a, open_database(postgres_url) as b:
        SharedSessions(a).update("team-a", event("s1"), deliver)
        known = SharedSessions(b).peek("team-a", event("s1"))
        assert (known.delivered, known.prompt) == ({"instruction:a": "1"}, "Fix the \0 parser")
        assert not SharedSessions(b).peek("team-b", event("s1")).delivered
        assert not SharedSessions(b).peek("team-a", event("s1")._replace(agent="a")).delivered


def test_sessions_expire_and_make_room(postgres_url: str) -> None:
    now = 1_800_000_000.0
    with open_database(postgres_url, pool_size=1) as database:
        shared = SharedSessions(database, lambda: now, max_sessions=3)
        for number in range(5):
            now += 1
            shared.update("team-a", event(f"s{number}"), deliver)
        kept = [n for n in range(5) if shared.peek("team-a", event(f"s{n}")).delivered]
        assert kept == [2, 3, 4]
        now += sessions.EXPIRES_SECONDS + 1
        assert not shared.peek("team-a", event("s4")).delivered
        shared.update("team-a", event("new"), deliver)
        rows = database.read_now(
            lambda connection: connection.execute(
                "SELECT count(*) FROM context_hook_sessions"
            ).fetchone()
        )
        assert rows == (1,)

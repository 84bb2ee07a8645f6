"""The directory of shared sessions on a real PostgreSQL: two directories are two servers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from commonplace.edge.sessions.directory import SessionDirectory, SessionEvents
from commonplace.edge.sessions.model import SessionRecord
from commonplace.edge.sessions.postgres import IDLE_SECONDS, STANDALONE_STREAM, PostgresSessionStore
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.postgres.database import PostgresDatabase

WAIT_SECONDS = 20.0


@dataclass
class Member:
    """One server: its directory, and what it was told."""

    directory: SessionDirectory
    ended: list[str] = field(default_factory=list)
    received: list[tuple[str, str]] = field(default_factory=list)
    published: list[str] = field(default_factory=list)
    busy: set[str] = field(default_factory=set)

    def events(self) -> SessionEvents:
        async def ended(session_id: str) -> None:
            self.ended.append(session_id)

        async def received(record: SessionRecord, message: str) -> None:
            self.received.append((record.id, message))

        async def published(session_id: str) -> None:
            self.published.append(session_id)

        return SessionEvents(ended, received, published, lambda: self.busy)


Scenario = Callable[[Member, Member], Coroutine[Any, Any, None]]


def run(url: str, scenario: Scenario) -> None:
    """Run a scenario with two servers on two pools of one database."""
    databases = [PostgresDatabase(url, pool_size=2) for _ in range(2)]

    async def with_members() -> None:
        members = [Member(SessionDirectory(PostgresSessionStore(each))) for each in databases]
        for member in members:
            member.directory.start(member.events())
        try:
            await scenario(*members)
        finally:
            for member in members:
                await member.directory.close()

    try:
        asyncio.run(with_members())
    finally:
        for database in databases:
            database.close()


async def until(condition: Callable[[], bool | Awaitable[bool]]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            value = condition()
            if value if isinstance(value, bool) else await value:
                return
            await asyncio.sleep(0.01)


def record(number: int, key: str = "key") -> SessionRecord:
    return SessionRecord(f"session-{number}", "tenant", key, '{"method":"initialize"}')


def test_a_session_is_found_on_another_server_by_its_owner_only(postgres_url: str) -> None:
    async def scenario(first: Member, second: Member) -> None:
        await first.directory.open(record(1), 10)
        assert await second.directory.find("session-1", "tenant") == record(1)
        assert await second.directory.find("session-1", "stranger") is None
        assert await second.directory.find("session-2", "tenant") is None

    run(postgres_url, scenario)


def test_the_end_of_a_session_reaches_servers_that_know_it(postgres_url: str) -> None:
    async def scenario(first: Member, second: Member) -> None:
        await first.directory.open(record(1), 10)
        await second.directory.find("session-1", "tenant")
        await first.directory.end("session-1")
        await until(lambda: second.ended == ["session-1"])
        assert await second.directory.find("session-1", "tenant") is None

    run(postgres_url, scenario)


def test_an_end_that_was_missed_is_noticed_after_the_listener_reconnects(
    postgres_url: str,
) -> None:
    async def scenario(first: Member, second: Member) -> None:
        await first.directory.open(record(1), 10)
        await second.directory.find("session-1", "tenant")
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute("DELETE FROM mcp_sessions")  # without a notification
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid() "
                "AND query LIKE '%pg_advisory_lock_shared%'"
            )
        await until(lambda: second.ended == ["session-1"])

    run(postgres_url, scenario)


def test_a_message_reaches_servers_that_know_the_session(postgres_url: str) -> None:
    async def scenario(first: Member, second: Member) -> None:
        await first.directory.open(record(1), 10)
        await second.directory.find("session-1", "tenant")
        large = "x" * 20_000  # a notification itself may have 8,000 bytes
        await first.directory.send("session-1", large)
        await until(lambda: second.received == [("session-1", large)])

    run(postgres_url, scenario)


def test_events_are_read_in_order_and_the_standalone_stream_is_announced(
    postgres_url: str,
) -> None:
    async def scenario(first: Member, second: Member) -> None:
        await first.directory.open(record(1), 10)
        await second.directory.find("session-1", "tenant")
        for number in range(5):
            first.directory.publish("session-1", "7", f"event-{number}", f'"{number}"')
        first.directory.publish("session-1", STANDALONE_STREAM, "event-5", '"5"')
        await until(lambda: second.published == ["session-1"])
        position = await second.directory.store.find_event("session-1", "event-1")
        assert position is not None
        stream, number = position
        events = await second.directory.store.events_after("session-1", stream, number)
        assert [event.message for event in events] == ['"2"', '"3"', '"4"']
        assert await second.directory.store.find_event("session-2", "event-1") is None

    run(postgres_url, scenario)


def test_the_oldest_idle_session_of_a_key_ends_for_a_new_one_and_busy_ones_stay(
    postgres_url: str,
) -> None:
    async def scenario(first: Member, second: Member) -> None:
        for number in range(3):
            await (first if number % 2 else second).directory.open(record(number), 3)
        first.busy = {"session-0", "session-1"}
        await first.directory.open(record(3), 3)
        await until(lambda: second.ended == ["session-2"])
        first.busy = {"session-0", "session-1", "session-3"}
        with pytest.raises(CommonplaceError) as refused:
            await first.directory.open(record(4), 3)
        assert refused.value.code.name == "SESSION_LIMIT"
        await first.directory.open(record(5, "another key"), 3)
        assert await second.directory.find("session-3", "tenant") is not None

    run(postgres_url, scenario)


def test_idle_sessions_expire_with_their_events(postgres_url: str) -> None:
    async def scenario(first: Member, second: Member) -> None:
        await first.directory.open(record(1), 10)
        await first.directory.open(record(2), 10)
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute(
                "UPDATE mcp_sessions SET used_at = now() - %s * interval '1 second' "
                "WHERE id = 'session-1'",
                (IDLE_SECONDS + 1,),
            )
        await second.directory.store.expire()
        await until(lambda: first.ended == ["session-1"])
        assert await second.directory.find("session-2", "tenant") is not None

    run(postgres_url, scenario)


def test_a_server_is_seen_running_until_it_stops(postgres_url: str) -> None:
    async def scenario(first: Member, second: Member) -> None:
        store, server_id = second.directory.store, first.directory.server_id
        await until(lambda: store.is_running(server_id))
        await first.directory.close()

        async def has_stopped() -> bool:
            return not await store.is_running(server_id)

        await until(has_stopped)  # PostgreSQL ends the session, and its lock, a moment later
        assert not await store.is_running("another server")

    run(postgres_url, scenario)

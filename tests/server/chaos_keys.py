"""The part of the chaos campaign about keys and audit: what was acknowledged holds everywhere."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from chaos_clients import Deployment, Refused, Unanswered

from commonplace.kernel.auth import Scope
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.credentials.postgres_keys import PostgresKeys
from commonplace.storage.postgres.database import PostgresDatabase

ARRIVED_SECONDS = 60.0
LOOK_SECONDS = 0.2
# Wrong keys are refused, and when there are many of them, at a limited rate; valid ones never are.
REFUSALS = ("UNAUTHENTICATED", "CALL_RATE_LIMITED")


@dataclass
class KeyClient:
    """An operator who makes and revokes keys while the deployment fails."""

    database: PostgresDatabase
    deployment: Deployment
    active: dict[str, str] = field(default_factory=dict)  # id -> token, acknowledged
    revoked: dict[str, str] = field(default_factory=dict)  # acknowledged
    made: int = 0

    async def run(self, until: asyncio.Event, pause_seconds: float) -> None:
        keys = PostgresKeys(self.database)
        while not until.is_set():
            with contextlib.suppress(CommonplaceError):
                await asyncio.to_thread(self._act, keys)
            await asyncio.sleep(pause_seconds)

    def _act(self, keys: PostgresKeys) -> None:
        self.made += 1
        if len(self.active) < 5:
            record, token = keys.add("chaos", f"key {self.made}", Scope.READ)
            self.active[record.id] = token
            return
        key_id, token = next(iter(self.active.items()))
        del self.active[key_id]  # in doubt until the answer is here
        keys.revoke(key_id)
        self.revoked[key_id] = token

    async def check(self) -> None:
        """Ask every server about every key."""
        for token in self.active.values():
            await self._ask(token, valid=True)
        for token in self.revoked.values():
            await self._ask(token, valid=False)

    async def _ask(self, token: str, *, valid: bool) -> None:
        for server in self.deployment.servers:
            alone = Deployment([server], self.deployment.http, self.deployment.window)
            try:
                await alone.look(token, "health_check")
                opened = True
            except (Unanswered, Refused) as refused:
                opened = str(refused) not in REFUSALS
            if opened != valid:
                state = "is refused" if valid else "is accepted after it was revoked"
                self.deployment.wrong.append(f"a key {state} by {server}")


async def check_audit(folders: list[Path], url: str, wrong: list[str]) -> int:
    """Wait until every record of every folder is in the database, once; return how many."""

    def compare() -> tuple[int, int]:
        written = [
            line
            for folder in folders
            for path in sorted((folder / "audit" / "chains").glob("*.jsonl"))
            for line in path.read_bytes().splitlines()
        ]
        with psycopg.connect(url) as connection:
            rows = connection.execute("SELECT line FROM audit_record").fetchall()
        arrived = [row[0].encode() for row in rows]
        if len(arrived) != len(set(arrived)):
            wrong.append("an audit record arrived twice")
        return len(set(written) - set(arrived)), len(arrived)

    looks = 0
    while (counts := await asyncio.to_thread(compare))[0]:
        if looks * LOOK_SECONDS > ARRIVED_SECONDS:
            wrong.append(f"{counts[0]} audit records did not arrive")
            break
        looks += 1
        await asyncio.sleep(LOOK_SECONDS)
    return counts[1]

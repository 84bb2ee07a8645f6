"""Clients of the chaos campaign that change instructions and check what any server answers."""

from __future__ import annotations

import asyncio
import contextlib
import random
from dataclasses import dataclass, field
from typing import Any

from chaos_clients import Deployment, Refused, Unanswered


@dataclass
class RuleClient:
    """One author with instructions of its own, in the catalogue that all servers share."""

    number: int
    key: str
    deployment: Deployment
    chance: random.Random
    live: dict[str, str] = field(default_factory=dict)  # id -> acknowledged body
    removed: set[str] = field(default_factory=set)  # acknowledged
    doubtful: dict[str, set[str | None]] = field(default_factory=dict)  # id -> possible bodies
    made: int = 0

    async def run(self, until: asyncio.Event, pause_seconds: float) -> None:
        while not until.is_set():
            with contextlib.suppress(Unanswered, Refused):
                await self._act()
            await asyncio.sleep(self.chance.uniform(0.5, 1.5) * pause_seconds)

    async def _act(self) -> None:
        roll = self.chance.random()
        if roll < 0.4 or not self.live:
            self.made += 1
            await self._store(f"chaos-{self.number}-{self.made}", None)
        elif roll < 0.6:
            id_ = self.chance.choice(list(self.live))
            await self._store(id_, self.live[id_])
        elif roll < 0.7:
            await self._remove(self.chance.choice(list(self.live)))
        else:
            await self._read(self.chance.choice(list(self.live)))

    async def _store(self, id_: str, old: str | None) -> None:
        self.made += 1
        body = f"rule{self.number}x{self.made}"
        try:
            answer = await self.deployment.call(
                self.key,
                "instructions_add",
                entry={"id": id_, "body": body},
                lax=True,
                overwrite=True,
            )
            if not (answer.get("created") or answer.get("overwritten")):
                raise Refused(str(answer))
        except Unanswered:
            self.live.pop(id_, None)
            self.doubtful[id_] = {old, body}
            raise
        self.live[id_] = body
        await self._read(id_)

    async def _remove(self, id_: str) -> None:
        try:
            await self.deployment.call(self.key, "instructions_remove", ids=[id_])
        except Unanswered:
            self.doubtful[id_] = {None, self.live.pop(id_)}
            raise
        del self.live[id_]
        self.removed.add(id_)
        await self._read(id_)

    async def _read(self, id_: str) -> None:
        """Ask any server: it must know what any other acknowledged, or say that it may not."""
        answer = await self.deployment.call(self.key, "instructions_get", id=id_)
        if body_of(answer) != self.live.get(id_) and not answer.get("warnings"):
            self.deployment.wrong.append(
                f"{id_}: read {body_of(answer)!r} instead of {self.live.get(id_)!r}"
            )

    async def check(self) -> None:
        """Everything promised is there."""
        for id_, body in self.live.items():
            await self._expect(id_, {body}, "acknowledged write lost")
        for id_ in self.removed:
            await self._expect(id_, {None}, "acknowledged removal lost")
        for id_, possible in self.doubtful.items():
            await self._expect(id_, possible, "neither the old nor the new state")

    async def _expect(self, id_: str, possible: set[str | None], problem: str) -> None:
        answer = await self.deployment.look(self.key, "instructions_get", id=id_)
        if body_of(answer) not in possible:
            self.deployment.wrong.append(f"{problem}: {id_} holds {body_of(answer)!r}")


def body_of(answer: dict[str, Any]) -> str | None:
    item = answer.get("item")
    return None if item is None else str(item["body"])

"""Packs in a relational database, by named SQL. `sqlite.py` and `postgres.py` run the work."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

import orjson

from commonplace.context.model import StoredPack, UseWeight
from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import Clock, utc_now
from commonplace.storage.relational import SqlConnection

Result = TypeVar("Result")
KEPT = timedelta(days=7)
MOST_PACKS = 500  # of one tenant
MOST_USES = 20_000  # references of one tenant


class PackUnits(Protocol):
    """Runs units of work."""

    async def read(self, work: Callable[[SqlConnection], Result]) -> Result: ...

    async def write(self, work: Callable[[SqlConnection], Result], tenant: Tenant) -> Result: ...

    def close(self) -> None: ...


class RelationalPackStore:
    """Implements `PackStore`."""

    def __init__(
        self, units: PackUnits, queries: Mapping[str, str], clock: Clock = utc_now
    ) -> None:
        self._units = units
        self._queries = queries
        self._clock = clock

    async def put(self, tenant: Tenant, pack: StoredPack) -> None:
        values = {
            "tenant": tenant,
            "id": pack.id,
            "now": _micros(pack.created_at),
            "expires_at": _micros(pack.created_at + KEPT),
            "shown": orjson.dumps(dict(pack.shown)).decode(),
            "sections": orjson.dumps(dict(pack.sections)).decode(),
        }

        def work(connection: SqlConnection) -> None:
            connection.execute(self._queries["put_pack"], values)
            connection.execute(
                self._queries["drop_old_packs"],
                {"tenant": tenant, "now": values["now"], "most": MOST_PACKS},
            )

        await self._units.write(work, tenant)

    async def get(self, tenant: Tenant, pack_id: str) -> StoredPack | None:
        return await self._units.read(lambda connection: self._get(connection, tenant, pack_id))

    def _get(self, connection: SqlConnection, tenant: Tenant, pack_id: str) -> StoredPack | None:
        now = self._clock()
        row = connection.execute(
            self._queries["get_pack"], {"tenant": tenant, "id": pack_id, "now": _micros(now)}
        ).fetchone()
        if row is None:
            return None
        shown, sections, judged = map(orjson.loads, row)
        return StoredPack(pack_id, shown, sections, frozenset(judged), now)

    async def weights(self, tenant: Tenant, keys: Collection[str]) -> Mapping[str, UseWeight]:
        if not keys:
            return {}
        values = {"tenant": tenant, "refs": orjson.dumps(sorted(keys)).decode()}
        rows = await self._units.read(
            lambda connection: connection.execute(self._queries["find_uses"], values).fetchall()
        )
        return {ref: UseWeight(used, useless) for ref, used, useless in rows}

    async def judge(
        self, tenant: Tenant, pack_id: str, used: Mapping[str, str], useless: Mapping[str, str]
    ) -> frozenset[str] | None:
        def work(connection: SqlConnection) -> frozenset[str] | None:
            pack = self._get(connection, tenant, pack_id)
            if pack is None:
                return None
            now = _micros(self._clock())
            new = {*used, *useless} - pack.judged
            for ref in sorted(new):
                values = {
                    "tenant": tenant,
                    "ref": used[ref] if ref in used else useless[ref],
                    "used": int(ref in used),
                    "useless": int(ref not in used),
                    "now": now,
                }
                connection.execute(self._queries["add_use"], values)
            judged = orjson.dumps(sorted(pack.judged | new)).decode()
            connection.execute(
                self._queries["set_judged"], {"tenant": tenant, "id": pack_id, "judged": judged}
            )
            connection.execute(
                self._queries["drop_old_uses"], {"tenant": tenant, "most": MOST_USES}
            )
            return frozenset(new)

        return await self._units.write(work, tenant)

    async def uses(self, tenant: Tenant) -> Mapping[str, UseWeight]:
        rows = await self._units.read(
            lambda connection: connection.execute(
                self._queries["all_uses"], {"tenant": tenant}
            ).fetchall()
        )
        return {ref: UseWeight(used, useless) for ref, used, useless in rows}

    async def delete_tenant(self, tenant: Tenant) -> None:
        def work(connection: SqlConnection) -> None:
            for name in ("delete_packs", "delete_uses"):
                connection.execute(self._queries[name], {"tenant": tenant})

        await self._units.write(work, tenant)

    async def move_tenant(self, old: Tenant, new: Tenant) -> None:
        def work(connection: SqlConnection) -> None:
            for name in ("delete_packs", "delete_uses"):
                connection.execute(self._queries[name], {"tenant": new})
            for name in ("move_packs", "move_uses"):
                connection.execute(self._queries[name], {"tenant": old, "new": new})

        await self._units.write(work, old)

    def close(self) -> None:
        self._units.close()


def _micros(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000)

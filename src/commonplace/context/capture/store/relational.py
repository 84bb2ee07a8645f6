"""The queue in a relational database, by named SQL. `sqlite.py` and `postgres.py` run the work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from commonplace.context.capture.model import ProposalKind, ProposalState, QueuedProposal
from commonplace.context.capture.store.protocol import ProposalChange
from commonplace.context.capture.store.rows import from_row, to_row
from commonplace.kernel.auth import Tenant
from commonplace.kernel.paging import ResultPage, counted_page
from commonplace.storage.relational import SqlConnection

Result = TypeVar("Result")
MOST_PENDING = 1_000  # of one tenant
MOST_DECIDED = 5_000  # of one tenant and state


class QueueUnits(Protocol):
    """Runs units of work."""

    async def read(self, work: Callable[[SqlConnection], Result]) -> Result: ...

    async def write(self, work: Callable[[SqlConnection], Result], tenant: Tenant) -> Result: ...

    def close(self) -> None: ...


class RelationalProposalQueue:
    """Implements `ProposalQueue`."""

    def __init__(self, units: QueueUnits, queries: Mapping[str, str]) -> None:
        self._units = units
        self._queries = queries

    async def change(
        self, tenant: Tenant, changes: Mapping[str, ProposalChange]
    ) -> Mapping[str, QueuedProposal | None]:
        def work(connection: SqlConnection) -> Mapping[str, QueuedProposal | None]:
            stored: dict[str, QueuedProposal | None] = {}
            for id_, change in changes.items():
                row = connection.execute(
                    self._queries["get_proposal"], {"tenant": tenant, "id": id_}
                ).fetchone()
                before = None if row is None else from_row(*row)
                after = change(before)
                if after is not None:
                    connection.execute(self._queries["put_proposal"], to_row(tenant, after))
                stored[id_] = after or before
            for state in ProposalState:
                most = MOST_PENDING if state is ProposalState.PENDING else MOST_DECIDED
                connection.execute(
                    self._queries["drop_old"],
                    {"tenant": tenant, "state": str(state), "most": most - 1},
                )
            return stored

        return await self._units.write(work, tenant)

    async def find(self, tenant: Tenant, prefix: str) -> Sequence[QueuedProposal]:
        values = {"tenant": tenant, "first": prefix, "last": prefix + "\x7f"}
        return await self._units.read(
            lambda connection: [
                from_row(*row)
                for row in connection.execute(self._queries["find_by_prefix"], values).fetchall()
            ]
        )

    async def newest(self, tenant: Tenant, limit: int) -> Sequence[QueuedProposal]:
        values = {"tenant": tenant, "limit": limit}
        return await self._units.read(
            lambda connection: [
                from_row(*row)
                for row in connection.execute(self._queries["newest"], values).fetchall()
            ]
        )

    async def page(
        self,
        tenant: Tenant,
        state: ProposalState,
        kind: ProposalKind | None,
        limit: int,
        offset: int,
    ) -> ResultPage[QueuedProposal]:
        values = {
            "tenant": tenant,
            "state": str(state),
            "kind": str(kind or ""),
            "limit": limit,
            "offset": offset,
        }

        def work(connection: SqlConnection) -> ResultPage[QueuedProposal]:
            rows = connection.execute(self._queries["page"], values).fetchall()
            counted = connection.execute(
                self._queries["count_kinds"], {"tenant": tenant}
            ).fetchall()
            total = sum(
                count
                for of_state, of_kind, count in counted
                if of_state == state and kind in (None, of_kind)
            )
            return counted_page([from_row(*row) for row in rows], offset, total)

        return await self._units.read(work)

    async def counts(self, tenant: Tenant) -> Mapping[ProposalState, Mapping[ProposalKind, int]]:
        rows = await self._units.read(
            lambda connection: connection.execute(
                self._queries["count_kinds"], {"tenant": tenant}
            ).fetchall()
        )
        counted = {state: dict.fromkeys(ProposalKind, 0) for state in ProposalState}
        for state, kind, count in rows:
            counted[ProposalState(state)][ProposalKind(kind)] = count
        return counted

    async def tenants(self) -> Sequence[Tenant]:
        rows = await self._units.read(
            lambda connection: connection.execute(self._queries["tenants"], {}).fetchall()
        )
        return [Tenant(row[0]) for row in rows]

    async def delete_tenant(self, tenant: Tenant) -> None:
        await self._units.write(
            lambda connection: _execute(
                connection, self._queries["delete_tenant"], {"tenant": tenant}
            ),
            tenant,
        )

    async def move_tenant(self, old: Tenant, new: Tenant) -> None:
        def work(connection: SqlConnection) -> None:
            connection.execute(self._queries["delete_tenant"], {"tenant": new})
            connection.execute(self._queries["move_tenant"], {"tenant": old, "new": new})

        await self._units.write(work, old)

    def close(self) -> None:
        self._units.close()


def _execute(connection: SqlConnection, statement: str, values: Mapping[str, str]) -> None:
    connection.execute(statement, values)

"""The table of audit records: append what arrives from folders, query, and read for checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

import orjson

from commonplace.kernel.json_types import JsonObject
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.postgres.migrations import SchemaComponent
from commonplace.storage.queries import load_postgres_queries
from commonplace.telemetry.chain import EMPTY, GENESIS, Head, unseal
from commonplace.telemetry.query import MAX_RECORDS, AuditFilter

SCHEMA = SchemaComponent("audit", "commonplace.storage.audit", "schema")
QUERIES = load_postgres_queries("commonplace.storage.audit")
PAGE = 2000  # records read at a time
COLUMNS = ("tenant", "tool", "name", "outcome", "code", "trace_id")


@dataclass(frozen=True, slots=True)
class ArrivedChain:
    """A chain as the database knows it.

    `arrived` is the last record that arrived, `head` the last one that its folder reported, and
    `first` the position before the first record that retention kept.
    """

    name: str
    origin: str
    arrived: Head
    head: Head
    first: Head
    problem: str | None


@dataclass(frozen=True, slots=True)
class OpenOrigin:
    """A folder that feeds the trail, or did when its server was lost."""

    name: str
    seen_at: datetime
    silent: bool


class AuditTable:
    """The chains of all servers in PostgreSQL. Calls wait for the database: use it in threads."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def report(self, origin: str, heads: Mapping[str, Head], *, closed: bool = False) -> None:
        """Note that a folder feeds the trail, and how far its chains are."""

        def write(connection: PostgresConnection) -> None:
            connection.execute(QUERIES["report_origin"], {"origin": origin, "closed": closed})
            for chain, head in sorted(heads.items()):
                values = {
                    "chain": chain,
                    "origin": origin,
                    "head_count": head.count,
                    "head_hash": head.hash,
                    "genesis": GENESIS,
                }
                connection.execute(QUERIES["report_head"], values)

        self._database.write_now(write)

    def arrived(self, chains: Sequence[str]) -> dict[str, Head]:
        """Return how far chains have arrived; those that are not known are left out."""
        return self._database.read_now(
            lambda connection: {
                chain: Head(count, digest)
                for chain, count, digest in connection.execute(
                    QUERIES["arrived_chains"], {"chains": list(chains)}
                )
            }
        )

    def append(self, chain: str, after: Head, lines: Sequence[bytes]) -> Head:
        """Add lines that follow `after`; return how far the chain has arrived.

        Nothing is added if the chain is at another position, so no record arrives twice. Raises
        ValueError if a line does not follow the one before it.
        """
        head, rows = after, []
        for line in lines:
            record, head = unseal(line, head)
            rows.append(_row(chain, record, line, head))

        def write(connection: PostgresConnection) -> Head:
            row = connection.execute(QUERIES["lock_chain"], {"chain": chain}).fetchone()
            position = Head(row[0], row[1]) if row is not None else EMPTY
            if position != after or row is None:
                return position
            connection.executemany(QUERIES["add_record"], rows)
            values = {"chain": chain, "count": head.count, "hash": head.hash}
            connection.execute(QUERIES["advance_chain"], values)
            return head

        return self._database.write_now(write)

    def note_problem(self, chain: str, problem: str) -> None:
        """Note why a chain does not arrive any further; verification reports it."""
        values = {"chain": chain, "problem": problem[:500]}
        self._database.write_now(
            lambda connection: connection.execute(QUERIES["note_problem"], values) and None
        )

    def query(self, wanted: AuditFilter) -> list[JsonObject]:
        """Return the newest matching records of all servers."""
        values = {**asdict(wanted), "limit": min(wanted.limit, MAX_RECORDS)}
        rows = self._database.read_now(
            lambda connection: connection.execute(QUERIES["query_records"], values).fetchall()
        )
        return [
            {**orjson.loads(line), "chain": chain, "server": origin} for line, chain, origin in rows
        ]

    def chains(self) -> list[ArrivedChain]:
        """Return all chains, by name."""
        rows = self._database.read_now(
            lambda connection: connection.execute(QUERIES["all_chains"]).fetchall()
        )
        return [
            ArrivedChain(name, origin, Head(*arrived), Head(*head), Head(*first), problem)
            for name, origin, *numbers, problem in rows
            for arrived, head, first in [(numbers[:2], numbers[2:4], numbers[4:])]
        ]

    def lines(self, chain: str, first: int, before: int) -> Iterator[bytes]:
        """Yield the lines of a chain in order, from a record on and before another."""
        seq = first
        while True:
            values = {"chain": chain, "seq": seq, "before": before, "limit": PAGE}
            rows = self._database.read_now(
                lambda connection, values=values: connection.execute(  # type: ignore[misc]
                    QUERIES["chain_lines"], values
                ).fetchall()
            )
            for _, line in rows:
                yield line.encode()
            if len(rows) < PAGE:
                return
            seq = rows[-1][0] + 1

    def openings(self) -> Iterable[tuple[str, bytes]]:
        """Return the first record of every chain that still has it."""
        rows = self._database.read_now(
            lambda connection: connection.execute(QUERIES["opening_lines"]).fetchall()
        )
        return [(chain, line.encode()) for chain, line in rows]

    def open_origins(self, silent_seconds: float) -> list[OpenOrigin]:
        """Return folders that did not end as planned, and whether they are silent for long."""
        return self._database.read_now(
            lambda connection: [
                OpenOrigin(*row)
                for row in connection.execute(QUERIES["open_origins"], {"seconds": silent_seconds})
            ]
        )

    def cut(self, before: str) -> int:
        """Remove records older than a time from the beginning of each chain; return how many.

        The position of the cut stays, so that what is left can be verified.
        """
        expired = self._database.read_now(
            lambda connection: [
                str(row[0])
                for row in connection.execute(QUERIES["expired_chains"], {"before": before})
            ]
        )
        return sum(self._cut_chain(chain, before) for chain in expired)

    def _cut_chain(self, chain: str, before: str) -> int:
        def write(connection: PostgresConnection) -> int:
            connection.execute(QUERIES["lock_chain"], {"chain": chain}).fetchone()
            values: dict[str, object] = {"chain": chain, "before": before}
            row = connection.execute(QUERIES["first_kept"], values).fetchone()
            assert row is not None
            seq = int(row[0])
            found = connection.execute(
                QUERIES["record_hash"], {"chain": chain, "seq": seq - 1}
            ).fetchone()
            if found is None:
                return 0
            connection.execute(QUERIES["cut_chain"], {"chain": chain, "seq": seq, "hash": found[0]})
            deleted = connection.execute(QUERIES["delete_records"], {"chain": chain, "seq": seq})
            return len(deleted.fetchall())

        return self._database.write_now(write)

    def export(
        self, tenant: str | None = None, since: str | None = None, until: str | None = None
    ) -> Iterator[bytes]:
        """Yield records of all servers as they were written, oldest first, opening ones too."""
        place: dict[str, object] = {"ts": "", "chain": "", "seq": -1}
        while True:
            values = {**place, "tenant": tenant, "since": since, "until": until, "limit": PAGE}
            rows = self._database.read_now(
                lambda connection, values=values: connection.execute(  # type: ignore[misc]
                    QUERIES["export_lines"], values
                ).fetchall()
            )
            for _, _, line in rows:
                yield line.encode()
            if len(rows) < PAGE:
                return
            chain, seq, line = rows[-1]
            place = {"ts": str(orjson.loads(line).get("ts", "")), "chain": chain, "seq": seq}


def _row(chain: str, record: JsonObject, line: bytes, head: Head) -> JsonObject:
    row: JsonObject = {name: record.get(name) for name in COLUMNS}
    return {
        **{name: value if isinstance(value, str) else None for name, value in row.items()},
        "chain": chain,
        "seq": record["seq"],
        "prev": record["prev"],
        "hash": head.hash,
        "line": line.decode(),
        "ts": str(record.get("ts", "")),
        "type": str(record.get("type", "")),
    }

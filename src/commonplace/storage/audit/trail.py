"""The audit trail of a team: queries and verification over the chains of all servers."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import orjson

from commonplace.kernel.clock import iso
from commonplace.kernel.json_types import JsonObject
from commonplace.storage.audit.anchor import merge_marks
from commonplace.storage.audit.records import ArrivedChain, AuditTable
from commonplace.telemetry.chain import CHAIN_NAME, Head, Marks, unseal
from commonplace.telemetry.query import AuditFilter
from commonplace.telemetry.trail import AuditTrail
from commonplace.telemetry.verify import ChainProblem, ChainVerdict

CATCH_UP_SECONDS = 2.0  # wait this long for this server's own latest records
SILENT_SECONDS = 30.0  # a server that runs reports every five seconds
RECHECK_SECONDS = 1.0


class TeamTrail:
    """An `AuditTrail` over all servers.

    `catch_up` brings this server's latest records to the database; `folder` is its own spool,
    which is verified too. `anchors` returns heads that were kept in a second place.
    """

    def __init__(
        self,
        table: AuditTable,
        *,
        catch_up: Callable[[float], object] = lambda seconds: None,
        folder: AuditTrail | None = None,
        anchors: Callable[[], Marks] = dict,
        silent_seconds: float = SILENT_SECONDS,
        recheck_seconds: float = RECHECK_SECONDS,
    ) -> None:
        self._table = table
        self._catch_up = catch_up
        self._folder = folder
        self._anchors = anchors
        self._silent_seconds = silent_seconds
        self._recheck_seconds = recheck_seconds

    def query(self, wanted: AuditFilter) -> list[JsonObject]:
        self._catch_up(CATCH_UP_SECONDS)
        return self._table.query(wanted)

    def verify(self) -> ChainVerdict:
        self._catch_up(CATCH_UP_SECONDS)
        verdict = self._verify_once()
        if not verdict.ok:  # records of a running server may just be on their way
            time.sleep(self._recheck_seconds)
            verdict = self._verify_once()
        if self._folder is not None:
            own = self._folder.verify()
            verdict.problems += own.problems
            verdict.warnings += own.warnings
        return verdict

    def export(
        self, tenant: str | None = None, since: str | None = None, until: str | None = None
    ) -> Iterator[bytes]:
        self._catch_up(CATCH_UP_SECONDS)
        return self._table.export(tenant, since, until)

    def _verify_once(self) -> ChainVerdict:
        verdict = ChainVerdict()
        chains = {chain.name: chain for chain in self._table.chains()}
        marks = merge_marks(_read_marks(self._table.openings()), self._anchors())
        for name in marks.keys() - chains.keys():
            witness = marks[name][0][0]
            problem = f"no record of the chain arrived; {witness} recorded it"
            verdict.problems.append(ChainProblem(name, None, problem))
        origins = self._table.open_origins(self._silent_seconds)
        reporting = {origin.name for origin in origins if not origin.silent}
        for chain in chains.values():
            verdict.chains += 1
            late = _Late(verdict, on_the_way=chain.origin in reporting)
            verdict.records += self._verify_chain(chain, marks.get(chain.name, []), late)
        for origin in origins:
            if origin.silent:
                problem = (
                    f"this server has not reported since {iso(origin.seen_at)} and did not end as "
                    "planned; what it recorded after that is missing until it starts again"
                )
                verdict.warnings.append(ChainProblem(origin.name, None, problem))
        return verdict

    def _verify_chain(self, chain: ArrivedChain, marks: list[tuple[str, Head]], late: _Late) -> int:
        verdict = late.verdict

        def report(record: int | None, problem: str) -> None:
            verdict.problems.append(ChainProblem(chain.name, record, problem))

        if chain.problem is not None:
            report(None, chain.problem)
        expected: dict[int, list[tuple[str, str]]] = defaultdict(list)
        for witness, mark in [*marks, ("its server", chain.head)]:
            if mark.count >= chain.first.count:
                expected[mark.count].append((witness, mark.hash))
        head = chain.first
        _check_marks(chain.name, head, expected, verdict)
        for line in self._table.lines(chain.name, head.count, chain.arrived.count):
            try:
                record, head = unseal(line, head)
            except ValueError as broken:
                report(head.count, str(broken))
                return head.count - chain.first.count
            if record["seq"] == 0 and record.get("chain") != chain.name:
                report(0, "the first record does not have the name of the chain")
            _check_marks(chain.name, head, expected, verdict)
        if head != chain.arrived:
            report(head.count, f"{chain.arrived.count} records arrived, and not all are left")
        else:
            late.report(chain, head, expected)
        return head.count - chain.first.count


@dataclass(frozen=True, slots=True)
class _Late:
    """Reports records that are known and did not arrive.

    They are a problem, unless their server reports and may be about to send them.
    """

    verdict: ChainVerdict
    on_the_way: bool

    def report(
        self, chain: ArrivedChain, head: Head, expected: Mapping[int, list[tuple[str, str]]]
    ) -> None:
        missing = [count for count in expected if count > head.count]
        if not missing:
            return
        most = max(missing)
        witnesses = ", ".join(witness for witness, _ in expected[most])
        listed = self.verdict.warnings if self.on_the_way else self.verdict.problems
        listed.append(
            ChainProblem(
                chain.name,
                head.count,
                f"{most - head.count} of {most} records did not arrive from {chain.origin}; "
                f"{witnesses} recorded them",
            )
        )


def _check_marks(
    chain: str, head: Head, expected: dict[int, list[tuple[str, str]]], verdict: ChainVerdict
) -> None:
    """Compare the record that a chain has here with what others recorded of it."""
    for witness, digest in expected.pop(head.count, []):
        if digest != head.hash:
            problem = f"{witness} recorded another record here"
            verdict.problems.append(ChainProblem(chain, head.count - 1, problem))


def _read_marks(openings: Iterable[tuple[str, bytes]]) -> Marks:
    """Return the heads of other chains that opening records contain."""
    marks: Marks = {}
    for witness, line in openings:
        try:
            heads = orjson.loads(line).get("heads")
        except (orjson.JSONDecodeError, AttributeError):
            continue  # the check of its own chain reports it
        for name, mark in (heads if isinstance(heads, dict) else {}).items():
            if CHAIN_NAME.fullmatch(name) and isinstance(mark, list) and len(mark) == 2:
                marks.setdefault(name, []).append((witness, Head(*mark)))
    return marks

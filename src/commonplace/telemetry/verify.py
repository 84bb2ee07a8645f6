"""Verify the audit trail: every chain against its hashes, its head, and the marks of others."""

from __future__ import annotations

import time
from collections.abc import Iterator, Set
from dataclasses import asdict, dataclass, field
from pathlib import Path

import orjson

from commonplace.kernel.json_types import JsonObject
from commonplace.telemetry.chain import (
    CHAIN_NAME,
    EMPTY,
    Head,
    Marks,
    chains_folder,
    heads_folder,
    register_path,
    registered_names,
    unseal,
)

RECHECKS = 2
RECHECK_SECONDS = 0.02
MAX_PROBLEMS = 200


@dataclass(frozen=True, slots=True)
class ChainProblem:
    """A problem of a chain, at a record if it is known."""

    chain: str
    record: int | None
    problem: str


@dataclass(slots=True)
class ChainVerdict:
    """The result of a verification."""

    chains: int = 0
    records: int = 0
    problems: list[ChainProblem] = field(default_factory=list)
    warnings: list[ChainProblem] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not self.problems

    def as_dict(self) -> JsonObject:
        """Return the result as JSON."""
        return {
            "ok": self.ok,
            "chains": self.chains,
            "records": self.records,
            "problems": [asdict(problem) for problem in self.problems[:MAX_PROBLEMS]],
            "warnings": [asdict(warning) for warning in self.warnings[:MAX_PROBLEMS]],
        }


def verify(directory: Path, anchors: Marks | None = None) -> ChainVerdict:
    """Check all chains of a data folder. Servers may be writing to them.

    `anchors` are heads that were kept in a second place, each with the name of that place.

    A chain that is just being opened looks damaged for a moment, so a problem counts only if it is
    found again.
    """
    verdict = _verify_once(directory, anchors or {})
    for _ in range(RECHECKS):
        if verdict.ok:
            break
        time.sleep(RECHECK_SECONDS)
        verdict = _verify_once(directory, anchors or {})
    return verdict


def read_removed(directory: Path) -> dict[str, Head]:
    """Return the chains that retention removed, with their heads, by its own records."""
    removed: dict[str, Head] = {}
    for path in sorted(chains_folder(directory).glob("*.jsonl")):
        for line in _lines(path):
            if b'"type":"retention"' in line:
                removed |= _removed_by(line)
    return removed


def mentioned_chains(directory: Path) -> set[str]:
    """Return the names of chains that others recorded, or that the register lists."""
    chains = {path.stem: path for path in sorted(chains_folder(directory).glob("*.jsonl"))}
    return {*_read_marks(chains), *registered_names(directory)}


def _removed_by(line: bytes) -> dict[str, Head]:
    """Return what a record of retention lists; nothing for any other record."""
    try:
        record = orjson.loads(line)
        if record.get("type") != "retention":
            return {}
        return {
            str(name): Head(int(count), str(digest))
            for name, (count, digest) in record["removed"].items()
        }
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError, ValueError):
        return {}


def _verify_once(directory: Path, anchors: Marks) -> ChainVerdict:
    verdict = ChainVerdict()
    chains = {path.stem: path for path in sorted(chains_folder(directory).glob("*.jsonl"))}
    heads = {path.stem: path for path in sorted(heads_folder(directory).glob("*.head"))}
    for name in heads.keys() - chains.keys():
        # Otherwise it was created after the chains were listed.
        if not (chains_folder(directory) / f"{name}.jsonl").exists():
            verdict.problems.append(ChainProblem(name, None, "the file of the chain is missing"))
    removed = read_removed(directory)
    marks_by_chain = _read_marks(chains)
    for name, heads_elsewhere in anchors.items():
        marks_by_chain.setdefault(name, []).extend(_Mark(*mark) for mark in heads_elsewhere)
    for name, marks in marks_by_chain.items():
        if (
            name not in chains
            and name not in removed
            and name not in heads
            and not (chains_folder(directory) / f"{name}.jsonl").exists()
        ):
            verdict.problems.append(
                ChainProblem(
                    name,
                    None,
                    f"the chain and its head are missing; {marks[0].witness} recorded it",
                )
            )
    known = chains.keys() | heads.keys() | marks_by_chain.keys() | removed.keys()
    _check_register(directory, known, verdict)
    for name, path in chains.items():
        verdict.chains += 1
        marks = marks_by_chain.get(name, [])
        verdict.records += _verify_chain(name, path, heads.get(name), marks, verdict)
    return verdict


def _check_register(directory: Path, known: Set[str], verdict: ChainVerdict) -> None:
    """Report chains that the register lists and that have no trace in the folder."""
    for name in registered_names(directory):
        if name not in known and not (chains_folder(directory) / f"{name}.jsonl").exists():
            verdict.problems.append(
                ChainProblem(
                    name,
                    None,
                    "the chain and its head are missing; the register beside the folder lists it",
                )
            )
    if known and not register_path(directory).exists():
        verdict.warnings.append(
            ChainProblem(
                "register", None, "the register of chains is missing; the next chain creates it"
            )
        )


@dataclass(frozen=True, slots=True)
class _Mark:
    """The head of a chain, as the opening record of another chain contains it."""

    witness: str
    head: Head


def _read_marks(chains: dict[str, Path]) -> dict[str, list[_Mark]]:
    marks: dict[str, list[_Mark]] = {}
    for witness, path in chains.items():
        for name, mark in _opening_heads(path).items():
            if CHAIN_NAME.fullmatch(name) and isinstance(mark, list) and len(mark) == 2:
                count, digest = mark
                if isinstance(count, int) and isinstance(digest, str):
                    marks.setdefault(name, []).append(_Mark(witness, Head(count, digest)))
    return marks


def _opening_heads(path: Path) -> JsonObject:
    """Return the heads in the first record of a chain; empty if it cannot be read."""
    try:
        with path.open("rb") as lines:
            heads = orjson.loads(lines.readline()).get("heads")
    except (OSError, orjson.JSONDecodeError, AttributeError):
        return {}
    return heads if isinstance(heads, dict) else {}


def _verify_chain(
    name: str, path: Path, head_path: Path | None, marks: list[_Mark], verdict: ChainVerdict
) -> int:
    def report(record: int | None, problem: str) -> None:
        verdict.problems.append(ChainProblem(name, record, problem))

    before = _read_settled_head(head_path)
    expected = {mark.head.count: mark for mark in marks}
    head = EMPTY
    matches = before is None
    for line in _lines(path):
        try:
            record, after = unseal(line, head)
        except ValueError as broken:
            report(head.count, str(broken))
            return head.count
        if head.count == 0 and (record.get("type") != "open" or record.get("chain") != name):
            report(0, "the first record does not have the name of the chain")
        head = after
        if before is not None and head.count == before.count:
            matches = head.hash == before.hash
        mark = expected.pop(head.count, None)
        if mark is not None and mark.head.hash != head.hash:
            report(head.count - 1, f"{mark.witness} recorded another record here")
    if before is None:
        report(None, "the head is missing or unreadable")
    elif head.count < before.count:
        report(
            head.count,
            f"the end is missing: {before.count - head.count} of {before.count} records",
        )
    elif not matches:
        report(before.count - 1, "the record does not match the head")
    else:
        _check_end(name, head, head_path, verdict)
    for count, mark in expected.items():
        report(head.count, f"the end is missing: {mark.witness} recorded {count} records")
    return head.count


def _check_end(name: str, head: Head, head_path: Path | None, verdict: ChainVerdict) -> None:
    """Compare the end with the head: a writer may be, or have died, one record ahead of it."""
    now = _read_settled_head(head_path)
    if now is not None and head.count > now.count + 1:
        verdict.problems.append(
            ChainProblem(
                name,
                now.count,
                f"{head.count - now.count} records follow the one that the head names",
            )
        )
    elif now is not None and head.count > now.count:
        verdict.warnings.append(
            ChainProblem(
                name,
                now.count,
                "the last record is not sealed: its process is writing it, or ended there",
            )
        )


def _read_settled_head(path: Path | None) -> Head | None:
    """Read a head until it is the same twice, so that a running write is not taken for damage."""
    if path is None:
        return None
    last = Head.read(path)
    for _ in range(100):
        again = Head.read(path)
        if again == last:
            return again
        last = again
    return last


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines; an incomplete last line is marked as cut."""
    try:
        with path.open("rb") as lines:
            for line in lines:
                yield line.removesuffix(b"\n") if line.endswith(b"\n") else line + b" (cut)"
    except OSError:
        yield b"(unreadable)"

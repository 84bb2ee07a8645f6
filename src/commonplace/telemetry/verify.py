"""Whether the audit trail is whole: every chain against its hashes, its head kept apart, and
what other chains saw of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Set
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from commonplace.telemetry.chain import (
    CHAIN_NAME,
    EMPTY,
    Head,
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
class Problem:
    chain: str
    record: int | None
    problem: str


@dataclass(slots=True)
class Verdict:
    chains: int = 0
    records: int = 0
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "chains": self.chains,
            "records": self.records,
            "problems": [asdict(problem) for problem in self.problems[:MAX_PROBLEMS]],
            "warnings": [asdict(warning) for warning in self.warnings[:MAX_PROBLEMS]],
        }


def verify(directory: Path) -> Verdict:
    """Check all chains of a data folder. Safe while servers write to them.

    A chain that is just being opened looks damaged for a moment; damage stays, so only what is
    found again counts.
    """
    verdict = _verify_once(directory)
    for _ in range(RECHECKS):
        if verdict.ok:
            break
        time.sleep(RECHECK_SECONDS)
        verdict = _verify_once(directory)
    return verdict


def _verify_once(directory: Path) -> Verdict:
    verdict = Verdict()
    chains = {path.stem: path for path in sorted(chains_folder(directory).glob("*.jsonl"))}
    heads = {path.stem: path for path in sorted(heads_folder(directory).glob("*.head"))}
    for name in heads.keys() - chains.keys():
        if not (
            chains_folder(directory) / f"{name}.jsonl"
        ).exists():  # else it was begun after the chains were listed
            verdict.problems.append(Problem(name, None, "the chain's file is gone"))
    seen = _witnesses(chains)
    for name, marks in seen.items():
        if (
            name not in chains
            and name not in heads
            and not (chains_folder(directory) / f"{name}.jsonl").exists()
        ):
            verdict.problems.append(
                Problem(name, None, f"the chain and its head are gone; {marks[0].witness} saw it")
            )
    _check_register(directory, chains.keys() | heads.keys() | seen.keys(), verdict)
    for name, path in chains.items():
        verdict.chains += 1
        verdict.records += _verify_chain(name, path, heads.get(name), seen.get(name, []), verdict)
    return verdict


def _check_register(directory: Path, known: Set[str], verdict: Verdict) -> None:
    """Report chains that the register beside the folder lists and of which the folder holds no
    trace.
    """
    for name in registered_names(directory):
        if name not in known and not (chains_folder(directory) / f"{name}.jsonl").exists():
            verdict.problems.append(
                Problem(
                    name,
                    None,
                    "the chain and its head are gone; the register beside the folder lists it",
                )
            )
    if known and not register_path(directory).exists():
        verdict.warnings.append(
            Problem(
                "register", None, "the register of chains is missing; the next chain writes it anew"
            )
        )


@dataclass(frozen=True, slots=True)
class _Mark:
    """What an opening record says about another chain."""

    witness: str
    head: Head


def _witnesses(chains: dict[str, Path]) -> dict[str, list[_Mark]]:
    seen: dict[str, list[_Mark]] = {}
    for witness, path in chains.items():
        opening = _opening(path)
        for name, mark in opening.items():
            if CHAIN_NAME.fullmatch(name) and isinstance(mark, list) and len(mark) == 2:
                count, digest = mark
                if isinstance(count, int) and isinstance(digest, str):
                    seen.setdefault(name, []).append(_Mark(witness, Head(count, digest)))
    return seen


def _opening(path: Path) -> dict[str, Any]:
    """The heads in a chain's first record; empty where it cannot be read (the chain's own check
    says so).
    """
    try:
        with path.open("rb") as lines:
            heads = orjson.loads(lines.readline()).get("heads")
    except (OSError, orjson.JSONDecodeError, AttributeError):
        return {}
    return heads if isinstance(heads, dict) else {}


def _verify_chain(
    name: str, path: Path, head_path: Path | None, marks: list[_Mark], verdict: Verdict
) -> int:
    def found(record: int | None, problem: str) -> None:
        verdict.problems.append(Problem(name, record, problem))

    before = _settled(head_path)
    expected = {mark.head.count: mark for mark in marks}
    head = EMPTY
    agrees = before is None
    for line in _lines(path):
        try:
            record, after = unseal(line, head)
        except ValueError as broken:
            found(head.count, str(broken))
            return head.count
        if head.count == 0 and (record.get("type") != "open" or record.get("chain") != name):
            found(0, "the file does not open with its own chain's name")
        head = after
        if before is not None and head.count == before.count:
            agrees = head.hash == before.hash
        mark = expected.pop(head.count, None)
        if mark is not None and mark.head.hash != head.hash:
            found(head.count - 1, f"{mark.witness} saw another record here")
    if before is None:
        found(None, "the head that is kept apart is gone or unreadable")
    elif head.count < before.count:
        found(
            head.count,
            f"the end was cut: {before.count - head.count} of {before.count} records are gone",
        )
    elif not agrees:
        found(before.count - 1, "the record does not match the head that is kept apart")
    else:
        _check_end(name, head, head_path, verdict)
    for count, mark in expected.items():
        found(head.count, f"the end was cut: {mark.witness} saw {count} records")
    return head.count


def _check_end(name: str, head: Head, head_path: Path | None, verdict: Verdict) -> None:
    """A living writer may be ahead of the head by the record it is writing; a dead one may have
    died there.
    """
    now = _settled(head_path)
    if now is not None and head.count > now.count + 1:
        verdict.problems.append(
            Problem(
                name,
                now.count,
                f"{head.count - now.count} records stand behind the head that is kept apart",
            )
        )
    elif now is not None and head.count > now.count:
        verdict.warnings.append(
            Problem(
                name,
                now.count,
                "the last record is not sealed: its process is writing it, or died there",
            )
        )


def _settled(path: Path | None) -> Head | None:
    """A head that reads the same twice, so that a write under way is not taken for damage."""
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
    """Complete lines; what follows the last newline is a line too (a cut one)."""
    try:
        with path.open("rb") as lines:
            for line in lines:
                yield line.removesuffix(b"\n") if line.endswith(b"\n") else line + b" (cut)"
    except OSError:
        yield b"(unreadable)"

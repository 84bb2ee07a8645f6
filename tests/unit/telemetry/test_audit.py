"""The audit trail: appended, verified, queried; changes are refused while it is unwritable."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from commonplace.kernel.errors import CommonplaceError
from commonplace.telemetry.audit import AuditLog
from commonplace.telemetry.chain import registered_names
from commonplace.telemetry.query import AuditFilter, query_audit
from commonplace.telemetry.recent import FinishedCall
from commonplace.telemetry.verify import verify


def record(number: int, **more: Any) -> dict[str, Any]:
    return {
        "type": "call",
        "tool": "file_write",
        "tenant": "a",
        "outcome": "ok",
        "number": number,
        **more,
    }


def filled(directory: Path, count: int = 5, **options: Any) -> Path:
    audit = AuditLog(directory, **options)
    for number in range(count):
        audit.append(record(number))
    audit.close()
    return directory


def problems(directory: Path) -> list[str]:
    return [problem.problem for problem in verify(directory).problems]


def test_an_untouched_trail_verifies(tmp_path: Path) -> None:
    filled(tmp_path)
    filled(tmp_path)
    verdict = verify(tmp_path)
    assert (verdict.ok, verdict.chains, verdict.records, verdict.warnings) == (True, 2, 12, [])


def test_an_empty_folder_verifies(tmp_path: Path) -> None:
    assert verify(tmp_path / "nothing").ok


def test_a_process_that_changes_nothing_leaves_nothing(tmp_path: Path) -> None:
    AuditLog(tmp_path / "audit").close()
    assert not (tmp_path / "audit").exists()


def test_the_files_are_for_their_owner_only(tmp_path: Path) -> None:
    filled(tmp_path / "audit")
    modes = {path.stat().st_mode & 0o077 for path in (tmp_path / "audit").rglob("*")}
    assert modes == {0}


def test_a_record_is_on_disk_before_append_returns(tmp_path: Path) -> None:
    audit = AuditLog(tmp_path)
    audit.append(record(1))
    (chain,) = (tmp_path / "chains").iterdir()
    assert json.loads(chain.read_bytes().splitlines()[1])["number"] == 1
    assert verify(tmp_path).ok
    audit.close()


def test_a_full_segment_starts_the_next_chain(tmp_path: Path) -> None:
    filled(tmp_path, 60, segment_bytes=4096)
    verdict = verify(tmp_path)
    assert verdict.ok
    assert verdict.chains > 3
    assert len(query_audit(tmp_path, AuditFilter(limit=1000))) == 60


def test_threads_share_a_chain(tmp_path: Path) -> None:
    audit = AuditLog(tmp_path)
    workers = [
        threading.Thread(target=lambda: [audit.append(record(n)) for n in range(50)])
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    audit.close()
    assert (verify(tmp_path).ok, verify(tmp_path).records) == (True, 201)


def test_a_chain_removed_with_its_head_is_reported(tmp_path: Path) -> None:
    filled(tmp_path)
    (first,) = (tmp_path / "chains").iterdir()
    filled(tmp_path)
    first.unlink()
    (tmp_path / "heads" / f"{first.stem}.head").unlink()
    assert any("are missing" in problem for problem in problems(tmp_path))


def test_a_chain_rewritten_with_matching_hashes_contradicts_its_witness(tmp_path: Path) -> None:
    filled(tmp_path, 3)
    (first,) = (tmp_path / "chains").iterdir()
    filled(tmp_path)
    forged = filled(tmp_path.with_name("forged"), 3)
    (other,) = (forged / "chains").iterdir()
    first.write_bytes(other.read_bytes().replace(other.stem.encode(), first.stem.encode()))
    assert problems(tmp_path)


def test_a_renamed_chain_is_found(tmp_path: Path) -> None:
    filled(tmp_path)
    (chain,) = (tmp_path / "chains").iterdir()
    chain.rename(chain.with_name("20200101T000000-1-abcdef01.jsonl"))
    assert len(problems(tmp_path)) >= 2


def test_a_process_that_died_between_record_and_head_is_a_warning(tmp_path: Path) -> None:
    filled(tmp_path, 3)
    (head,) = (tmp_path / "heads").iterdir()
    (chain,) = (tmp_path / "chains").iterdir()
    before_last = json.loads(chain.read_bytes().splitlines()[-2])
    head.write_text(f"{before_last['seq'] + 1:020d} {before_last['hash']}\n")
    verdict = verify(tmp_path)
    assert verdict.ok
    assert "not sealed" in verdict.warnings[0].problem


def test_verifying_while_a_server_writes_finds_nothing(tmp_path: Path) -> None:
    audit = AuditLog(tmp_path)
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            audit.append(record(number))
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        verdicts = [verify(tmp_path) for _ in range(30)]
    finally:
        stop.set()
        writer.join()
        audit.close()
    assert [verdict.problems for verdict in verdicts] == [[]] * 30
    assert verify(tmp_path).ok


def test_records_are_found_newest_first_by_every_filter(tmp_path: Path) -> None:
    audit = AuditLog(tmp_path)
    audit.append(record(1, trace_id="t1"))
    audit.append(
        record(
            2,
            tenant="b",
            outcome="refused",
            code="READ_ONLY",
            tool="file_delete",
            name="files/delete",
        )
    )
    audit.append(record(3))
    audit.close()

    def numbers(**wanted: Any) -> list[int]:
        return [found["number"] for found in query_audit(tmp_path, AuditFilter(**wanted))]

    assert numbers() == [3, 2, 1]
    assert numbers(limit=1) == [3]
    assert numbers(tenant="b") == numbers(outcome="refused") == numbers(code="READ_ONLY") == [2]
    assert numbers(tool="file_delete") == numbers(tool="files/delete") == [2]
    assert numbers(trace_id="t1") == [1]
    assert numbers(since="2999-01-01") == []
    assert numbers(until="2000-01-01") == []


@pytest.mark.parametrize(
    ("bound", "after"),
    [
        ("2026-11-16T22:43:45Z", True),
        ("2026-11-16T22:43:45.045Z", True),
        ("2026-11-16T23:43:45+01:00", True),
        ("2026-11-16", True),
        ("2026-11-16T22:43:45.0455Z", False),
        ("2026-11-16T22:43:46Z", False),
    ],
)
def test_times_are_compared_as_instants(bound: str, after: bool) -> None:
    one = {"type": "call", "ts": "2026-11-16T22:43:45.045Z"}
    assert AuditFilter(since=bound).matches(one) is after
    assert AuditFilter(until=bound).matches(one) is not after


@pytest.mark.parametrize(
    "wrong", [{"since": "garbage"}, {"until": "2026-13-01"}, {"since": ""}, {"outcome": "bad"}]
)
def test_an_invalid_filter_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(CommonplaceError) as refused:
        AuditFilter(**wrong)
    assert refused.value.code.name == "INVALID_ARGUMENT"
    assert refused.value.hint


def test_an_unwritable_folder_refuses_changes_with_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "audit").write_text("a file where the folder should be")
    audit = AuditLog(tmp_path / "audit")
    with pytest.raises(CommonplaceError) as caught:
        audit.ready()
    assert caught.value.code.name == "AUDIT_UNAVAILABLE"
    assert "changes are refused" in caught.value.message
    assert caught.value.retryable
    (tmp_path / "audit").unlink()
    audit.ready()
    audit.append(record(1))
    audit.close()
    assert verify(tmp_path / "audit").ok


FULL_DISK = """
import resource, sys
from pathlib import Path
from commonplace.kernel.errors import CommonplaceError
from commonplace.telemetry.audit import AuditLog
audit = AuditLog(Path(sys.argv[1]))
audit.append({"type": "call", "number": 0})
size = next(Path(sys.argv[1], "chains").iterdir()).stat().st_size
# A disk with room for a few records.
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 700, resource.RLIM_INFINITY))
written = 1
refused = 0
for number in range(1, 30):
    try:
        audit.ready()
        audit.append({"type": "call", "number": number})
        written += 1
    except CommonplaceError as error:
        assert error.code.name == "AUDIT_UNAVAILABLE", error
        refused += 1
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
audit.ready()
audit.append({"type": "call", "number": 99})
audit.close()
print(written + 1, refused)
"""


def test_a_full_disk_refuses_changes_loses_nothing_and_recovers(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    written, refused = (int(word) for word in ran.stdout.split())
    assert refused > 0
    assert verify(tmp_path).ok
    assert len(query_audit(tmp_path, AuditFilter(limit=1000))) == written


def test_reads_are_kept_in_memory_only(tmp_path: Path) -> None:
    audit = AuditLog(tmp_path, recent_reads=2)
    for number in range(3):
        audit.reads.add(
            FinishedCall(0.0, "t", "t", "a", "b", None, "ok", None, 0.001, str(number), {})
        )
    assert [read["trace_id"] for read in audit.reads.records()] == ["1", "2"]
    assert list(tmp_path.iterdir()) == []


def test_an_emptied_or_missing_folder_is_found(tmp_path: Path) -> None:
    directory = tmp_path / "audit"
    for _ in range(2):
        log = AuditLog(directory)
        log.append({"type": "call"})
        log.close()
    assert verify(directory).ok
    shutil.rmtree(directory)
    missing = verify(directory)
    assert [problem.problem for problem in missing.problems] == [
        "the chain and its head are missing; the register beside the folder lists it"
    ] * 2
    (directory / "chains").mkdir(parents=True)
    (directory / "heads").mkdir()
    assert not verify(directory).ok
    again = AuditLog(directory)
    again.append({"type": "call"})
    again.close()
    assert not verify(directory).ok


def test_chains_of_an_older_version_are_registered_with_the_next(tmp_path: Path) -> None:
    directory = tmp_path / "audit"
    for _ in range(2):
        log = AuditLog(directory)
        log.append({"type": "call"})
        log.close()
    register = tmp_path / "audit.register"
    assert stat.S_IMODE(register.stat().st_mode) == 0o600
    register.unlink()
    verdict = verify(directory)
    assert (verdict.ok, [warning.chain for warning in verdict.warnings]) == (True, ["register"])
    log = AuditLog(directory)
    log.append({"type": "call"})
    log.close()
    assert len(registered_names(directory)) == 3
    shutil.rmtree(directory)
    assert len(verify(directory).problems) == 3


def test_a_truncated_line_of_the_register_is_ignored(tmp_path: Path) -> None:
    directory = tmp_path / "audit"
    log = AuditLog(directory)
    log.append({"type": "call"})
    log.close()
    register = tmp_path / "audit.register"
    whole = register.read_text()
    register.write_text(whole + whole[: len(whole) // 2])
    log = AuditLog(directory)
    log.append({"type": "call"})
    log.close()
    assert verify(directory).ok
    assert len(registered_names(directory)) == 2


def test_records_after_the_folder_was_removed_are_kept_and_the_loss_is_found(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "audit"
    log = AuditLog(directory)
    log.append({"type": "call", "tool": "first"})
    shutil.rmtree(directory)
    log.append({"type": "call", "tool": "second"})
    log.close()
    kept = b"".join(path.read_bytes() for path in (directory / "chains").glob("*.jsonl"))
    assert b'"second"' in kept
    assert not verify(directory).ok

"""Any tampering with the audit trails of several processes is detected."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commonplace.telemetry.verify import verify

WRITE = """
import sys
from pathlib import Path
from commonplace.telemetry.audit import AuditLog
audit = AuditLog(Path(sys.argv[1]), segment_bytes=6000)
for number in range(int(sys.argv[2])):
    call = {"type": "call", "tool": "file_write", "tenant": "a", "outcome": "ok"}
    audit.append({**call, "arguments": {"path": f"/n{number}.md"}})
audit.close()
"""


@pytest.fixture(scope="session")
def trail(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three processes at once, then two one after the other, so that chains witness each other."""
    directory = tmp_path_factory.mktemp("trail")
    together = [
        subprocess.Popen([sys.executable, "-c", WRITE, str(directory), "25"]) for _ in range(3)
    ]
    assert [process.wait(60) for process in together] == [0, 0, 0]
    for _ in range(2):
        subprocess.run([sys.executable, "-c", WRITE, str(directory), "5"], check=True)
    assert verify(directory).ok
    return directory


def edit(lines: list[bytes], draw: st.DataObject) -> list[bytes]:
    """Change one byte of one line to another."""
    at = draw.draw(st.integers(0, len(lines) - 1), label="line")
    line = bytearray(lines[at])
    byte = draw.draw(st.integers(0, len(line) - 1), label="byte")
    line[byte] ^= draw.draw(st.integers(1, 255), label="flip")
    return [*lines[:at], bytes(line), *lines[at + 1 :]]


def drop(lines: list[bytes], draw: st.DataObject) -> list[bytes]:
    at = draw.draw(st.integers(0, len(lines) - 1), label="line")
    return lines[:at] + lines[at + 1 :]


def swap(lines: list[bytes], draw: st.DataObject) -> list[bytes]:
    first = draw.draw(st.integers(0, len(lines) - 2), label="first")
    second = draw.draw(st.integers(first + 1, len(lines) - 1), label="second")
    swapped = list(lines)
    swapped[first], swapped[second] = swapped[second], swapped[first]
    return swapped


def repeat(lines: list[bytes], draw: st.DataObject) -> list[bytes]:
    at = draw.draw(st.integers(0, len(lines) - 1), label="line")
    to = draw.draw(st.integers(0, len(lines)), label="to")
    return [*lines[:to], lines[at], *lines[to:]]


def cut_tail(lines: list[bytes], draw: st.DataObject) -> list[bytes]:
    return lines[: draw.draw(st.integers(0, len(lines) - 1), label="kept")]


def cut_inside(lines: list[bytes], draw: st.DataObject) -> list[bytes]:
    whole = b"".join(lines)
    return [whole[: draw.draw(st.integers(0, len(whole) - 1), label="bytes")]]


CHANGES: list[Callable[[list[bytes], st.DataObject], list[bytes]]] = [
    edit,
    drop,
    swap,
    repeat,
    cut_tail,
    cut_inside,
]


@settings(max_examples=250, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_tampering_with_a_chain_is_found(trail: Path, data: st.DataObject) -> None:
    chains = sorted((trail / "chains").iterdir())
    chain = data.draw(st.sampled_from(chains), label="chain")
    change = data.draw(st.sampled_from(CHANGES), label="change")
    original = chain.read_bytes()
    changed = b"".join(change(original.splitlines(keepends=True), data))
    if changed == original:  # two equal lines cannot be: every record has its own number and hash
        raise AssertionError("the change changed nothing")
    try:
        chain.write_bytes(changed)
        assert not verify(trail).ok
    finally:
        chain.write_bytes(original)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_tampering_across_files_is_found(
    trail: Path, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    copy = tmp_path_factory.mktemp("copy") / "audit"
    shutil.copytree(trail, copy)
    chains, heads = sorted((copy / "chains").iterdir()), sorted((copy / "heads").iterdir())
    first, second = data.draw(st.permutations(chains).map(lambda order: order[:2]), label="chains")
    what = data.draw(
        st.sampled_from(
            ["remove chain", "remove head", "swap chains", "move line", "edit head", "swap heads"]
        ),
        label="what",
    )
    if what == "remove chain":
        first.unlink()
    elif what == "remove head":
        (copy / "heads" / f"{first.stem}.head").unlink()
    elif what == "swap chains":
        one, other = first.read_bytes(), second.read_bytes()
        first.write_bytes(other)
        second.write_bytes(one)
    elif what == "move line":
        lines = second.read_bytes().splitlines(keepends=True)
        first.write_bytes(first.read_bytes() + lines[-1])
    elif what == "edit head":
        raw = bytearray(heads[0].read_bytes())
        at = data.draw(st.integers(0, len(raw) - 1), label="byte")
        raw[at] ^= data.draw(st.integers(1, 255), label="flip")
        heads[0].write_bytes(bytes(raw))
    else:
        one, other = heads[0].read_bytes(), heads[1].read_bytes()
        heads[0].write_bytes(other)
        heads[1].write_bytes(one)
    assert not verify(copy).ok, what
    shutil.rmtree(copy)

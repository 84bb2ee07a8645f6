"""Large YAML is parsed in a process of its own: the parser holds the interpreter lock for
seconds, and everybody would wait for it.

python -m commonplace.openapi.engine.yaml.process < one line of limits, then the text > one line
about it, then its JSON
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from dataclasses import asdict
from typing import Any

import orjson

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.errors import CODES, SPEC_TOO_LARGE
from commonplace.openapi.model import DocumentLimits, DuplicateKey
from commonplace.openapi.number_literals import NumberLiterals

SECONDS = 120.0
_running: set[subprocess.Popen[bytes]] = set()
_guard = threading.Lock()


def parse_in_subprocess(
    text: str, limits: DocumentLimits
) -> tuple[bytes, tuple[DuplicateKey, ...]] | None:
    """The JSON of a YAML text and its duplicate keys; None where no process can be started here."""
    head = orjson.dumps(asdict(limits))
    try:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    with _guard:
        _running.add(process)
    try:
        answer, _ = process.communicate(
            head + b"\n" + text.encode("utf-8", "surrogatepass"), SECONDS
        )
    except subprocess.TimeoutExpired:
        raise CommonplaceError(
            SPEC_TOO_LARGE,
            f"Parsing the YAML text took more than {SECONDS:.0f} s.",
            hint="Convert it to JSON.",
        ) from None
    finally:
        _end(process)
    said, _, document = answer.partition(b"\n")
    if not said:
        raise CommonplaceError(
            SPEC_TOO_LARGE, "The YAML text could not be parsed: it needs more memory than there is."
        )
    outcome: dict[str, Any] = orjson.loads(said)
    if "code" in outcome:
        code = next(code for code in CODES if code.name == outcome["code"])
        raise CommonplaceError(
            code, outcome["message"], hint=outcome["hint"], details=outcome["details"]
        )
    return document, tuple(DuplicateKey(**duplicate) for duplicate in outcome["duplicates"])


def stop_parsers() -> None:
    """End the processes that still parse: the server stops."""
    with _guard:
        running = tuple(_running)
    for process in running:
        with contextlib.suppress(OSError):
            process.kill()


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
    process.communicate()
    with _guard:
        _running.discard(process)


def _answer(source: bytes) -> bytes:
    from commonplace.openapi.engine.yaml.parse import parse_yaml

    head, _, text = source.partition(b"\n")
    numbers = NumberLiterals()
    try:
        data, duplicates = parse_yaml(
            text.decode("utf-8", "surrogatepass"), DocumentLimits(**orjson.loads(head)), numbers
        )
    except CommonplaceError as error:
        return orjson.dumps(
            {
                "code": error.code.name,
                "message": error.message,
                "hint": error.hint,
                "details": dict(error.details),
            }
        )
    said = orjson.dumps({"duplicates": [asdict(duplicate) for duplicate in duplicates]})
    written = orjson.dumps(numbers.marked(data))
    return (
        said
        + b"\n"
        + (numbers.written(written.decode(), json=True).encode() if len(numbers) else written)
    )


if __name__ == "__main__":
    sys.stdout.buffer.write(_answer(sys.stdin.buffer.read()))

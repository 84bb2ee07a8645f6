"""Parsing of large YAML texts in a process of their own.

The parser holds the interpreter lock for seconds, and every other call would wait for it. The
process reads one line with the limits and then the text; it writes one line with the outcome and
then the JSON.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from dataclasses import asdict

import orjson

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import JsonObject
from commonplace.openapi.errors import CODES, SPEC_TOO_LARGE
from commonplace.openapi.model import DocumentLimits, DuplicateKey
from commonplace.openapi.number_literals import NumberLiterals

TIMEOUT_SECONDS = 120.0
_running: set[subprocess.Popen[bytes]] = set()
_guard = threading.Lock()


def parse_in_subprocess(
    text: str, limits: DocumentLimits
) -> tuple[bytes, tuple[DuplicateKey, ...]] | None:
    """Return the JSON of a YAML text and its duplicate keys; None if no process can be started."""
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
            head + b"\n" + text.encode("utf-8", "surrogatepass"), TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise CommonplaceError(
            SPEC_TOO_LARGE,
            f"Parsing the YAML text took more than {TIMEOUT_SECONDS:.0f} s.",
            hint="Convert it to JSON.",
        ) from None
    finally:
        _stop(process)
    outcome_line, _, document = answer.partition(b"\n")
    if not outcome_line:
        raise CommonplaceError(
            SPEC_TOO_LARGE,
            "There is not enough memory to parse the YAML text.",
            hint="Convert it to JSON.",
        )
    outcome: JsonObject = orjson.loads(outcome_line)
    if "code" in outcome:
        code = next(code for code in CODES if code.name == outcome["code"])
        raise CommonplaceError(
            code, outcome["message"], hint=outcome["hint"], details=outcome["details"]
        )
    return document, tuple(DuplicateKey(**duplicate) for duplicate in outcome["duplicates"])


def stop_parsers() -> None:
    """End the processes that are still parsing, when the server stops."""
    with _guard:
        running = tuple(_running)
    for process in running:
        with contextlib.suppress(OSError):
            process.kill()


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
    process.communicate()
    with _guard:
        _running.discard(process)


def _parse_request(source: bytes) -> bytes:
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
    outcome_line = orjson.dumps({"duplicates": [asdict(duplicate) for duplicate in duplicates]})
    encoded = orjson.dumps(numbers.mark(data))
    return (
        outcome_line
        + b"\n"
        + (numbers.restore(encoded.decode(), json=True).encode() if len(numbers) else encoded)
    )


if __name__ == "__main__":
    sys.stdout.buffer.write(_parse_request(sys.stdin.buffer.read()))

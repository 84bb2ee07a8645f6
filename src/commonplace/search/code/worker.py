"""The process that parses: reads requests from its input, writes structures to its output.

It ends with its parent, and by itself when nobody asks for some time.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
from functools import partial

from commonplace.search.code.reading import read_structure
from commonplace.search.code.structure import Structure
from commonplace.search.code.wire import HEADER, encode_answer, read_exactly

IDLE_SECONDS = 120.0
PARSE_CPU_SECONDS = 3.0  # of one source, with its grammar; ten times what the largest takes
MAX_MEMORY_BYTES = 2_000_000_000  # of address space; a hostile source must not take more


def main() -> int:
    limit_resources()
    requests, answers = sys.stdin.fileno(), sys.stdout.buffer
    while True:
        ready, _, _ = select.select([requests], [], [], IDLE_SECONDS)
        header = read_exactly(partial(os.read, requests), HEADER.size) if ready else None
        if header is None:
            return 0
        name_size, source_size = HEADER.unpack(header)
        body = read_exactly(partial(os.read, requests), name_size + source_size)
        if body is None:
            return 0
        # The signal ends this process, wherever the parser is; the parent notices and goes on.
        signal.setitimer(signal.ITIMER_PROF, PARSE_CPU_SECONDS)
        structure = answer(body[:name_size].decode(), body[name_size:])
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        answers.write(encode_answer(structure))
        answers.flush()


def answer(language: str, source: bytes) -> Structure:
    """Return the structure of a source, or why there is none."""
    try:
        return read_structure(language, source)
    except Exception as error:  # whatever a parser raises: the text is cut without structure
        return Structure(language, note=f"the parser failed: {type(error).__name__}")


def limit_resources() -> None:
    """Bound the memory, and write no core file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or hard > MAX_MEMORY_BYTES:
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, hard))


if __name__ == "__main__":
    sys.exit(main())

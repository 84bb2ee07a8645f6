"""The process that parses: reads requests from its input, writes structures to its output."""

from __future__ import annotations

import sys

from commonplace.kernel.child.worker import serve_requests
from commonplace.search.code.reading import read_structure
from commonplace.search.code.structure import Structure
from commonplace.search.code.wire import decode_request, encode_answer

PARSE_CPU_SECONDS = 3.0  # of one source, with its grammar; ten times what the largest takes


def answer(request: bytes) -> bytes:
    """Return the structure of a source, or why there is none."""
    language, source = decode_request(request)
    try:
        return encode_answer(read_structure(language, source))
    except Exception as error:  # whatever a parser raises: the text is cut without structure
        note = f"the parser failed: {type(error).__name__}"
        return encode_answer(Structure(language, note=note))


if __name__ == "__main__":
    sys.exit(serve_requests(answer, PARSE_CPU_SECONDS))

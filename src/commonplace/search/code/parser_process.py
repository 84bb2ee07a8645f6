"""Parsing in a process of its own, with a limit of time that holds."""

from __future__ import annotations

import logging

from commonplace.kernel.child.process import ChildFailedError, ChildProcess
from commonplace.search.code.languages import MARKDOWN, language_of
from commonplace.search.code.markdown import read_markdown
from commonplace.search.code.reading import obstacle
from commonplace.search.code.structure import Structure
from commonplace.search.code.wire import MalformedAnswerError, decode_answer, encode_request

log = logging.getLogger("commonplace.search.code")

# The worker limits its own processor time; this is for a machine that hardly runs it.
PARSE_SECONDS = 60.0


class ParserProcess:
    """Structures of files from a child process, started when first needed. Thread-safe."""

    def __init__(self, parse_seconds: float = PARSE_SECONDS) -> None:
        self._child = ChildProcess("commonplace.search.code.worker", parse_seconds)

    @property
    def process_id(self) -> int | None:
        """Return the id of the running process; None if there is none."""
        return self._child.process_id

    def structure(self, path: str, source: bytes) -> Structure:
        """Return the structure of a file; never raises. `note` says why a part is missing."""
        language = language_of(path)
        if language == MARKDOWN:
            return read_markdown(source)
        note = obstacle(language, source)
        if note or not source:
            return Structure(language, note=note)
        try:
            return decode_answer(self._child.ask(encode_request(language, source)), len(source))
        except (ChildFailedError, MalformedAnswerError) as failed:
            self._child.close()
            log.info("a file of %d bytes is indexed without structure: %s", len(source), failed)
            return Structure(language, note=str(failed))

    def close(self) -> None:
        """End the process; the next call starts another one."""
        self._child.close()

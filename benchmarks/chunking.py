"""`make bench SUITE=chunking`: processor time to cut and analyse code, as text and by structure.

The sources are Python's standard library. Time of the process that parses is counted with it.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path

from commonplace.search.chunk import split
from commonplace.search.code.chunking import split_source
from commonplace.search.code.parser_process import ParserProcess
from commonplace.search.lexical.text import analyze

FILES = 150


def main() -> None:
    folder = Path(argparse.__file__).parent
    sources = [path.read_bytes() for path in sorted(folder.glob("*.py"))[:FILES]]
    megabytes = sum(map(len, sources)) / 1e6
    print(f"{len(sources)} files, {megabytes:.1f} MB, processor time")

    def report(name: str, work: Callable[[], object]) -> float:
        begun = time.process_time(), _children()
        work()
        here = time.process_time() - begun[0]
        child = _children() - begun[1]
        total = here + child
        print(f"  {name:28} {total:6.2f} s  {megabytes / total:6.1f} MB/s  (server {here:.2f} s)")
        return total

    def by_structure() -> None:
        parser = ParserProcess()
        try:
            for source in sources:
                split_source(source, parser.structure("/module.py", source))
        finally:
            parser.close()

    text = report("chunks as text", lambda: [split(source.decode()) for source in sources])
    code = report("chunks by structure", by_structure)
    words = report(
        "analysis of the words",
        lambda: [analyze(chunk.text) for source in sources for chunk in split(source.decode())],
    )
    print(f"  structure / text: {code / text:.1f}; structure / analysis: {code / words:.1f}")


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()

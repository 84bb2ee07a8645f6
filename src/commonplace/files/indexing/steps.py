"""The steps of indexing a file: read it, compare it with its index, analyse what is new."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Protocol

from commonplace.files.engine.reindex import difference, symbols_of, terms_of
from commonplace.files.extracts.difference import compare_extracts, terms_of_extract
from commonplace.files.extracts.model import ExtractChange, Extraction, Extractor
from commonplace.files.model import IndexChange, Job
from commonplace.files.store.protocol import IndexSource, IndexStep
from commonplace.files.symbols import FileSymbols
from commonplace.kernel.paging import in_batches
from commonplace.search.code.structure import Structure
from commonplace.search.lexical.text import ANALYSIS_VERSION

STEP_CHUNKS = 32  # chunks changed in one transaction: the writer is never blocked for long


class StructureReader(Protocol):
    """Reads what a file defines and uses; never raises."""

    def structure(self, path: str, source: bytes) -> Structure: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class FileReading:
    """What the readers found in a file."""

    structure: Structure = field(default_factory=Structure)
    extraction: Extraction = field(default_factory=Extraction)


@dataclass(frozen=True, slots=True)
class FileReaders:
    """Who reads a file before it is indexed; without them it is cut as plain text."""

    structure: StructureReader | None = None
    extractor: Extractor | None = None

    def read(self, job: Job, source: IndexSource) -> FileReading:
        """Return what a file holds; nothing of a deleted one."""
        file = source.source
        if file.content_hash is None:
            return FileReading()
        return FileReading(
            self.structure.structure(job.path, file.content) if self.structure else Structure(),
            self.extractor.extract(job.path, file.content) if self.extractor else Extraction(),
        )

    def close(self) -> None:
        for reader in (self.structure, self.extractor):
            if reader is not None:
                reader.close()


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """What changes in the index of a file, in parts that are applied one after the other."""

    job: Job
    source: IndexSource
    symbols: FileSymbols | None
    parts: Sequence[tuple[IndexChange, ExtractChange]]

    def step(self, number: int) -> IndexStep:
        """Analyse a part, counted from 0; this is most of the work of indexing."""
        chunks, extracts = self.parts[number]
        last = number == len(self.parts) - 1
        path = self.job.path
        return IndexStep(
            self.job,
            self.source.source.content_hash,
            chunks,
            [terms_of(chunk) for chunk in (*chunks.added, *chunks.reworded)],
            last,
            self.symbols if last else None,
            extracts,
            [terms_of_extract(path, e.extract) for e in (*extracts.added, *extracts.reworded)],
        )


def plan_steps(job: Job, source: IndexSource, reading: FileReading) -> IndexPlan:
    """Compare a file with its index."""
    file, extraction = source.source, reading.extraction
    change = difference(job.path, file, reading.structure)
    extracts = compare_extracts(
        extraction.extracts, source.extracts, reword=file.analysis < ANALYSIS_VERSION
    )
    symbols = symbols_of(job.path, file, reading.structure)
    if symbols is not None and extraction.recognised:
        symbols = replace(symbols, has_extracts=True, extracts_note=extraction.note)
    parts = [
        *((part, ExtractChange()) for part in change.steps(STEP_CHUNKS)),
        *((IndexChange(), part) for part in extracts.steps(STEP_CHUNKS)),
    ]
    return IndexPlan(job, source, symbols, parts)


def all_steps(
    work: Sequence[tuple[Job, IndexSource]], readers: FileReaders
) -> list[list[IndexStep] | Exception]:
    """Return the steps of each job, or the error that analysing it raised.

    The readers work in processes of their own: they read the next files while one is analysed here.
    """
    made: list[list[IndexStep] | Exception] = []
    with ThreadPoolExecutor(1, thread_name_prefix="files-structure") as ahead:
        waiting = [ahead.submit(readers.read, job, source) for job, source in work]
        for (job, source), reading in zip(work, waiting, strict=True):
            try:
                plan = plan_steps(job, source, reading.result())
                made.append([plan.step(number) for number in range(len(plan.parts))])
            except Exception as error:  # reported by the job it belongs to
                made.append(error)
    return made


def batches(steps: Sequence[IndexStep]) -> Iterator[list[IndexStep]]:
    """Yield steps of one project that together change as much as one step may."""
    places: dict[tuple[str, str], list[IndexStep]] = defaultdict(list)
    for step in steps:
        places[step.job.tenant, step.job.project].append(step)
    for batch in places.values():
        yield from in_batches(batch, _count_chunks, STEP_CHUNKS)


def _count_chunks(step: IndexStep) -> int:
    return len(step.terms) + len(step.change.removed)

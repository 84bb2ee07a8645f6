"""Loading of documents for callers, in threads that do not block the event loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import NOT_AVAILABLE, CommonplaceError
from commonplace.kernel.gc_control import gc_paused
from commonplace.kernel.paths import working_in
from commonplace.kernel.progress import Report
from commonplace.openapi.engine.yaml.process import stop_parsers
from commonplace.openapi.errors import SPEC_TOO_DEEP
from commonplace.openapi.model import ApiDocument, SourceTree, Spec
from commonplace.openapi.store.documents import DocumentStore
from commonplace.openapi.store.workers import Workers

T = TypeVar("T")


class StoredFiles(Protocol):
    """Files of this server, by their reference `file:PROJECT/PATH`, as the caller may read them."""

    async def digest(self, caller: AuthContext, reference: str) -> str | None:
        """Return the SHA-256 of a whole file as hex; None for a part of a file."""

    async def read(self, caller: AuthContext, reference: str) -> bytes:
        """Return the content."""


class DocumentLoader:
    """Runs the work of callers in threads, and loads the documents it needs."""

    def __init__(
        self, documents: DocumentStore, workers: Workers, stored_files: StoredFiles | None
    ) -> None:
        self._documents = documents
        self._workers = workers
        self._stored_files = stored_files

    async def load(self, caller: AuthContext, spec: Spec) -> ApiDocument:
        """Return the document of a spec, from the cache if it has not changed."""
        if spec.ref is not None:
            digest = await self._files().digest(caller, spec.ref)
            cached = self._documents.find_content(digest) if digest is not None else None
            if cached is not None:  # without reading the file
                return cached
        spec = await self._with_content(caller, spec)
        fetches = spec.url is not None
        return await self.run(caller, lambda: self._documents.load(spec), fetches=fetches)

    async def load_all(
        self, caller: AuthContext, specs: Sequence[Spec], report: Report
    ) -> list[ApiDocument]:
        """Return the documents of specs, in order."""
        documents: list[ApiDocument] = []
        for spec in specs:
            report("Documents read", len(documents), len(specs))
            documents.append(await self.load(caller, spec))
        report("Documents read", len(documents), len(specs))
        return documents

    async def load_tree(self, caller: AuthContext, spec: Spec) -> SourceTree:
        """Parse text that need not be an API description, such as an overlay."""
        spec = await self._with_content(caller, spec)
        fetches = spec.url is not None
        return await self.run(caller, lambda: self._documents.load_tree(spec), fetches=fetches)

    async def run(self, caller: AuthContext, work: Callable[[], T], *, fetches: bool = False) -> T:
        """Run work in a thread; `fetches` says that it needs the network."""
        seconds = self._documents.access.url_timeout_seconds

        def work_in_folder() -> T:
            with working_in(caller.folder):
                return work()

        return await self._workers.run(
            caller.key_id or caller.tenant, seconds, work_in_folder, fetches=fetches
        )

    async def compute(self, caller: AuthContext, work: Callable[[], T]) -> T:
        """Run work that builds large values, without garbage collection meanwhile.

        Raises SPEC_TOO_DEEP if the document nests too deeply for it.
        """

        def compute() -> T:
            try:
                with gc_paused():
                    return work()
            except RecursionError:
                raise CommonplaceError(
                    SPEC_TOO_DEEP,
                    "The document nests too deeply for this operation.",
                    hint="Split deeply nested schemas into components.",
                ) from None

        return await self.run(caller, compute)

    def close(self) -> None:
        """End fetches and parser processes; no more work is accepted."""
        self._workers.close()
        stop_parsers()

    async def _with_content(self, caller: AuthContext, spec: Spec) -> Spec:
        """Return the spec with the content of the stored file that it names, if any."""
        if spec.ref is None:
            return spec
        return replace(spec, content=await self._files().read(caller, spec.ref))

    def _files(self) -> StoredFiles:
        if self._stored_files is None:
            raise CommonplaceError(
                NOT_AVAILABLE,
                "This server does not store files.",
                hint="Pass the document as file, url or content.",
            )
        return self._stored_files

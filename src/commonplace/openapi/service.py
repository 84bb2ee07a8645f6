"""The use cases of the openapi domain, one method each.

The engines that write or compare are imported when they are first used, so that a first parse,
validation or walk does not wait for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from commonplace.kernel.auth import AuthContext
from commonplace.kernel.progress import Report, report_nothing
from commonplace.openapi.engine.document.index import (
    has_external_path_items,
    has_external_refs,
    index_document,
)
from commonplace.openapi.engine.document.references.bundle import bundle
from commonplace.openapi.engine.document.summary import (
    has_external_paths,
    render_document,
    summarize,
)
from commonplace.openapi.engine.render import merge_number_literals, render_changed, render_new
from commonplace.openapi.engine.validate.external import validate_external_parts
from commonplace.openapi.engine.validate.report import ValidationReport, add_lines, validate
from commonplace.openapi.engine.walk import rows
from commonplace.openapi.engine.walk.operations import OperationFilter, walk_operations, walk_paths
from commonplace.openapi.engine.walk.parts import (
    HeaderFilter,
    ParameterFilter,
    ResponseFilter,
    SecurityFilter,
    walk_headers,
    walk_parameters,
    walk_responses,
    walk_security,
)
from commonplace.openapi.engine.walk.query import Row, WalkQuery, WalkResult
from commonplace.openapi.engine.walk.refs import RefFilter, walk_refs
from commonplace.openapi.engine.walk.schemas import SchemaFilter, walk_schemas
from commonplace.openapi.engine.walk.walker import MOST_NOTED_REFS, Walker
from commonplace.openapi.model import (
    ApiDocument,
    Delivery,
    Family,
    PageRequest,
    Spec,
)
from commonplace.openapi.results import (
    BundledFiles,
    ConvertResult,
    DeliveredDocument,
    DiffResult,
    FixResult,
    GenerateResult,
    JoinResult,
    OverlayApplyResult,
    ParseResult,
    ValidateResult,
)
from commonplace.openapi.store.documents import DocumentStore
from commonplace.openapi.store.loader import DocumentLoader, StoredFiles
from commonplace.openapi.store.output import check_answer_size, write_document, write_package
from commonplace.openapi.store.workers import Workers

if TYPE_CHECKING:
    from commonplace.openapi.engine.diff.rules import ApiChange
    from commonplace.openapi.engine.fix import FixOptions
    from commonplace.openapi.engine.generate.run import Language
    from commonplace.openapi.engine.join.documents import Strategy
    from commonplace.openapi.engine.overlay.validate import OverlayReport

ANSWER_LIMIT_BYTES = 4_000_000
FIRST_PAGE = PageRequest()


class OpenApiService:
    """Reads, compares and writes API descriptions.

    The work runs in threads of `workers`, so methods do not block the event loop.
    """

    def __init__(
        self,
        documents: DocumentStore | None = None,
        *,
        stored_files: StoredFiles | None = None,
        answer_bytes: int = 1_000_000,
        workers: Workers | None = None,
    ) -> None:
        self._documents = documents or DocumentStore()
        self._loader = DocumentLoader(self._documents, workers or Workers(), stored_files)
        self._answer_bytes = answer_bytes

    def cache_usage(self) -> dict[str, int]:
        """Return how many parsed documents are cached, and how many at most."""
        cache = self._documents.cache
        return {"entries": len(cache), "most_entries": cache.most_entries}

    def close(self) -> None:
        """End fetches and parser processes; no more work is accepted."""
        self._loader.close()

    async def validate(
        self,
        caller: AuthContext,
        spec: Spec,
        *,
        strict: bool = False,
        warnings: bool = True,
        ignore: Sequence[str] = (),
        page: PageRequest = FIRST_PAGE,
    ) -> ValidateResult:
        """Check a document against the schema of its version and the rules beyond it."""
        document = await self._loader.load(caller, spec)

        def work() -> ValidateResult:
            report = self._report_on(document, strict, ignore)
            errors = page.of(report.errors)
            shown = report.warnings if warnings else ()
            placed = add_lines(document, [*errors, *page.of(shown)])
            return ValidateResult(
                report.valid,
                document.version,
                len(report.errors),
                len(shown),
                placed[: len(errors)],
                placed[len(errors) :],
                report.suppressed,
                [finding for finding in report.warnings if finding.rule.id == "ref-external"],
            )

        return await self._loader.run(caller, work)

    async def parse(
        self,
        caller: AuthContext,
        spec: Spec,
        *,
        full: bool = False,
        resolve_refs: bool = False,
        pointer: str | None = None,
    ) -> ParseResult:
        """Summarize a document; with `full`, also return its text or the part at `pointer`."""
        document = await self._loader.load(caller, spec)

        def work() -> ParseResult:
            documents = self._documents
            external = has_external_paths(document)
            bundled = documents.bundle_document(document)[0] if external else document
            summary = summarize(document, bundled, truncate=not full)
            if not full:
                return ParseResult(summary)
            inliner = documents.inliner(document) if resolve_refs else None
            return ParseResult(
                summary, render_document(document, inliner, pointer, self._answer_bytes)
            )

        return await self._loader.run(caller, work)

    async def diff(
        self,
        caller: AuthContext,
        base: Spec,
        revision: Spec,
        *,
        breaking_only: bool = False,
        info: bool = True,
        literal: bool = False,
        page: PageRequest = FIRST_PAGE,
    ) -> DiffResult:
        """Compare two documents and classify each change by what it does to clients."""
        from commonplace.openapi.engine.diff.collector import summarize_changes
        from commonplace.openapi.engine.diff.compare import diff
        from commonplace.openapi.engine.diff.rules import BREAKING, Level

        sources = await asyncio.gather(
            self._loader.load(caller, base), self._loader.load(caller, revision)
        )

        def is_wanted(change: ApiChange) -> bool:
            if breaking_only and change.level not in BREAKING:
                return False
            return info or change.level is not Level.INFO

        def work() -> DiffResult:
            old, new = (self._documents.bundle_document(source)[0] for source in sources)
            resolvers = self._documents.resolver(old), self._documents.resolver(new)
            changes = [
                change
                for change in diff(old, new, *resolvers, literal=literal)
                if is_wanted(change)
            ]
            levels = [change.level for change in changes]
            return DiffResult(
                len(changes),
                sum(level in BREAKING for level in levels),
                levels.count(Level.WARNING),
                levels.count(Level.INFO),
                page.of(changes),
                summarize_changes(changes),
            )

        return await self._loader.run(caller, work)

    async def fix(
        self, caller: AuthContext, spec: Spec, options: FixOptions, delivery: Delivery
    ) -> FixResult:
        """Repair a document and check what is still wrong with it."""
        from commonplace.openapi.engine.fix import find_external_uses, fix

        document = await self._loader.load(caller, spec)

        def work() -> FixResult:
            keep: frozenset[str] = frozenset()
            if options.touches_schemas and has_external_refs(document):
                keep = find_external_uses(document, self._documents.resolver(document))
            fixed = fix(document.data, document.family, replace(options, used_elsewhere=keep))
            after = document
            if fixed.document is not document.data:
                after = replace(document, data=fixed.document, derived={})
            remaining = validate(after, self._documents.resolver(after)).errors
            delivered = self._deliver(
                lambda: render_changed(document, fixed.document, delivery.output), delivery
            )
            return FixResult(document.version, fixed.fixes, remaining, delivered)

        return await self._loader.compute(caller, work)

    async def convert(
        self, caller: AuthContext, spec: Spec, target: str, delivery: Delivery
    ) -> ConvertResult:
        """Convert a document to a version such as `3.1`, or exactly `3.1.2`."""
        from commonplace.openapi.engine.convert.chain import PATCH
        from commonplace.openapi.engine.convert.document import convert_document

        document = await self._loader.load(caller, spec)

        def work() -> ConvertResult:
            data = self._documents.bundle_data(document)
            result = convert_document(document, data, target)
            delivered = self._deliver(
                lambda: render_new(result.document, document, delivery.output), delivery
            )
            declared = result.version or PATCH[Family(target[:3])]
            return ConvertResult(document.version, declared, result.issues, delivered)

        return await self._loader.compute(caller, work)

    async def join(
        self,
        caller: AuthContext,
        specs: Sequence[Spec],
        delivery: Delivery,
        *,
        path_strategy: Strategy = "fail",
        schema_strategy: Strategy = "accept-left",
        merge_duplicates: bool = False,
        report: Report = report_nothing,
    ) -> JoinResult:
        """Merge documents of one version into one."""
        from commonplace.openapi.engine.join.documents import JoinPart, join

        documents = await self._loader.load_all(caller, specs, report)

        def work() -> JoinResult:
            first = documents[0]
            parts = [
                JoinPart(self._documents.bundle_data(part), part.version, part.family, part.name)
                for part in documents
            ]
            joined = join(
                parts,
                path_strategy=path_strategy,
                schema_strategy=schema_strategy,
                merge_duplicates=merge_duplicates,
            )
            source = merge_number_literals(first, *documents[1:])
            delivered = self._deliver(
                lambda: render_new(joined.document, source, delivery.output), delivery
            )
            return JoinResult(
                len(documents),
                first.version,
                joined.path_count,
                joined.operation_count,
                len(replace(first, data=joined.document, derived={}).schemas),
                joined.collisions,
                joined.warnings,
                delivered,
            )

        return await self._loader.compute(caller, work)

    async def bundle(self, caller: AuthContext, spec: Spec, delivery: Delivery) -> BundledFiles:
        """Turn a document that is spread over files into one."""
        document = await self._loader.load(caller, spec)

        def work() -> BundledFiles:
            bundled = bundle(document, self._documents.resolver(document))
            delivered = self._deliver(
                lambda: render_new(bundled.document, document, delivery.output), delivery
            )
            return BundledFiles(document.version, bundled.files, bundled.imported, delivered)

        return await self._loader.compute(caller, work)

    async def overlay_apply(
        self,
        caller: AuthContext,
        spec: Spec,
        overlay: Spec,
        delivery: Delivery | None,
        *,
        strict: bool = False,
    ) -> OverlayApplyResult:
        """Apply an overlay to a document; without a delivery this is a dry run."""
        from commonplace.openapi.engine.overlay.apply import apply_overlay
        from commonplace.openapi.engine.overlay.validate import require_valid_overlay

        document = await self._loader.load(caller, spec)
        tree = await self._loader.load_tree(caller, overlay)

        def work() -> OverlayApplyResult:
            require_valid_overlay(tree.data)
            result = apply_overlay(document.data, tree.data, strict=strict)
            delivered = DeliveredDocument()
            if delivery is not None:
                source = merge_number_literals(document, tree)
                output = delivery.output
                delivered = self._deliver(
                    lambda: render_changed(source, result.document, output), delivery
                )
            return OverlayApplyResult(
                result.applied, result.skipped, result.changes, result.warnings, delivered
            )

        return await self._loader.compute(caller, work)

    async def overlay_validate(self, caller: AuthContext, overlay: Spec) -> OverlayReport:
        """Check an overlay against its specification."""
        from commonplace.openapi.engine.overlay.validate import validate_overlay

        tree = await self._loader.load_tree(caller, overlay)
        return await self._loader.compute(caller, lambda: validate_overlay(tree.data))

    async def generate(
        self,
        caller: AuthContext,
        spec: Spec,
        output_dir: str | None,
        *,
        language: Language = "go",
        package_name: str = "api",
        client: bool = False,
        server: bool = False,
        most_bytes: int | None = None,
    ) -> GenerateResult:
        """Generate code, and write it to `output_dir` if that is set.

        Raises ANSWER_TOO_LARGE if the files take more than `most_bytes`.
        """
        from commonplace.openapi.engine.generate.run import FILE_NAMES, generate

        document = await self._loader.load(caller, spec)

        def work() -> GenerateResult:
            data = self._documents.bundle_data(document)
            made = generate(
                data,
                document.family,
                language=language,
                package_name=package_name,
                client=client,
                server=server,
            )
            check_answer_size(made.files, most_bytes)
            folder: str | None = None
            removed: list[str] = []
            if output_dir:
                access = self._documents.access
                folder, removed = write_package(
                    access, output_dir, made.files, FILE_NAMES[language]
                )
            return GenerateResult(
                made.files, made.types, made.operations, made.warnings, folder, removed
            )

        return await self._loader.compute(caller, work)

    async def walk_operations(
        self, caller: AuthContext, spec: Spec, query: WalkQuery, where: OperationFilter
    ) -> WalkResult[rows.OperationRow]:
        """List or count operations."""
        return await self._walk(caller, spec, query, lambda walker: walk_operations(walker, where))

    async def walk_schemas(
        self, caller: AuthContext, spec: Spec, query: WalkQuery, where: SchemaFilter
    ) -> WalkResult[rows.SchemaRow]:
        """List or count schemas, nested ones too."""
        return await self._walk(caller, spec, query, lambda walker: walk_schemas(walker, where))

    async def walk_parameters(
        self, caller: AuthContext, spec: Spec, query: WalkQuery, where: ParameterFilter
    ) -> WalkResult[rows.ParameterRow]:
        """List or count parameters."""
        return await self._walk(caller, spec, query, lambda walker: walk_parameters(walker, where))

    async def walk_responses(
        self, caller: AuthContext, spec: Spec, query: WalkQuery, where: ResponseFilter
    ) -> WalkResult[rows.ResponseRow]:
        """List or count responses."""
        return await self._walk(caller, spec, query, lambda walker: walk_responses(walker, where))

    async def walk_headers(
        self, caller: AuthContext, spec: Spec, query: WalkQuery, where: HeaderFilter
    ) -> WalkResult[rows.HeaderRow]:
        """List or count headers."""
        return await self._walk(caller, spec, query, lambda walker: walk_headers(walker, where))

    async def walk_security(
        self, caller: AuthContext, spec: Spec, query: WalkQuery, where: SecurityFilter
    ) -> WalkResult[rows.SecuritySchemeRow]:
        """List or count security schemes."""
        return await self._walk(caller, spec, query, lambda walker: walk_security(walker, where))

    async def walk_paths(
        self, caller: AuthContext, spec: Spec, query: WalkQuery, pattern: str | None
    ) -> WalkResult[rows.PathRow]:
        """List or count path items."""
        return await self._walk(caller, spec, query, lambda walker: walk_paths(walker, pattern))

    async def walk_refs(
        self, caller: AuthContext, spec: Spec, query: WalkQuery, where: RefFilter
    ) -> WalkResult[rows.RefRow]:
        """List or count references as they are written."""
        document = await self._loader.load(caller, spec)
        return await self._loader.run(
            caller, lambda: walk_refs(self._walker(document, query), where)
        )

    async def _walk(
        self,
        caller: AuthContext,
        spec: Spec,
        query: WalkQuery,
        walk: Callable[[Walker], WalkResult[Row]],
    ) -> WalkResult[Row]:
        document = await self._loader.load(caller, spec)

        def work() -> WalkResult[Row]:
            if not query.resolve_refs and not has_external_path_items(document):
                return walk(self._walker(document, query))
            bundled, bundle = self._documents.bundle_document(document)
            result = walk(self._walker(bundled, query))
            if bundle is None or not bundle.unresolved:
                return result
            unresolved = {*result.unresolved_refs, *bundle.unresolved}
            return replace(result, unresolved_refs=sorted(unresolved)[:MOST_NOTED_REFS])

        return await self._loader.run(caller, work)

    def _walker(self, document: ApiDocument, query: WalkQuery) -> Walker:
        inliner = self._documents.inliner(document)
        return Walker(document, index_document(document), inliner, query, self._answer_bytes)

    def _report_on(
        self, document: ApiDocument, strict: bool, ignore: Sequence[str]
    ) -> ValidationReport:
        documents = self._documents
        own = validate(document, documents.resolver(document), strict=strict, ignore=ignore)
        bundled, bundle = documents.bundle_document(document)
        if bundle is None or bundled.data is document.data:
            return own
        resolver = documents.resolver(bundled)
        return validate_external_parts(
            own, document, bundled, bundle, resolver, strict=strict, ignore=ignore
        )

    def _deliver(self, render: Callable[[], str], delivery: Delivery) -> DeliveredDocument:
        """Write a document to its output and put it into the answer, as far as it fits."""
        if not delivery.output and not delivery.include:
            return DeliveredDocument()
        text = render()
        written_to = None
        if delivery.output:
            written_to = write_document(
                self._documents.access, delivery.output, text, overwrite=delivery.overwrite
            )
        if not delivery.include:
            return DeliveredDocument(written_to)
        if len(text) > max(ANSWER_LIMIT_BYTES, self._answer_bytes):
            return DeliveredDocument(written_to, omitted_bytes=len(text))
        return DeliveredDocument(written_to, text)

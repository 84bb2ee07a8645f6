"""What the tools that write have in common: bounded answers, pages, outputs, whole documents."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from commonplace.dispatch.tool import Context
from commonplace.kernel.auth import Scope
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.gc_control import gc_paused
from commonplace.openapi.engine.document.bundle import bundle
from commonplace.openapi.engine.document.index import index_document
from commonplace.openapi.engine.validate.structure import check_structure
from commonplace.openapi.engine.yaml.edit import edit_yaml
from commonplace.openapi.engine.yaml.emit import to_json, to_text, to_yaml
from commonplace.openapi.errors import INVALID_SPEC, SPEC_TOO_DEEP
from commonplace.openapi.model import ApiDocument, Format, Tree
from commonplace.openapi.number_literals import NumberLiterals
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.store.output import write_document

ANSWER_LIMIT_BYTES = 4_000_000
EDIT_LIMIT_BYTES = 4_000_000
T = TypeVar("T")

LIMIT = "Most items in the answer (default 100, at most 1000); the count fields always tell all."
OFFSET = "Skip the first N items."
OVERWRITE = "Replace `output` even if it holds something else than an OpenAPI document."


def output_scope(args: Any) -> Scope:
    """Writing needs the scope; looking does not."""
    return (
        Scope.WRITE
        if getattr(args, "output", None) or getattr(args, "output_dir", None)
        else Scope.READ
    )


async def in_thread(
    service: OpenApiService, ctx: Context, work: Callable[[], T], *documents: ApiDocument
) -> T:
    """CPU work off the event loop.

    Where it fails on a document that breaks its own specification, the document is to blame.
    """

    def run() -> T:
        try:
            with gc_paused():
                return work()
        except RecursionError:
            raise CommonplaceError(
                SPEC_TOO_DEEP,
                "The document nests too deeply for this operation.",
                hint="Split deeply nested schemas into components.",
            ) from None
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            for document in documents:
                refuse_broken(document)
            raise

    return await service.run(ctx.auth, run)


def refuse_broken(document: ApiDocument) -> None:
    """Raise INVALID_SPEC if the document breaks the official schema of its version."""
    findings = [finding for finding, _ in zip(check_structure(document), range(5), strict=False)]
    if findings:
        first = findings[0]
        raise CommonplaceError(
            INVALID_SPEC,
            f"The document is too broken for this: {first.pointer or '/'}: {first.message}",
            hint="oas_validate lists everything that is wrong.",
            details={
                "errors": [
                    {"path": finding.pointer, "message": finding.message} for finding in findings
                ]
            },
        )


def whole(service: OpenApiService, document: ApiDocument) -> dict[str, Any]:
    """The document with what other files define taken in."""
    if all(node.ref.startswith("#") for node in index_document(document).refs):
        return document.data
    return bundle(document, service.resolver(document)).document


def with_numbers(document: ApiDocument, *others: ApiDocument | Tree) -> ApiDocument:
    """The document with the number literals of others too, parts of which were merged with it."""
    numbers = NumberLiterals()
    for source in (document, *others):
        numbers.add(source.numbers)
    return replace(document, numbers=numbers)


def changed_text(document: ApiDocument, data: dict[str, Any], output: str | None = None) -> str:
    """The new value in the document's own form; in YAML, only what changed is rewritten.

    A file name may ask for the other form.
    """
    if format_of(output) not in (None, document.format):
        return text_for(data, document, output)
    if data is document.data:
        return document.text
    if document.format == "json":
        return _same_json(document.text, data, document.numbers)
    if len(document.text) > EDIT_LIMIT_BYTES:
        return to_yaml(data, numbers=document.numbers)
    return edit_yaml(document.text, document.data, data, document.numbers)


def _same_json(text: str, data: dict[str, Any], numbers: NumberLiterals) -> str:
    """JSON with the indentation the source has."""
    found = re.match(r"\s*\{(\r?\n)([ \t]*)", text)
    if found is not None and found.group(2) == "  ":
        return to_json(data, numbers)
    marked = numbers.marked(data)
    if found is None:
        made = json.dumps(
            marked,
            ensure_ascii=False,
            separators=(", ", ": ") if re.match(r'\s*\{"[^"]*": ', text) else (",", ":"),
        )
    else:
        made = json.dumps(marked, ensure_ascii=False, indent=found.group(2)) + "\n"
    return numbers.written(made, json=True)


def page(items: Sequence[dict[str, Any]], limit: int | None, offset: int) -> list[dict[str, Any]]:
    return list(items[offset : offset + min(limit if limit is not None else 100, 1000)])


def deliver(
    service: OpenApiService,
    answer: dict[str, Any],
    text: Callable[[], str],
    output: str | None,
    *,
    include: bool,
    overwrite: bool = False,
) -> None:
    """Put the result where the caller wants it: a file, the answer, or (too large for one) a
    note on how to get it.
    """
    if output:
        answer["written_to"] = write_document(service.access, output, text(), overwrite=overwrite)
    if include:
        made = text()
        if len(made) <= max(ANSWER_LIMIT_BYTES, service.answer_bytes):
            answer["document"] = made
        else:
            answer["document_omitted"] = (
                f"The document has {len(made)} bytes, more than an answer holds. Pass `output` "
                f"to get it as a file."
            )


def text_for(data: dict[str, Any], document: ApiDocument, output: str | None) -> str:
    """A new document in the form its file name asks for, else in the source's."""
    return to_text(data, format_of(output) or document.format, document.numbers)


def format_of(output: str | None) -> Format | None:
    """What the name of a file says about its content."""
    ending = (output or "").lower()
    return (
        "json"
        if ending.endswith(".json")
        else "yaml"
        if ending.endswith((".yaml", ".yml"))
        else None
    )


class Once:
    """Text that is made when first asked for."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make = make
        self._text: str | None = None

    def __call__(self) -> str:
        if self._text is None:
            self._text = self._make()
        return self._text

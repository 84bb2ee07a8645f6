"""What the tools that write documents share: argument texts, the scope, the delivered document."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments
from commonplace.kernel.auth import Scope
from commonplace.openapi.results import DeliveredDocument

LIMIT = "Default 100. At most 1000 items; counts are of all."
OUTPUT = "File to write. Without it the document is in the answer."
OVERWRITE = "Replace any file. Without it `output` replaces only an OpenAPI document."


class DeliveryOutput(TypedDict):
    """Where the resulting document went."""

    written_to: NotRequired[str]
    document: NotRequired[str]
    document_omitted: NotRequired[str]


def show_delivery(delivered: DeliveredDocument) -> DeliveryOutput:
    """Return the wire form of a delivered document."""
    output: DeliveryOutput = {}
    if delivered.written_to is not None:
        output["written_to"] = delivered.written_to
    if delivered.text is not None:
        output["document"] = delivered.text
    if delivered.omitted_bytes is not None:
        output["document_omitted"] = (
            f"The document has {delivered.omitted_bytes} bytes, more than an answer holds. "
            f"Pass `output` to get it as a file."
        )
    return output


def output_scope(args: Arguments) -> Scope:
    """Return the scope that a call needs: writing a file needs more than reading one."""
    writes = getattr(args, "output", None) or getattr(args, "output_dir", None)
    return Scope.WRITE if writes else Scope.READ

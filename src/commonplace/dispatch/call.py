"""A call of a tool and its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel

from commonplace.dispatch.progress import CallProgress
from commonplace.dispatch.registry import Selection
from commonplace.dispatch.tool import (
    SILENT,
    ClientChannel,
    Output,
    RawResult,
    Rejected,
    Tool,
)
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json.document import decode_documents
from commonplace.kernel.json_types import Json


@dataclass(slots=True)
class Call:
    """A call of any transport.

    `selection` narrows the server for this call; None leaves the server's own.
    """

    name: str
    arguments: Mapping[str, Json]
    auth: AuthContext
    bare: bool = False
    from_agent: bool = False  # a tools/call, whose answer goes into the context of a model
    read_only: bool = False
    selection: Selection | None = None
    deadline: float | None = None
    channel: ClientChannel = SILENT
    meta: Mapping[str, Json] = field(default_factory=dict)
    trace_id: str = ""
    own: Tool | None = None  # a change that only its caller makes, and no registry lists
    tool: Tool | None = None  # the registry's tool, where the edge has resolved the name
    # set by the pipeline once the arguments are known: a dispatcher's read is not a change
    mutates: bool = False
    progress: CallProgress | None = None  # set by the pipeline for a client that wants it
    # set by the pipeline when the handler is reached: until then nothing can have changed
    handled: bool = False


@dataclass(slots=True)
class Outcome:
    """What came of a call: an output or an error, and how long it took."""

    tool: Tool | None
    output: Output | None
    error: CommonplaceError | None
    duration_seconds: float
    trace_id: str
    warnings: tuple[str, ...] = ()  # about what was written; the output has them too

    @property
    def rejected(self) -> bool:
        return isinstance(self.output, Rejected)


def to_json(output: Output) -> Json:
    """Return the JSON value of an output, for callers in this process."""
    return decode_documents(unwrap(output))


def unwrap(output: Output) -> Json:
    """Return an output as the edge encodes it: a value that may hold encoded documents."""
    if isinstance(output, Rejected):
        return output.output
    if isinstance(output, RawResult):
        return output.result
    if isinstance(output, BaseModel):
        return output.model_dump(mode="json", exclude_none=True, by_alias=True)
    return output

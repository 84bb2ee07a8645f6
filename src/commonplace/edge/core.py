"""The hot half of MCP for every transport: initialize, tools/list, tools/call and bare methods.

The official SDK behind `edge/sdk` answers the rest from the same pipeline.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson

from commonplace.dispatch.call import Call, Outcome
from commonplace.dispatch.describe import describe
from commonplace.dispatch.error_table import INVALID_PARAMS, tool_error
from commonplace.dispatch.naming import Naming
from commonplace.dispatch.registry import Selection
from commonplace.dispatch.tool import SILENT, ClientChannel, RawResult, Tool
from commonplace.edge.intake import (
    OTHER_METHODS_BYTES,
    Acceptance,
    IncomingMessage,
    UndecodedBytes,
)
from commonplace.edge.jsonrpc import RpcError
from commonplace.edge.product import Product
from commonplace.edge.protocol import (
    LOG_LEVEL_KEY,
    SERVER_INFO_KEY,
    STATELESS_VERSION,
    check_meta,
    negotiate,
)
from commonplace.edge.request import Request
from commonplace.edge.results import encode_failure, encode_raw, encode_success, raw_result
from commonplace.kernel.errors import INTERNAL, UNKNOWN_TOOL, CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject

LIST_TTL_MS = 60_000
MAX_CACHED_LISTS = 64

Started = Outcome | Coroutine[Any, Any, Outcome]
"""A call that has begun: its outcome where the tool is synchronous, else the coroutine to own."""


class Core:
    """One per process. Holds the encoded listing and nothing about any connection."""

    def __init__(self, product: Product) -> None:
        self.product = product
        self.pipeline = product.pipeline
        self.registry = product.pipeline.registry
        self._lists: dict[Selection, bytes] = {}
        self._naming = Naming(self.registry, product.selection)
        self.undecoded = UndecodedBytes(
            product.undecoded_bytes,
            max(product.undecoded_bytes * 2 // 3, product.max_message_bytes),
        )
        self._decoders: ThreadPoolExecutor | None = None
        self._stamp = (
            b',"resultType":"complete","_meta":'
            + orjson.dumps({SERVER_INFO_KEY: product.server_info})
            + b"}"
        )

    def for_product(self, product: Product) -> Core:
        """Return a core of the same process for clients that are offered something else.

        They share the bytes that may wait undecoded.
        """
        other = Core(product)
        other.undecoded = self.undecoded
        return other

    def initialize(self, params: Json) -> tuple[str, bytes]:
        """Return the negotiated version and the encoded result."""
        version = negotiate(params)
        result = {
            "protocolVersion": version,
            "capabilities": self.product.capabilities,
            "serverInfo": self.product.server_info,
            "instructions": self.product.instructions,
        }
        return version, orjson.dumps(result)

    def discover(self) -> bytes:
        """Answer `server/discover` of a product that has tools only."""
        result = {
            "supportedVersions": [STATELESS_VERSION],
            "capabilities": self.product.capabilities,
            "instructions": self.product.instructions,
            "ttlMs": 0,
            "cacheScope": "private",
        }
        return orjson.dumps(self.add_envelope(result))

    def acceptance(self, method: str | None, name: str | None) -> Acceptance:
        """Return the limits of a method or tool; while neither is known, the widest of all."""
        most = self.product.max_message_bytes
        if method is None:
            return Acceptance(most)
        called = (
            name if method == "tools/call" else method if self.registry.is_bare(method) else None
        )
        owner = self.registry.owner(called) if called is not None else None
        if called is None or owner is None:
            return Acceptance(
                min(most, OTHER_METHODS_BYTES),
                name=(called or method or "A message without a method")[:64],
            )
        if called in owner.large:
            return Acceptance(most, owner.takes_bytes)
        return Acceptance(min(most, self.product.tool_message_bytes), name=called)

    def begin_message(self, quota_name: str) -> IncomingMessage:
        """Return a message that begins to arrive, counted for this caller."""
        return IncomingMessage(self.acceptance, self.undecoded, quota_name)

    @property
    def decoders(self) -> ThreadPoolExecutor:
        """The thread that decodes large messages, one at a time."""
        if self._decoders is None:
            self._decoders = ThreadPoolExecutor(1, "decode")
        return self._decoders

    def list_tools(self, params: Json, selection: Selection, stateless: bool = False) -> bytes:
        """Return the encoded result of tools/list."""
        check_meta(params)
        if isinstance(params, dict) and params.get("cursor") is not None:
            raise RpcError(
                INVALID_PARAMS, "Invalid params: unknown cursor; the listing has one page"
            )
        listed = self._lists.get(selection)
        if listed is None:
            tools = [describe(tool, selection) for tool in self.registry.listed(selection)]
            listed = self._naming.write(b'{"tools":' + orjson.dumps(tools) + b"}")
            if len(self._lists) >= MAX_CACHED_LISTS:
                self._lists.clear()
            self._lists[selection] = listed
        if stateless:
            return listed[:-1] + b',"ttlMs":%d,"cacheScope":"private"' % LIST_TTL_MS + self._stamp
        return listed

    def find_tool(self, params: Json) -> Tool | None:
        """Return the tool that a tools/call names, or None if it is not available."""
        name = params.get("name") if isinstance(params, dict) else None
        try:
            return self.registry.tool(name) if isinstance(name, str) else None
        except Exception:  # the pipeline meets the same error, and answers and records it
            return None

    def start_call(
        self,
        request: Request,
        params: Json,
        tool: Tool | None = None,
        channel: ClientChannel = SILENT,
        meta: Mapping[str, Json] | None = None,
    ) -> Started:
        """Begin a tools/call. `tool` is the result of `find_tool`, if it was called."""
        if not isinstance(params, dict) or not isinstance(params.get("name"), str):
            raise RpcError(INVALID_PARAMS, "Invalid params: tools/call takes a name and arguments")
        check_meta(params)
        arguments = params.get("arguments")
        if arguments is None:
            arguments = {}
        elif not isinstance(arguments, dict):
            raise RpcError(INVALID_PARAMS, "Invalid params: arguments must be an object")
        call = Call(
            params["name"],
            arguments,
            request.caller,
            tool=tool,
            from_agent=True,
            read_only=request.read_only,
            selection=request.selection,
            channel=channel,
            meta=meta or {},
        )
        return self.pipeline.start(call)

    def start_bare(self, request: Request, method: str, params: Json) -> Started:
        """Begin a call by the bare name of a method."""
        if params is None:
            params = {}
        elif not isinstance(params, dict) and self.registry.is_bare(method):
            # an unknown method is unknown whatever its params are
            raise RpcError(INVALID_PARAMS, "Invalid params: params must be an object")
        call = Call(
            method,
            params,
            request.caller,
            bare=True,
            read_only=request.read_only,
            selection=request.selection,
        )
        return self.pipeline.start(call)

    def encode_call(self, outcome: Outcome, stateless: bool = False) -> list[bytes]:
        """Encode a tools/call result, in pieces.

        Raises RpcError where the protocol wants an error object: an unknown tool.
        """
        if stateless and isinstance(outcome.output, RawResult):
            return [encode_raw(self.add_envelope(raw_result(outcome.output))), b"}"]
        body = self._call_body(outcome)
        body.append(self._stamp if stateless else b"}")
        return body

    def _call_body(self, outcome: Outcome) -> list[bytes]:
        error = outcome.error
        if error is None:
            try:
                return encode_success(outcome)
            except (TypeError, ValueError) as unencodable:
                error = CommonplaceError(
                    INTERNAL,
                    f"The tool's output cannot be encoded: {unencodable}",
                    details={"trace_id": outcome.trace_id},
                )
        if error.code is UNKNOWN_TOOL:
            raise RpcError(INVALID_PARAMS, error.message, tool_error(self._naming.suggest(error)))
        return [self._naming.write(encode_failure(error, outcome.tool))]

    def add_envelope(self, result: Mapping[str, Json]) -> JsonObject:
        """Add what every stateless result carries; the result's own fields win."""
        meta = {SERVER_INFO_KEY: self.product.server_info, **(result.get("_meta") or {})}
        return {"resultType": "complete", **result, "_meta": meta}


def needs_channel(params: Json, tool: Tool | None) -> bool:
    """Tell whether a call may send more than its answer: progress, or questions to the client."""
    if not isinstance(params, dict):
        return False
    meta = params.get("_meta")
    if isinstance(meta, dict) and ("progressToken" in meta or LOG_LEVEL_KEY in meta):
        return True
    if "inputResponses" in params or "requestState" in params:
        return True
    return tool is not None and tool.interactive

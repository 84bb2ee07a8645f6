"""The rules of MCP that every transport checks: versions, envelopes, capabilities, batches."""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.dispatch.error_table import INVALID_PARAMS, INVALID_REQUEST, RESOURCE_LIMIT
from commonplace.edge.jsonrpc import InvalidMessage, RpcError
from commonplace.kernel.json_types import Json, JsonArray, JsonObject

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LATEST_HANDSHAKE = HANDSHAKE_VERSIONS[-1]
STATELESS_VERSION = "2026-07-28"
BATCH_VERSION = "2025-03-26"  # the only one with JSON-RPC batches
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO_KEY = "io.modelcontextprotocol/clientInfo"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"
CLIENT_CAPABILITIES = ("elicitation", "experimental", "extensions", "roots", "sampling", "tasks")
UNSUPPORTED_VERSION = -32022
UNNAMED_CLIENT = {"name": "unnamed", "version": "0"}
MAX_BATCH = 1000


def negotiate(params: Json) -> str:
    """Check the parameters of `initialize` and return the version to speak."""
    if not isinstance(params, dict):
        raise RpcError(INVALID_PARAMS, "Invalid params: initialize takes an object")
    requested = params.get("protocolVersion")
    if not isinstance(requested, str):
        raise RpcError(INVALID_PARAMS, "Invalid params: protocolVersion must be a string")
    _check_capabilities(params.get("capabilities"))
    if params.get("clientInfo") is not None:  # the example of the instructions contract sends none
        _check_client(params["clientInfo"])
    check_meta(params)
    return requested if requested in HANDSHAKE_VERSIONS else LATEST_HANDSHAKE


def envelope_of(params: Json) -> JsonObject | None:
    """Return the `_meta` of a stateless request, which names its protocol version."""
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) and VERSION_KEY in meta else None


def check_envelope(meta: Mapping[str, Json]) -> None:
    """Check the envelope of a stateless request; the name of the client may be missing."""
    version = meta[VERSION_KEY]
    if CAPABILITIES_KEY not in meta:
        raise RpcError(
            INVALID_PARAMS,
            f"params._meta is missing the required envelope key(s): {CAPABILITIES_KEY}",
        )
    if not isinstance(version, str):
        raise RpcError(INVALID_PARAMS, "the protocol-version envelope value must be a string")
    if version != STATELESS_VERSION:
        raise RpcError(
            UNSUPPORTED_VERSION,
            "Unsupported protocol version",
            {"supported": [STATELESS_VERSION], "requested": version},
        )
    _check_capabilities(meta[CAPABILITIES_KEY])
    if meta.get(CLIENT_INFO_KEY) is not None:
        _check_client(meta[CLIENT_INFO_KEY])


def check_meta(params: Json) -> None:
    """Check that `_meta` is an object, and a progress token a string or an integer."""
    meta = params.get("_meta") if isinstance(params, dict) else None
    if meta is None:
        return
    if not isinstance(meta, dict):
        raise RpcError(INVALID_PARAMS, "Invalid params: _meta must be an object")
    token = meta.get("progressToken")
    if token is not None and (isinstance(token, bool) or not isinstance(token, (str, int))):
        raise RpcError(
            INVALID_PARAMS, "Invalid params: progressToken must be a string or an integer"
        )


def progress_token(params: Json) -> str | int | None:
    """Return the token under which a client wants to hear of progress, if it does."""
    meta = params.get("_meta") if isinstance(params, dict) else None
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    return token if isinstance(token, (str, int)) and not isinstance(token, bool) else None


def check_batch(values: JsonArray) -> None:
    """Refuse a batch without members, or with too many of them."""
    if not values:
        raise InvalidMessage(RpcError(INVALID_REQUEST, "Invalid Request: the batch is empty"))
    if len(values) > MAX_BATCH:
        raise InvalidMessage(
            RpcError(
                RESOURCE_LIMIT,
                f"A batch holds at most {MAX_BATCH} messages.",
                {"limit": MAX_BATCH},
            )
        )


def name_client(request: JsonObject) -> JsonObject:
    """Return an initialize request that names its client, which the SDK insists on."""
    params = request.get("params")
    if (
        request.get("method") != "initialize"
        or not isinstance(params, dict)
        or params.get("clientInfo") is not None
    ):
        return request
    return {**request, "params": {**params, "clientInfo": UNNAMED_CLIENT}}


def _check_capabilities(capabilities: Json) -> None:
    if not isinstance(capabilities, dict):
        raise RpcError(INVALID_PARAMS, "Invalid params: capabilities must be an object")
    for name in CLIENT_CAPABILITIES:
        if not isinstance(capabilities.get(name, None), (dict, type(None))):
            raise RpcError(INVALID_PARAMS, f"Invalid params: capabilities.{name} must be an object")


def _check_client(client: Json) -> None:
    if (
        not isinstance(client, dict)
        or not isinstance(client.get("name"), str)
        or not isinstance(client.get("version"), str)
    ):
        raise RpcError(INVALID_PARAMS, "Invalid params: clientInfo must have a name and a version")
    for name in ("title", "description", "websiteUrl"):
        if not isinstance(client.get(name), (str, type(None))):
            raise RpcError(INVALID_PARAMS, f"Invalid params: clientInfo.{name} must be a string")

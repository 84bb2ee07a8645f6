"""GET /api/graph/mermaid: the instruction graph for dashboards, from the tool graph_export."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from commonplace.console.caller import Answer

PATH = "/api/graph/mermaid"
SWITCHES = ("enrich", "includeCategoryNodes", "includeUsage")
META = ("graphSchemaVersion", "nodeCount", "edgeCount", "truncated")
TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off", ""})
STATUSES = {
    "UNAUTHENTICATED": 401,
    "SCOPE_REQUIRED": 403,
    "TOOL_EXCLUDED": 403,
    "RATE_LIMITED": 429,
    "INVALID_ARGUMENT": 400,
}

Export = Callable[[Mapping[str, str], dict[str, Any]], Awaitable[Answer]]


def graph_route(
    export: Export, refuse: Callable[[Mapping[str, str], str], Response | None]
) -> Route:
    """Return the route.

    `export(headers, arguments)` calls graph_export with the key in the headers; `refuse` checks
    Host and Origin.
    """

    async def show(request: Request) -> Response:
        refused = refuse(request.headers, request.url.scheme)
        if refused is not None:
            return refused
        try:
            arguments = arguments_of(request.query_params)
        except ValueError as wrong:
            return _failed({"code": "INVALID_ARGUMENT", "message": str(wrong)})
        answer = await export(request.headers, arguments)
        if answer.error is not None:
            return _failed(answer.error)
        meta = {name: answer.output["meta"][name] for name in META if name in answer.output["meta"]}
        body = {"success": True, "meta": meta, "mermaid": answer.output["mermaid"]}
        return JSONResponse(body, headers={"Cache-Control": "no-store"})

    return Route(PATH, show)


def arguments_of(query: Mapping[str, str]) -> dict[str, Any]:
    """Translate a query to arguments of graph_export. Raises ValueError with the reason."""
    found: dict[str, Any] = {"format": "mermaid"}
    for name in SWITCHES:
        value = query.get(name, "").strip().lower()
        if value not in TRUE | FALSE:
            raise ValueError(f"{name} must be true or false.")
        if value in TRUE:
            found[name] = True
    kinds = [kind.strip() for kind in query.get("includeEdgeTypes", "").split(",") if kind.strip()]
    if kinds:
        found["includeEdgeTypes"] = list(dict.fromkeys(kinds))
    most = query.get("maxEdges", "").strip()
    if most:
        if not (most.isascii() and most.isdigit() and len(most) <= 9):
            raise ValueError("maxEdges must be a whole number, 0 or more.")
        found["maxEdges"] = int(most)
    return found


def _failed(error: Mapping[str, Any]) -> Response:
    code = str(error.get("code"))
    status = STATUSES.get(code, 500)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return JSONResponse({"success": False, "error": dict(error)}, status, headers=headers)

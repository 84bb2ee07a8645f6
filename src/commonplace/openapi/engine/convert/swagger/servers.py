"""Servers of 3.0 as host, base path and schemes of 2.0."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.convert.issues import IssueLog
from commonplace.openapi.engine.convert.swagger.schema_up import pointer_of

_HOST = re.compile(r"[^{}/ :\\]+(?::\d+)?")
_SCHEMES = ("http", "https", "ws", "wss")


def convert_servers_down(servers: Json, at: list[str], issues: IssueLog) -> JsonObject:
    """Return the `host`, `basePath` and `schemes` of the first server."""
    if not isinstance(servers, list):
        return {}
    objects = [server for server in servers if isinstance(server, dict)]
    urls = [_expand(server) for server in objects if isinstance(server.get("url"), str)]
    if not urls:
        return {}
    if any(server.get("variables") for server in objects):
        issues.warning(
            pointer_of(at), "2.0 has no server variables; their default values were filled in."
        )
    if any(server.get("description") for server in objects):
        issues.info(pointer_of(at), "2.0 cannot describe a server; its description was dropped.")
    parts = urlsplit(urls[0])
    result: JsonObject = {}
    if parts.netloc and _HOST.fullmatch(parts.netloc):
        result["host"] = parts.netloc
    elif parts.netloc:
        issues.critical(
            pointer_of([*at, "0"]), f"{parts.netloc!r} cannot be a host in 2.0 and was dropped."
        )
    path = parts.path.rstrip("/")
    if path:
        result["basePath"] = path if path.startswith("/") else "/" + path
    schemes = _merge_schemes(urls, at, issues)
    if schemes:
        result["schemes"] = schemes
    return result


def _merge_schemes(urls: list[str], at: list[str], issues: IssueLog) -> list[str]:
    """Return the schemes of the first address and of others that differ in nothing else."""
    parts = urlsplit(urls[0])
    schemes = [parts.scheme] if parts.scheme in _SCHEMES else []
    for index, url in enumerate(urls[1:], start=1):
        other = urlsplit(url)
        same = (other.netloc, other.path.rstrip("/")) == (parts.netloc, parts.path.rstrip("/"))
        if same and other.scheme in _SCHEMES:
            if other.scheme not in schemes:
                schemes.append(other.scheme)
        else:
            issues.warning(
                pointer_of([*at, str(index)]), f"2.0 has one server; {url!r} was dropped."
            )
    return schemes


def _expand(server: JsonObject) -> str:
    """Return the address of a server with the default values of its variables."""
    url = str(server["url"])
    variables = server.get("variables")
    for name, variable in variables.items() if isinstance(variables, dict) else ():
        url = url.replace(
            "{" + name + "}", str(variable.get("default", "")) if isinstance(variable, dict) else ""
        )
    return url

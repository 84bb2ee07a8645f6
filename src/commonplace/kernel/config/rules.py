"""Rules that settings must keep together, and the forms that a text must have to take effect."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

from commonplace.kernel.settings import (
    AuthSettings,
    Embedding,
    FilesSearch,
    FilesSecurity,
    FilesSettings,
    ServerSettings,
    Settings,
)

MIN_KEK_CHARACTERS = 16
MAX_KEK_ID = 65_535
MAX_PREFIX_CHARACTERS = 200
CONTRACT_RERANK = "https://oneapi.laisky.com/v1/rerank"
_HOST = re.compile(r"(?:\*\.)?[^\s/:*\[\]]+|\[[0-9A-Fa-f:.]+\]")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(?:[^\s/:?#@*A-Z\[\]]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")


class Conflict(NamedTuple):
    """A key to change, what is wrong with it, and a hint.

    Never holds a secret, nor an address that may contain one.
    """

    key: str
    message: str
    hint: str | None = None


def find_contradictions(settings: Settings) -> Iterator[Conflict]:
    """Yield what is wrong between settings, or with the form of a text."""
    for conflict in _check_files(settings.mcp.files):
        yield conflict._replace(key=f"mcp.files.{conflict.key}")
    yield from _check_anchor(settings.audit.anchor)
    yield from _check_reach(settings.server)
    yield from _check_metadata(settings.auth)
    if settings.auth.authorization_servers and not settings.auth.resource_url:
        yield Conflict(
            "auth.resource_url",
            "is required once auth.authorization_servers is set: clients compare it with the "
            "address they use",
        )


def _check_anchor(anchor: str) -> Iterator[Conflict]:
    """Refuse an address that others on the network could read or change on its way."""
    parts = urlsplit(anchor)
    is_loopback = parts.hostname in ("127.0.0.1", "localhost", "::1")
    if "://" in anchor and parts.scheme != "https" and not (parts.scheme == "http" and is_loopback):
        yield Conflict("audit.anchor", "must be a file or an https:// address")


def _check_reach(server: ServerSettings) -> Iterator[Conflict]:
    """Check hosts, proxies and origins: one in the wrong form would never match a request."""
    for host in server.allowed_hosts:
        if not _HOST.fullmatch(host):
            hint = (
                "For example example.org, *.example.org or [::1]. With keys, an empty list "
                "accepts every Host."
            )
            yield Conflict(
                "server.allowed_hosts",
                f"contains {host[:80]!r}; give a name without scheme, port or path",
                hint,
            )
    for name in ("trusted_proxies", "metrics_addresses"):
        for address in getattr(server, name):
            try:
                ipaddress.ip_network(address, strict=False)
            except ValueError:
                hint = "For example 10.0.0.7 or 10.0.0.0/24."
                yield Conflict(
                    f"server.{name}",
                    f"contains {address[:80]!r}, which is neither an address nor a network",
                    hint,
                )
    for origin in server.allowed_origins:
        if origin != "null" and not _ORIGIN.fullmatch(origin):
            hint = "For example https://app.example.org or http://localhost:5173, in lower case."
            yield Conflict(
                "server.allowed_origins",
                f"contains {origin[:80]!r}; browsers send SCHEME://HOST or SCHEME://HOST:PORT",
                hint,
            )


def _check_metadata(auth: AuthSettings) -> Iterator[Conflict]:
    for key, addresses in (
        ("resource_url", (auth.resource_url,)),
        ("authorization_servers", auth.authorization_servers),
    ):
        if any(address and not _is_address(address) for address in addresses):
            yield Conflict(
                f"auth.{key}",
                "must be http://HOST/PATH or https://HOST/PATH, without a user name, a password "
                "or a fragment",
            )


def _check_files(files: FilesSettings) -> Iterator[Conflict]:
    """Check the settings of docs/reference/contracts/files.md, section 12."""
    yield from _check_limits(files)
    yield from _check_weights(files.search)
    yield from _check_models(files.search, files.security)
    yield from _check_keks(files.security)
    prefix = files.security.credential_cache_prefix
    if (
        not prefix
        or len(prefix) > MAX_PREFIX_CHARACTERS
        or not prefix.isprintable()
        or " " in prefix
    ):
        yield Conflict(
            "security.credential_cache_prefix",
            f"must be 1 to {MAX_PREFIX_CHARACTERS} printable characters without a space",
        )


def _check_limits(files: FilesSettings) -> Iterator[Conflict]:
    """Check limits against the limits that bound them.

    Only a limit that was set can conflict: a default above a lowered bound is capped by it.
    """
    defaults = FilesSettings()
    for section, default, lower, upper in (
        (files.search, defaults.search, "limit_default", "limit_max"),
        (files, defaults, "list_limit_default", "list_limit_max"),
        (files, defaults, "max_payload_bytes", "max_file_bytes"),
        (files, defaults, "max_file_bytes", "max_project_bytes"),
    ):
        value, most = getattr(section, lower), getattr(section, upper)
        if value > most and value != getattr(default, lower):
            prefix = "search." if section is files.search else ""
            yield Conflict(
                f"{prefix}{lower}",
                f"is {value}, above {prefix}{upper} ({most}), and could never be reached",
                f"Lower {prefix}{lower} or raise {prefix}{upper}.",
            )
    candidates = files.search.bm25_candidates + files.search.vector_candidates
    if files.search.limit_max > candidates and files.search.limit_max != defaults.search.limit_max:
        hint = (
            "Lower search.limit_max, or raise search.bm25_candidates and search.vector_candidates."
        )
        yield Conflict(
            "search.limit_max",
            f"is {files.search.limit_max}, but the two searches return {candidates} candidates",
            hint,
        )


def _check_weights(search: FilesSearch) -> Iterator[Conflict]:
    if search.fallback.semantic_weight == 0 and search.fallback.lexical_weight == 0:
        yield Conflict(
            "search.fallback", "gives both scores a weight of 0, so nothing could be ranked"
        )


def _check_models(search: FilesSearch, security: FilesSecurity) -> Iterator[Conflict]:
    embedding, rerank = search.embedding, search.rerank
    external = embedding.provider == "openai"
    if external and not embedding.endpoint:
        yield Conflict("search.embedding.endpoint", "is required by provider `openai`")
    if external and embedding.model == Embedding().model:
        yield Conflict(
            "search.embedding.model",
            "names the local model; provider `openai` needs the name of an external one",
        )
    for key, name in (
        ("search.embedding.model", embedding.model),
        ("search.rerank.model", rerank.model),
    ):
        if not name.strip():
            yield Conflict(key, "must not be empty")
    for key, address in (
        ("search.embedding.endpoint", embedding.endpoint),
        ("search.rerank.endpoint", rerank.endpoint),
    ):
        if address and not _is_address(address):
            yield Conflict(
                key,
                "must be http://HOST/PATH or https://HOST/PATH, without a user name, a password "
                "or a fragment",
            )
    if rerank.enabled and not rerank.endpoint:
        hint = "The endpoint receives the callers' model keys, so there is no default."
        yield Conflict(
            "search.rerank.endpoint",
            f"is required once rerank is on; the files contract names {CONTRACT_RERANK}",
            hint,
        )
    if not security.encryption_keks and (external or rerank.enabled):
        hint = "Set at least one id and secret: encryption_keks: {1: a-long-random-secret}."
        yield Conflict("security.encryption_keks", "is required once an external model is on", hint)


def _check_keks(security: FilesSecurity) -> Iterator[Conflict]:
    key = "security.encryption_keks"
    numbers = []
    for kek_id, secret in security.encryption_keks.items():
        if not (kek_id.isascii() and kek_id.isdecimal()) or int(kek_id) > MAX_KEK_ID:
            yield Conflict(key, f"has an id that is not a number from 0 to {MAX_KEK_ID}")
            continue
        numbers.append(int(kek_id))
        if len(secret) < MIN_KEK_CHARACTERS:
            yield Conflict(
                key, f"has a secret {kek_id} of fewer than {MIN_KEK_CHARACTERS} characters"
            )
    if len(set(numbers)) != len(numbers):
        yield Conflict(key, "has two ids that are the same number")


def _is_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        port_is_right = parts.port is None or parts.port > 0
    except ValueError:
        return False
    plain = (
        parts.username is None
        and parts.password is None
        and not parts.fragment
        and address.isprintable()
        and " " not in address
    )
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port_is_right and plain

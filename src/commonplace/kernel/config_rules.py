"""Rules between settings: what no single value can be blamed for.

`kernel/config.py` asks them at start and refuses what they name.
"""

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


class Complaint(NamedTuple):
    """What is wrong, which key to change, and how.

    Never holds a secret, nor an address that may carry one.
    """

    key: str
    message: str
    hint: str | None = None


def complaints(settings: Settings) -> Iterator[Complaint]:
    """Everything wrong between keys, or in what a text must look like to have any effect."""
    for complaint in _files(settings.mcp.files):
        yield complaint._replace(key=f"mcp.files.{complaint.key}")
    yield from _reach(settings.server)
    yield from _metadata(settings.auth)
    if settings.auth.authorization_servers and not settings.auth.resource_url:
        yield Complaint(
            "auth.resource_url",
            "is required once auth.authorization_servers is set: clients compare it with the "
            "address they use",
        )


def _reach(server: ServerSettings) -> Iterator[Complaint]:
    """Names in a form that no request has would be passed over in silence."""
    for host in server.allowed_hosts:
        if not _HOST.fullmatch(host):
            hint = (
                "For example example.org, *.example.org or [::1]; an empty list answers to "
                "every Host behind keys."
            )
            yield Complaint(
                "server.allowed_hosts",
                f"holds {host[:80]!r}; a name has no scheme, port or path",
                hint,
            )
    for proxy in server.trusted_proxies:
        try:
            ipaddress.ip_network(proxy, strict=False)
        except ValueError:
            hint = "For example 10.0.0.7 or 10.0.0.0/24."
            yield Complaint(
                "server.trusted_proxies",
                f"holds {proxy[:80]!r}, which is neither an address nor a network",
                hint,
            )
    for origin in server.allowed_origins:
        if origin != "null" and not _ORIGIN.fullmatch(origin):
            hint = "For example https://app.example.org or http://localhost:5173, in lower case."
            yield Complaint(
                "server.allowed_origins",
                f"holds {origin[:80]!r}; browsers send SCHEME://HOST or SCHEME://HOST:PORT",
                hint,
            )


def _metadata(auth: AuthSettings) -> Iterator[Complaint]:
    for key, addresses in (
        ("resource_url", (auth.resource_url,)),
        ("authorization_servers", auth.authorization_servers),
    ):
        if any(address and not _is_address(address) for address in addresses):
            yield Complaint(
                f"auth.{key}",
                "must be http://HOST/PATH or https://HOST/PATH, without a user name, a password "
                "or a fragment",
            )


def _files(files: FilesSettings) -> Iterator[Complaint]:
    """Contract 003 section 12."""
    yield from _limits(files)
    yield from _weights(files.search)
    yield from _models(files.search, files.security)
    yield from _keks(files.security)
    prefix = files.security.credential_cache_prefix
    if (
        not prefix
        or len(prefix) > MAX_PREFIX_CHARACTERS
        or not prefix.isprintable()
        or " " in prefix
    ):
        yield Complaint(
            "security.credential_cache_prefix",
            f"must be 1 to {MAX_PREFIX_CHARACTERS} printable characters without a space",
        )


def _limits(files: FilesSettings) -> Iterator[Complaint]:
    """A limit above another that bounds it can never be reached.

    Values that nobody set follow those that somebody did.
    """
    plain = FilesSettings()
    for lower, upper, value, most, default in (
        (
            "search.limit_default",
            "search.limit_max",
            files.search.limit_default,
            files.search.limit_max,
            plain.search.limit_default,
        ),
        (
            "list_limit_default",
            "list_limit_max",
            files.list_limit_default,
            files.list_limit_max,
            plain.list_limit_default,
        ),
        (
            "max_payload_bytes",
            "max_file_bytes",
            files.max_payload_bytes,
            files.max_file_bytes,
            plain.max_payload_bytes,
        ),
        (
            "max_file_bytes",
            "max_project_bytes",
            files.max_file_bytes,
            files.max_project_bytes,
            plain.max_file_bytes,
        ),
    ):
        if value > most and value != default:
            yield Complaint(
                lower,
                f"is {value}, above {upper} ({most}), and could never be reached",
                f"Lower {lower} or raise {upper}.",
            )
    candidates = files.search.bm25_candidates + files.search.vector_candidates
    if files.search.limit_max > candidates and files.search.limit_max != plain.search.limit_max:
        hint = (
            "Lower search.limit_max, or raise search.bm25_candidates and search.vector_candidates."
        )
        yield Complaint(
            "search.limit_max",
            f"is {files.search.limit_max}, but both sides together bring {candidates} candidates",
            hint,
        )


def _weights(search: FilesSearch) -> Iterator[Complaint]:
    if search.fallback.semantic_weight == 0 and search.fallback.lexical_weight == 0:
        yield Complaint(
            "search.fallback", "gives both sides a weight of 0, so that nothing could be ranked"
        )


def _models(search: FilesSearch, security: FilesSecurity) -> Iterator[Complaint]:
    embedding, rerank = search.embedding, search.rerank
    external = embedding.provider == "openai"
    if external and not embedding.endpoint:
        yield Complaint("search.embedding.endpoint", "is required by provider `openai`")
    if external and embedding.model == Embedding().model:
        yield Complaint(
            "search.embedding.model",
            "names the local model; provider `openai` needs the name of the external one",
        )
    for key, name in (
        ("search.embedding.model", embedding.model),
        ("search.rerank.model", rerank.model),
    ):
        if not name.strip():
            yield Complaint(key, "must not be empty")
    for key, address in (
        ("search.embedding.endpoint", embedding.endpoint),
        ("search.rerank.endpoint", rerank.endpoint),
    ):
        if address and not _is_address(address):
            yield Complaint(
                key,
                "must be http://HOST/PATH or https://HOST/PATH, without a user name, a password "
                "or a fragment",
            )
    if rerank.enabled and not rerank.endpoint:
        hint = "The endpoint receives the callers' model keys, so it must be chosen by name."
        yield Complaint(
            "search.rerank.endpoint",
            f"is required once rerank is on; contract 003's address is {CONTRACT_RERANK}",
            hint,
        )
    if not security.encryption_keks and (external or rerank.enabled):
        hint = "Give at least one id and secret: encryption_keks: {1: a-long-random-secret}."
        yield Complaint(
            "security.encryption_keks", "is required once an external model is on", hint
        )


def _keks(security: FilesSecurity) -> Iterator[Complaint]:
    key = "security.encryption_keks"
    numbers = []
    for kek_id, secret in security.encryption_keks.items():
        if not (kek_id.isascii() and kek_id.isdecimal()) or int(kek_id) > MAX_KEK_ID:
            yield Complaint(key, f"has an id that is not a number from 0 to {MAX_KEK_ID}")
            continue
        numbers.append(int(kek_id))
        if len(secret) < MIN_KEK_CHARACTERS:
            yield Complaint(
                key, f"has a secret {kek_id} of fewer than {MIN_KEK_CHARACTERS} characters"
            )
    if len(set(numbers)) != len(numbers):
        yield Complaint(key, "has two ids that are the same number")


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

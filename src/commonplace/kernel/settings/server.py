"""Settings of the server: listener, limits, authentication, storage and the console listener."""

from __future__ import annotations

from typing import Literal

from commonplace.kernel.settings.section import MEBIBYTE, Section, setting

AuthMode = Literal["none", "keys", "passthrough"]


class StorageSettings(Section):
    url: str = setting(
        "", "`sqlite:///PATH` or `postgresql://...`; empty: SQLite in the data folder.", secret=True
    )
    direct_url: str = setting(
        "",
        "PostgreSQL behind a connection pooler: the address of the database itself, for "
        "notifications, session locks, migrations and index builds; empty: the same as url.",
        secret=True,
    )
    pool_size: int = setting(
        8, "PostgreSQL only: connections of one process.", minimum=1, maximum=200
    )
    prepared_statements: bool = setting(
        True,
        "PostgreSQL only: prepare repeated statements on the server. Turn it off if url leads to "
        "a pooler in transaction mode.",
    )
    integrity_check_hours: float = setting(
        24.0,
        "SQLite only: an HTTP server checks its databases for damage this often, slowly and in "
        "the background; 0: never.",
        minimum=0,
    )
    cache_url: str = setting(
        "", "`redis://...` for credentials and shared limits; empty: in memory.", secret=True
    )
    models: str | None = setting(
        None,
        "Folder of the embedding models, to share one between data folders; unset: models/ in "
        "the data folder.",
        env="COMMONPLACE_MODELS",
        path=True,
    )


class AuthSettings(Section):
    mode: AuthMode = setting(
        "none",
        "`none`: loopback only; `keys`: keys of `commonplace keys`; `passthrough`: any bearer is "
        "its own tenant.",
    )
    keys_grace_seconds: float = setting(
        60.0,
        "PostgreSQL only: how long keys that were last known stay valid while the database cannot "
        "be reached; then every key is refused.",
        minimum=1,
        maximum=86_400,
    )
    resource_url: str = setting(
        "", "Public address of /mcp, for the metadata of OAuth and for the cookies of the console."
    )
    authorization_servers: tuple[str, ...] = setting(
        (),
        "OAuth servers announced to clients in a 401; needs resource_url. Empty: a plain 401.",
    )


class LimitSettings(Section):
    request_bytes: int = setting(64 * MEBIBYTE, "Largest line or body.", minimum=1024)
    undecoded_bytes: int = setting(
        192 * MEBIBYTE,
        "Bytes of large messages that may wait to be decoded; above it, or above two thirds for "
        "one caller: SERVER_BUSY.",
        minimum=1024,
    )
    call_timeout_seconds: float = setting(
        300.0, "A call without its own deadline ends after this time; 0: never.", minimum=0
    )
    in_flight: int = setting(
        256,
        "Calls of one connection that run at a time; reading waits above it.",
        minimum=1,
        maximum=10_000,
    )
    sessions_per_key: int = setting(
        100,
        "HTTP sessions of a key; above it, the oldest idle one is closed for a new one.",
        minimum=1,
        maximum=10_000,
    )
    key_per_second: float = setting(
        0.0, "Sustained calls per second and key; 0: unlimited.", minimum=0
    )
    key_burst: int = setting(100, "Calls a key may make at once.", minimum=1)
    tenant_per_second: float = setting(
        0.0, "Sustained calls per second and tenant; 0: unlimited.", minimum=0
    )
    tenant_burst: int = setting(400, "Calls a tenant may make at once.", minimum=1)
    connections: int = setting(
        1000,
        "HTTP connections at a time; less where the system allows fewer open files.",
        minimum=8,
        maximum=100_000,
    )
    connections_per_address: int = setting(
        256,
        "HTTP connections of one address at a time; `server.trusted_proxies` are exempt.",
        minimum=1,
        maximum=100_000,
    )
    header_seconds: float = setting(
        15.0, "A request's header must have arrived after this time.", minimum=0.1
    )
    body_seconds: float = setting(
        60.0, "A request's body must have arrived after this time.", minimum=0.1
    )
    idle_seconds: float = setting(
        75.0,
        "A connection without a request, or whose client does not read its answer, is closed "
        "after this time; an open stream is not idle.",
        minimum=0.1,
    )
    failed_logins_per_minute: int = setting(
        30,
        "Invalid keys per minute, from all callers together, before further ones must wait.",
        minimum=1,
    )


class ServerSettings(Section):
    host: str = setting("127.0.0.1", "Address of the HTTP server.")
    port: int = setting(8787, "Port of the HTTP server.", minimum=0, maximum=65535)
    read_only: bool = setting(False, "Refuse every tool that writes.")
    toolsets: tuple[str, ...] = setting(
        (), "Toolsets offered; calls of all others are refused. Empty: all."
    )
    tools: tuple[str, ...] = setting(
        (), "Tools offered beside the toolsets; calls of all others are refused."
    )
    exclude_tools: tuple[str, ...] = setting(
        (), "Tools refused and not listed, under each of their names."
    )
    all_tools: bool = setting(False, "List the extended tools too.")
    drain_seconds: float = setting(
        2.0,
        "After SIGTERM, answer /readyz with 503 for this long before the listener closes, if "
        "it was requested in the last minute.",
        minimum=0,
        maximum=300,
    )
    idle_stop_minutes: float = setting(
        30.0,
        "The local server (`commonplace up`) stops after this time without clients; 0: never.",
        minimum=0,
    )
    allowed_hosts: tuple[str, ...] = setting(
        (), "Host names the server answers to besides the one it binds; `*.example.org` allowed."
    )
    allowed_origins: tuple[str, ...] = setting(
        (), "Origins of browsers that may call, besides its own."
    )
    trusted_proxies: tuple[str, ...] = setting(
        (),
        "Addresses or networks of proxies in front of this server: exempt from the limit per "
        "address, trusted for `X-Forwarded-Proto` and `X-Forwarded-For`. A server that stops lets "
        "them close their idle connections.",
    )
    metrics_addresses: tuple[str, ...] = setting(
        (),
        "Addresses or networks that may read /metrics without a key and by any Host name. Others "
        "need a key with scope admin.",
    )


class DashboardSettings(Section):
    enabled: bool = setting(
        False,
        "Serve the console from a stdio server too, on its own listener.",
        env="MCP_DASHBOARD",
    )
    port: int = setting(
        8787, "First port tried.", env="MCP_DASHBOARD_PORT", minimum=0, maximum=65535
    )
    host: str = setting("127.0.0.1", "Address of that listener.", env="MCP_DASHBOARD_HOST")
    tries: int = setting(
        10, "Ports tried, one after the other.", env="MCP_DASHBOARD_TRIES", minimum=1, maximum=1000
    )

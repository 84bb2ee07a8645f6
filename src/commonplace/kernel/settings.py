"""Every setting of the product as frozen values: its default, its bounds, its environment
variable and what it does.

`kernel/config.py` reads them from the file and the environment; `docs/reference/configuration.md`
is generated from here. A field's dotted place below `Settings` is its name in the file:
`settings.mcp.files.search.limit_max`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn, Self, TypeVar, dataclass_transform

T = TypeVar("T")

AuthMode = Literal["none", "keys", "passthrough"]
SecretsPolicy = Literal["refuse", "mask"]
Language = Literal["auto", "en", "fr"]
EmbeddingProvider = Literal["local", "openai", "off"]
LexicalMode = Literal["bm25", "tsvector"]

MEBIBYTE = 1024 * 1024


class Key(NamedTuple):
    """A leaf setting as it is declared."""

    default: Any
    doc: str
    env: str | None
    minimum: float | None
    maximum: float | None
    secret: bool
    path: bool

    def complaint(self, value: float) -> str | None:
        """What is wrong with a number, or None."""
        if not math.isfinite(value):
            return f"{value:g} is not a finite number"
        if self.minimum is not None and value < self.minimum:
            return f"{value:g} is too small; the least is {self.minimum:g}"
        if self.maximum is not None and value > self.maximum:
            return f"{value:g} is too large; the most is {self.maximum:g}"
        return None


def key(
    default: T,
    doc: str,
    *,
    env: str | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    secret: bool = False,
    path: bool = False,
) -> T:
    """Declare a leaf.

    `env` names the variable that overrides the file; `secret` values are never printed; a relative
    `path` in the file starts at the file's folder.
    """
    declared: Any = Key(default, doc, env, minimum, maximum, secret, path)
    return declared  # type: ignore[no-any-return]  # the class swaps it for the default


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Section:
    """A frozen group of settings.

    Not a dataclass: generating 25 of those costs 30 ms of every start.
    """

    keys: ClassVar[Mapping[str, Key]]
    defaults: ClassVar[Mapping[str, Any]]
    required: ClassVar[frozenset[str]]

    def __init_subclass__(cls) -> None:
        names = [name for name in cls.__annotations__ if name != "keys"]
        cls.keys = MappingProxyType(
            {name: value for name in names if isinstance(value := cls.__dict__.get(name), Key)}
        )
        cls.defaults = MappingProxyType(
            {
                name: value.default if isinstance(value := cls.__dict__[name], Key) else value
                for name in names
                if name in cls.__dict__
            }
        )
        cls.required = frozenset(names) - cls.defaults.keys()
        for name in cls.defaults:
            delattr(cls, name)

    def __init__(self, **values: Any) -> None:
        unknown = values.keys() - self.defaults.keys() - self.required
        missing = self.required - values.keys()
        if unknown or missing:
            raise TypeError(
                f"{type(self).__name__}: unknown {sorted(unknown)}, missing {sorted(missing)}"
            )
        self.__dict__.update(self.defaults, **values)

    def but(self, **changes: Any) -> Self:
        """A copy with these values changed."""
        return type(self)(**{**self.__dict__, **changes})

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"settings are frozen: {name}; make a copy with .but({name}=...)")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"settings are frozen: {name}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        secret = {name for name, declared in self.keys.items() if declared.secret}
        shown = (
            f"{name}=***" if name in secret and value else f"{name}={value!r}"
            for name, value in self.__dict__.items()
        )
        return f"{type(self).__name__}({', '.join(shown)})"


class Rerank(Section):
    enabled: bool = key(False, "Ask the external rerank model; needs the caller's model key.")
    model: str = key("rerank-v3.5", "Name of the Cohere-compatible rerank model.")
    endpoint: str = key("", "Address of the rerank model; required once rerank is on.")
    timeout_ms: int = key(
        6000, "Give up on the rerank model after this time and use fused scores.", minimum=1
    )


class Fallback(Section):
    semantic_weight: float | None = key(
        None, "Fixed weight of the semantic score; unset = judged per query.", minimum=0, maximum=1
    )
    lexical_weight: float | None = key(
        None, "Fixed weight of the lexical score; unset = judged per query.", minimum=0, maximum=1
    )


class Embedding(Section):
    provider: EmbeddingProvider = key(
        "local",
        "`local`: the installed model; `openai`: a compatible endpoint; `off`: lexical only.",
    )
    model: str = key("all-MiniLM-L6-v2", "Name of the embedding model.")
    endpoint: str = key(
        "", "Address of the OpenAI-compatible embeddings endpoint; required by `openai`."
    )
    timeout_ms: int = key(6000, "Give up on the embedding endpoint after this time.", minimum=1)
    dimensions: int = key(
        384,
        "Length of the vectors; the external model of contract 003 has 1536.",
        minimum=1,
        maximum=16000,
    )


class FilesSearch(Section):
    enabled: bool = key(
        True, "Offer file_search; when off it is not listed and answers SEARCH_BACKEND_ERROR."
    )
    limit_default: int = key(5, "Chunks returned when the caller gives no limit.", minimum=1)
    limit_max: int = key(20, "Most chunks one call may return.", minimum=1)
    vector_candidates: int = key(30, "Semantic candidates before fusion.", minimum=1, maximum=1000)
    bm25_candidates: int = key(30, "Lexical candidates before fusion.", minimum=1, maximum=1000)
    lexical: LexicalMode = key(
        "bm25",
        "PostgreSQL only: BM25 over postings, or contract 003's transitional `tsvector`. After a "
        "change run commonplace migrate.",
    )
    embedding: Embedding = Embedding()
    rerank: Rerank = Rerank()
    fallback: Fallback = Fallback()


class FilesIndex(Section):
    workers: int = key(2, "Index jobs worked on at a time.", minimum=0, maximum=64)
    batch_size: int = key(20, "Index jobs taken at once.", minimum=1, maximum=1000)
    retry_max: int = key(
        5, "Retries of a failing index job before it becomes a dead letter.", minimum=0, maximum=100
    )
    retry_backoff_ms: int = key(
        1000,
        "First wait before a failed index job is tried again; it grows with each attempt.",
        minimum=0,
    )
    slo_p95_seconds: int = key(
        30, "Freshness objective: `doctor` and the metrics warn above it.", minimum=1
    )


class FilesSecurity(Section):
    encryption_keks: Mapping[str, str] = key(
        MappingProxyType({}),
        "Key-encryption keys, id to secret; required once an external model is on.",
        secret=True,
    )
    credential_cache_prefix: str = key(
        "mcp:files:cred", "Prefix of credential envelopes in the cache."
    )
    credential_cache_ttl_seconds: int = key(300, "Life of a credential envelope.", minimum=1)


class FilesSettings(Section):
    """Contract 003 section 12: from the file only, never from the environment."""

    allow_root_wipe: bool = key(
        False, "Accepted for compatibility; the root is never deleted. `true` warns in doctor."
    )
    max_payload_bytes: int = key(2_000_000, "Largest content of one request.", minimum=1)
    max_file_bytes: int = key(10_000_000, "Largest file.", minimum=1)
    max_project_bytes: int = key(100_000_000, "Most bytes in one project.", minimum=1)
    list_limit_default: int = key(256, "Entries listed when the caller gives no limit.", minimum=1)
    list_limit_max: int = key(1024, "Most entries one call may list.", minimum=1)
    lock_timeout_ms: int = key(
        3000, "Longest wait for a project's lock; then RESOURCE_BUSY.", minimum=0
    )
    delete_retention_days: int = key(30, "Deleted files can be restored for this long.", minimum=0)
    rate_per_second: float = key(
        0.0,
        "Sustained file operations per second and tenant, then RATE_LIMITED; 0: unlimited.",
        minimum=0,
    )
    rate_burst: int = key(400, "File operations a tenant may make at once.", minimum=1)
    search: FilesSearch = FilesSearch()
    index: FilesIndex = FilesIndex()
    security: FilesSecurity = FilesSecurity()


class MemorySettings(Section):
    link_threshold: float = key(
        0.75, "Cosine from which two entries are suggested as linked.", minimum=0, maximum=1
    )
    generalize_threshold: float = key(
        0.80,
        "Cosine from which episodic entries are suggested for generalisation.",
        minimum=0,
        maximum=1,
    )
    generalize_minimum: int = key(3, "Fewest episodic entries of a generalisation.", minimum=2)
    secrets: SecretsPolicy = key(
        "mask", "What to do with an entry that holds a secret: refuse it, or mask the secret."
    )
    language: Language = key("auto", "Language of rekall_help; `auto` follows the locale.")
    stale_days: int = key(90, "Entries not read for this long are stale.", minimum=1)


class OpenApiSettings(Section):
    roots: tuple[str, ...] = key(
        (),
        "Folders whose files may be used; over HTTP only these, on stdio the working directory "
        "too.",
        path=True,
    )
    url_allow: tuple[str, ...] = key(
        (),
        "Hosts that may be fetched although private; empty: public hosts only (stdio: loopback "
        "too).",
    )
    url_timeout_seconds: float = key(20.0, "Longest fetch of a document by URL.", minimum=0.1)
    max_document_bytes: int = key(64 * MEBIBYTE, "Largest document.", minimum=1)
    max_depth: int = key(500, "Deepest nesting of a document.", minimum=10, maximum=5000)
    max_nodes: int = key(5_000_000, "Most nodes of a document, aliases expanded.", minimum=1000)
    max_aliases: int = key(100_000, "Most YAML aliases of a document.", minimum=0)
    cache_entries: int = key(
        10, "Parsed documents kept (least recently used go first).", minimum=1, maximum=1000
    )
    max_answer_bytes: int = key(
        1_000_000, "Answers above this size page, or write a file and say so.", minimum=1000
    )


class InstructionsSettings(Section):
    """Contract 000's runtime variables for the catalogue."""

    mutation_enabled: bool = key(
        False, "Allow writes to the instruction catalogue.", env="MCP_ENABLE_MUTATION"
    )
    directory: str | None = key(
        None,
        "Folder of the instruction files; unset: ./instructions if it exists, else in the data "
        "folder.",
        env="INSTRUCTIONS_DIR",
        path=True,
    )
    strict_create: bool = key(
        False, "Overwrite of a missing id is refused.", env="MCP_INSTRUCTIONS_STRICT_CREATE"
    )
    strict_remove: bool = key(
        False,
        "Removing any missing id is an error and removes nothing.",
        env="MCP_INSTRUCTIONS_STRICT_REMOVE",
    )
    canonical_disable: bool = key(
        False, "Hash bodies as they are, without canonicalising.", env="MCP_CANONICAL_DISABLE"
    )
    hash_trailing_newline: bool = key(
        False,
        "Governance hashes with a trailing newline (compatibility).",
        env="GOV_HASH_TRAILING_NEWLINE",
    )
    read_retries: int = key(
        3,
        "Attempts to read a file on a transient error.",
        env="MCP_READ_RETRIES",
        minimum=0,
        maximum=100,
    )
    read_backoff_ms: int = key(
        8, "First wait between read attempts.", env="MCP_READ_BACKOFF_MS", minimum=0, maximum=60_000
    )
    write_retries: int = key(
        3, "Attempts of an atomic write.", env="MCP_ATOMIC_WRITE_RETRIES", minimum=0, maximum=100
    )
    write_backoff_ms: int = key(
        8,
        "First wait between write attempts.",
        env="MCP_ATOMIC_WRITE_BACKOFF_MS",
        minimum=0,
        maximum=60_000,
    )
    usage_rate_limit_disabled: bool = key(
        False, "No limit of uses per id and second.", env="MCP_DISABLE_USAGE_RATE_LIMIT"
    )
    usage_clamp_disabled: bool = key(
        False, "Do not clamp the first use of an id.", env="MCP_DISABLE_USAGE_CLAMP"
    )
    usage_flush_ms: int = key(
        75,
        "Usage counters are written at most this late.",
        env="MCP_USAGE_FLUSH_MS",
        minimum=0,
        maximum=600_000,
    )
    features: tuple[str, ...] | None = key(
        None, "Feature flags; unset: usage on. Set without `usage`: off.", env="INDEX_FEATURES"
    )
    agent_id: str | None = key(
        None, "Who changes the catalogue, written into entries and audit.", env="MCP_AGENT_ID"
    )
    workspace: str | None = key(
        None, "Workspace of new instructions (also INSTRUCTIONS_WORKSPACE).", env="WORKSPACE_ID"
    )
    graph_include_primary_edges: bool = key(
        True, "Emit `primary` edges in the graph.", env="GRAPH_INCLUDE_PRIMARY_EDGES"
    )
    graph_large_category_cap: int | None = key(
        None,
        "No pairwise edges for categories with more members than this.",
        env="GRAPH_LARGE_CATEGORY_CAP",
        minimum=0,
    )
    watch: bool = key(True, "Notice edits of the folder by editors and git.")

    @property
    def usage_enabled(self) -> bool:
        return self.features is None or "usage" in self.features


class McpSettings(Section):
    files: FilesSettings = FilesSettings()
    memory: MemorySettings = MemorySettings()
    openapi: OpenApiSettings = OpenApiSettings()
    instructions: InstructionsSettings = InstructionsSettings()


class StorageSettings(Section):
    url: str = key(
        "", "`sqlite:///PATH` or `postgresql://...`; empty: SQLite in the data folder.", secret=True
    )
    pool_size: int = key(8, "PostgreSQL only: connections of one process.", minimum=1, maximum=200)
    integrity_check_hours: float = key(
        24.0,
        "SQLite only: an HTTP server checks its databases for damage this often, slowly and in "
        "the background; 0: never.",
        minimum=0,
    )
    cache_url: str = key(
        "", "`redis://...` for credentials and shared limits; empty: in memory.", secret=True
    )
    models: str | None = key(
        None,
        "Folder of the embedding models, to share one between data folders; unset: models/ in "
        "the data folder.",
        env="COMMONPLACE_MODELS",
        path=True,
    )


class AuthSettings(Section):
    mode: AuthMode = key(
        "none",
        "`none`: loopback only; `keys`: keys of `commonplace keys`; `passthrough`: any bearer is "
        "its own tenant.",
    )
    resource_url: str = key(
        "", "Public address of /mcp, for the metadata of OAuth and for the cookies of the console."
    )
    authorization_servers: tuple[str, ...] = key(
        (),
        "OAuth servers that clients are led to by a 401; needs resource_url. Empty: a plain 401.",
    )


class LimitSettings(Section):
    request_bytes: int = key(64 * MEBIBYTE, "Largest line or body.", minimum=1024)
    undecoded_bytes: int = key(
        192 * MEBIBYTE,
        "Bytes of large messages that may wait to be decoded; above it, or above two thirds for "
        "one caller: SERVER_BUSY.",
        minimum=1024,
    )
    call_timeout_seconds: float = key(
        300.0, "A call without its own deadline ends after this time; 0: never.", minimum=0
    )
    in_flight: int = key(
        256,
        "Calls of one connection that run at a time; reading waits above it.",
        minimum=1,
        maximum=10_000,
    )
    sessions_per_key: int = key(
        100,
        "Sessions of a key over HTTP; above it, the oldest idle one ends for a new one.",
        minimum=1,
        maximum=10_000,
    )
    key_per_second: float = key(0.0, "Sustained calls per second and key; 0: unlimited.", minimum=0)
    key_burst: int = key(100, "Calls a key may make at once.", minimum=1)
    tenant_per_second: float = key(
        0.0, "Sustained calls per second and tenant; 0: unlimited.", minimum=0
    )
    tenant_burst: int = key(400, "Calls a tenant may make at once.", minimum=1)
    connections: int = key(
        1000,
        "HTTP connections at a time; less where the system allows fewer open files.",
        minimum=8,
        maximum=100_000,
    )
    connections_per_address: int = key(
        256,
        "HTTP connections of one address at a time; `server.trusted_proxies` are exempt.",
        minimum=1,
        maximum=100_000,
    )
    header_seconds: float = key(
        15.0, "A request's header must have arrived after this time.", minimum=0.1
    )
    body_seconds: float = key(
        60.0, "A request's body must have arrived after this time.", minimum=0.1
    )
    idle_seconds: float = key(
        75.0,
        "A connection without a request, or whose client does not read its answer, is closed "
        "after this time; an open stream is not idle.",
        minimum=0.1,
    )
    failed_logins_per_minute: int = key(
        30,
        "Wrong keys per minute, of all callers together, before further ones must wait.",
        minimum=1,
    )


class ServerSettings(Section):
    host: str = key("127.0.0.1", "Address of the HTTP server.")
    port: int = key(8787, "Port of the HTTP server.", minimum=0, maximum=65535)
    read_only: bool = key(False, "Refuse every tool that writes.")
    toolsets: tuple[str, ...] = key(
        (), "Toolsets offered; calls of all others are refused. Empty: all."
    )
    tools: tuple[str, ...] = key(
        (), "Tools offered beside the toolsets; calls of all others are refused."
    )
    exclude_tools: tuple[str, ...] = key(
        (), "Tools refused and not listed, under each of their names."
    )
    all_tools: bool = key(False, "List the extended tools too.")
    drain_seconds: float = key(
        2.0,
        "After SIGTERM, answer /readyz with 503 for this long before the listener closes, if "
        "anybody asked for it in the last minute.",
        minimum=0,
        maximum=300,
    )
    allowed_hosts: tuple[str, ...] = key(
        (), "Host names the server answers to besides the one it binds; `*.example.org` allowed."
    )
    allowed_origins: tuple[str, ...] = key(
        (), "Origins of browsers that may call, besides its own."
    )
    trusted_proxies: tuple[str, ...] = key(
        (),
        "Addresses or networks of proxies in front of this server: exempt from the cap per "
        "address, believed in `X-Forwarded-Proto`.",
    )


class LogSettings(Section):
    verbose: bool = key(False, "Detailed log lines.", env="MCP_LOG_VERBOSE")
    mutations_only: bool = key(
        False, "Log only calls that change something.", env="MCP_LOG_MUTATION"
    )
    diagnostics: bool = key(False, "Log handshakes and buffers.", env="MCP_LOG_DIAG")
    file: str | None = key(
        None,
        "Append structured log lines to this file as well as stderr.",
        env="MCP_LOG_FILE",
        path=True,
    )
    rotate_bytes: int = key(
        524_288, "Size at which the log file is rotated.", env="MCP_LOG_ROTATE_BYTES", minimum=1
    )
    preview_bytes: int = key(
        256,
        "Longest preview of a redacted or long argument in logs and audit.",
        minimum=0,
        maximum=4096,
    )
    slow_call_ms: int = key(1000, "Calls slower than this are logged; 0: none.", minimum=0)


class TraceSettings(Section):
    directory: str | None = key(
        None,
        "Folder of trace files; default traces/ in the data folder.",
        env="MCP_TRACE_DIR",
        path=True,
    )
    max_bytes: int = key(
        65_536, "Size at which a trace file is rotated.", env="MCP_TRACE_MAX_BYTES", minimum=1
    )
    session: str | None = key(
        None, "Session id in trace lines; default random.", env="MCP_TRACE_SESSION"
    )
    allow: tuple[str, ...] = key((), "Categories traced; empty: all.", env="MCP_TRACE_FILTER")
    deny: tuple[str, ...] = key((), "Categories not traced.", env="MCP_TRACE_FILTER_DENY")
    catalog: bool = key(
        False, "Trace the instruction catalogue, on stderr too.", env="MCP_CATALOG_DIAG"
    )
    catalog_files: bool = key(
        False, "Trace each instruction file as it is loaded.", env="MCP_CATALOG_FILE_TRACE"
    )
    handshake: bool = key(False, "Trace the stages of the handshake.", env="MCP_HANDSHAKE_TRACE")
    init_frames: bool = key(
        False, "Trace the first frames of a connection.", env="MCP_INIT_FRAME_DIAG"
    )
    health_mixed: bool = key(
        False,
        "Add transport diagnostics to health_check and trace it.",
        env="MCP_HEALTH_MIXED_DIAG",
    )


class AuditSettings(Section):
    enabled: bool = key(True, "Record mutations and refusals in hash chains.")
    segment_bytes: int = key(
        64 * MEBIBYTE, "Size at which a process starts the next file of its chain.", minimum=4096
    )
    recent_reads: int = key(
        1000, "Reads kept in memory for the console, redacted.", minimum=0, maximum=100_000
    )


class DashboardSettings(Section):
    enabled: bool = key(
        False,
        "Serve the console from a stdio server too, on its own listener.",
        env="MCP_DASHBOARD",
    )
    port: int = key(8787, "First port tried.", env="MCP_DASHBOARD_PORT", minimum=0, maximum=65535)
    host: str = key("127.0.0.1", "Address of that listener.", env="MCP_DASHBOARD_HOST")
    tries: int = key(
        10, "Ports tried, one after the other.", env="MCP_DASHBOARD_TRIES", minimum=1, maximum=1000
    )


class Settings(Section):
    """All of it. `data` is the one folder that holds all state."""

    data: Path
    mcp: McpSettings = McpSettings()
    storage: StorageSettings = StorageSettings()
    auth: AuthSettings = AuthSettings()
    limits: LimitSettings = LimitSettings()
    server: ServerSettings = ServerSettings()
    log: LogSettings = LogSettings()
    trace: TraceSettings = TraceSettings()
    audit: AuditSettings = AuditSettings()
    dashboard: DashboardSettings = DashboardSettings()

    @property
    def instructions_directory(self) -> Path:
        chosen = self.mcp.instructions.directory
        return Path(chosen) if chosen else self.data / "instructions"

    @property
    def trace_directory(self) -> Path:
        return Path(self.trace.directory) if self.trace.directory else self.data / "traces"

    @property
    def models_directory(self) -> Path:
        return Path(self.storage.models) if self.storage.models else self.data / "models"

    @property
    def audit_directory(self) -> Path:
        return self.data / "audit"

    @property
    def database_url(self) -> str:
        return self.storage.url or f"sqlite:///{self.data / 'commonplace.db'}"


ENVIRONMENT_ALIASES: Mapping[str, str] = {"INSTRUCTIONS_WORKSPACE": "WORKSPACE_ID"}
"""Other names of a variable; the first name wins when both are set."""

WITHOUT_EFFECT: Mapping[str, str] = {
    "DIST_WAIT_MS": "there is no build output to wait for",
    "EXTEND_DIST_WAIT": "there is no build output to wait for",
    "DIST_WAIT_DEBUG": "there is no build output to wait for",
    "SKIP_PROD_DEPLOY": "there is no deploy script",
    "MCP_FORCE_REBUILD": "nothing is built at start",
    "MULTICLIENT_TRACE": "belongs to the peer's test harness",
    "MCP_SHARED_SERVER_SENTINEL": "belongs to the peer's test harness",
    "MCP_HANDSHAKE_FALLBACKS": "the handshake needs no fallback",
    "MCP_INIT_FALLBACK_ALLOW": "the handshake needs no fallback",
    "MCP_DISABLE_INIT_SNIFF": "nothing sniffs stdout",
    "MCP_DISABLE_EARLY_STDIN_BUFFER": "the first line is read like any other",
    "MCP_CATALOG_MEMOIZE": "the catalogue is always in memory",
    "MCP_IDLE_KEEPALIVE_MS": "the protocol's own ping keeps a connection alive",
}
"""Variables of contract 000 that are accepted and change nothing, and why."""

"""The only composition root: settings in, a running product out. Domains are plugged in lazily: a call builds only its own."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from commonplace import __version__
from commonplace.dispatch.limiter import RateLimiter
from commonplace.dispatch.pipeline import Pipeline
from commonplace.dispatch.recording import CallRecorder
from commonplace.dispatch.registry import Registry, Selection, Toolset
from commonplace.edge.authenticate import Authenticator
from commonplace.edge.product import Features, Product
from commonplace.kernel.background import Background
from commonplace.kernel.errors import INVALID_CONFIG, CommonplaceError
from commonplace.kernel.settings import Settings
from commonplace.server.toolset import toolset as server_toolset
from commonplace.storage.keys import KeyStore
from commonplace.telemetry.audit import AuditLog
from commonplace.telemetry.logs import configure as configure_logs
from commonplace.telemetry.metrics import Metrics
from commonplace.telemetry.observer import EdgeObserver
from commonplace.telemetry.trace import Tracer

if TYPE_CHECKING:
    from commonplace.edge.http import HttpOptions
    from commonplace.server.service import ServerService

T = TypeVar("T")
log = logging.getLogger("commonplace.bootstrap")

EXTRA_VARIABLE = "COMMONPLACE_EXTRA_TOOLSETS"
FEATURES_VARIABLE = "COMMONPLACE_EXTRA_FEATURES"
DOMAINS = ("instructions", "files", "memory", "openapi")
INSTRUCTIONS = """\
Commonplace keeps what a team of agents shares: governed instructions, project files, lessons learned and tools for OpenAPI documents.
Call `rekall_help` once per session: it says when to search the memory and when to add to it.
Look for binding rules with `instructions_search` before you change code, and keep durable work in project files with `file_write`."""


@dataclass(slots=True)
class Switch:
    """Read at every call, so that turning it takes effect at once."""

    on: bool

    def __call__(self) -> bool:
        return self.on


@dataclass(slots=True)
class App:
    """The product, assembled. `close` ends what it started, newest first."""

    settings: Settings
    registry: Registry
    pipeline: Pipeline
    product: Product
    metrics: Metrics
    audit: AuditLog | None
    tracer: Tracer
    keys: KeyStore
    authenticator: Authenticator
    mutation: Switch
    services: Mapping[str, Callable[[], Any]]
    background: Background
    _closing: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def http_options(self, host: str, *, alone: bool = True) -> HttpOptions:
        """How an HTTP server on this host may be reached, with the routes beside /mcp and /rpc. Refuses an open bind.

        `alone` servers run the background work; one beside stdio leaves it to the pipe."""
        from commonplace.edge.authenticate import check_bind, is_loopback
        from commonplace.edge.http import LOOPBACK_HOSTS, HttpOptions
        from commonplace.edge.operations import host_check, operation_routes

        check_bind(host, self.settings.auth)
        server = self.settings.server
        hosts = (*LOOPBACK_HOSTS, *server.allowed_hosts) if is_loopback(host) else server.allowed_hosts
        routes = operation_routes(
            self.settings.auth, self.product.authenticate, self.metrics, self.product.version, host_check(hosts, server.allowed_origins)
        )
        return HttpOptions(
            allowed_hosts=hosts,
            allowed_origins=server.allowed_origins,
            routes=routes,
            around=self.background.running if alone else contextlib.nullcontext,
        )

    def in_use(self) -> contextlib.AbstractContextManager[None]:
        """Tell other processes that a server uses the data folder: `restore` then refuses."""
        from commonplace.storage.occupancy import occupied

        return occupied(self.settings.data)

    def close(self) -> None:
        self._closing.close()

    def __enter__(self) -> App:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@dataclass(slots=True)
class Parts:
    """What a domain's builder may use. `service(name)` reaches another domain without importing it."""

    settings: Settings
    tracer: Tracer
    mutation: Switch
    closing: contextlib.ExitStack
    services: dict[str, Callable[[], Any]]
    background: Background
    local: bool  # one local user on stdio or the command line, not callers over HTTP

    def service(self, name: str) -> Any:
        return self.services[name]()


def build(
    settings: Settings,
    *,
    extra_toolsets: Iterable[Toolset] = (),
    selection: Selection | None = None,
    environ: Mapping[str, str] | None = None,
    local_user_writes: bool = False,
    local: bool = True,
) -> App:
    """Assemble the product. `local_user_writes` opens the catalogue to commands of the local user (never to a server);
    `local` is false for a server over HTTP, whose callers may not reach this machine's files and loopback."""
    environ = os.environ if environ is None else environ
    closing = contextlib.ExitStack()
    configure_logs(settings.log)
    tracer = Tracer(settings)
    closing.callback(tracer.close)
    metrics = Metrics()
    audit = _audit(settings, closing)
    keys = KeyStore(settings.data / "keys.json")
    authenticator = Authenticator(settings.auth, keys, settings.limits.failed_logins_per_minute)
    authenticator.on_refusal = lambda error: _refused(error, audit, metrics)
    mutation = Switch(settings.mcp.instructions.mutation_enabled or local_user_writes)
    services: dict[str, Callable[[], Any]] = {}
    background = Background()
    parts = Parts(settings, tracer, mutation, closing, services, background, local)
    started = time.monotonic()
    services["server"] = once(lambda: _server_service(settings, metrics, tracer, audit, started))
    toolsets = [*_domain_toolsets(parts), server_toolset(services["server"]), *extra_toolsets, *_named_toolsets(environ)]
    registry = Registry(toolsets)
    pipeline = Pipeline(
        registry,
        mutation_enabled=mutation,
        read_only=settings.server.read_only,
        recorder=CallRecorder(metrics, audit, tracer, settings.log),
        limiter=RateLimiter(settings.limits),
        default_timeout_seconds=settings.limits.call_timeout_seconds or None,
    )
    product = Product(
        pipeline,
        __version__,
        INSTRUCTIONS,
        selection=selection or selection_of(settings),
        authenticate=authenticator.authenticate,
        stdio_auth=lambda: authenticator.stdio(environ),
        max_message_bytes=settings.limits.request_bytes,
        features=_named_features(environ),
        observer=EdgeObserver(tracer, metrics),
    )
    app = App(settings, registry, pipeline, product, metrics, audit, tracer, keys, authenticator, mutation, services, background)
    app._closing = closing
    return app


def selection_of(settings: Settings) -> Selection:
    """What the server lists, from its settings."""
    server = settings.server
    return Selection(
        toolsets=frozenset(server.toolsets) or None,
        tools=frozenset(server.tools) or None,
        exclude=frozenset(server.exclude_tools),
        read_only=server.read_only,
        all_tiers=server.all_tools,
    )


def once(make: Callable[[], T]) -> Callable[[], T]:
    """A service that is built when first asked for. A failed build is tried again."""
    made: list[T] = []

    def get() -> T:
        if not made:
            made.append(make())
        return made[0]

    return get


def _domain_toolsets(parts: Parts) -> list[Toolset]:
    """The domains that are there. Each `toolset` module is cheap; its service is built at the first call."""
    toolsets = []
    for name in DOMAINS:
        if find_spec(f"commonplace.{name}.toolset") is None:
            continue
        module = import_module(f"commonplace.{name}.toolset")
        build_service = getattr(module, "build", None) or WIRING.get(name)
        if build_service is None:
            continue
        parts.services[name] = once(_builder(build_service, parts))
        toolsets.append(module.toolset(parts.services[name]))
    return toolsets


def _files(parts: Parts) -> Any:
    """Files on the embedded database; the index worker runs beside the calls."""
    from commonplace.files.toolset import build_files
    from commonplace.storage.sqlite import Database

    settings = parts.settings
    database = Database(sqlite_path(settings), lock_timeout_seconds=settings.mcp.files.lock_timeout_ms / 1000)
    parts.closing.callback(database.close)
    files = build_files(database, settings.data, settings.mcp.files)
    parts.background.add("files-index", files.indexer.run, files.indexer.stop)
    return files.service


def _openapi(parts: Parts) -> Any:
    from commonplace.openapi.toolset import build_openapi

    settings = parts.settings.mcp.openapi
    roots = [Path(root).expanduser() for root in settings.roots]
    return build_openapi(local=parts.local, roots=roots, allow_hosts=settings.url_allow)


WIRING: Mapping[str, Callable[[Parts], Any]] = {"files": _files, "openapi": _openapi}
"""Domains whose toolset has no `build(parts)` of its own."""


def sqlite_path(settings: Settings) -> Path:
    """The embedded database's file."""
    scheme, _, path = settings.database_url.partition(":///")
    if scheme != "sqlite":
        raise CommonplaceError(INVALID_CONFIG, f"settings.storage.url: {scheme.split(':')[0]} is not served here.")
    return Path(path) if path.startswith("/") else settings.data / path


def _builder(build_service: Callable[[Parts], Any], parts: Parts) -> Callable[[], Any]:
    def make() -> Any:
        parts.settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        service = build_service(parts)
        close = getattr(service, "close", None)
        if close is not None:
            parts.closing.callback(close)
        return service

    return make


def _named_toolsets(environ: Mapping[str, str]) -> list[Toolset]:
    """Toolsets named by `module:function` in the environment: fixtures of the conformance suite, and of tests."""
    toolsets: list[Toolset] = []
    for name in filter(None, environ.get(EXTRA_VARIABLE, "").split(",")):
        made = _named(EXTRA_VARIABLE, name)
        toolsets.extend([made] if isinstance(made, Toolset) else made)
    return toolsets


def _named_features(environ: Mapping[str, str]) -> Features | None:
    """Protocol features beyond tools, named the same way."""
    name = environ.get(FEATURES_VARIABLE)
    features: Features | None = _named(FEATURES_VARIABLE, name) if name else None
    return features


def _named(variable: str, name: str) -> Any:
    module, _, function = name.strip().partition(":")
    try:
        return getattr(import_module(module), function)()
    except (ImportError, AttributeError, ValueError) as missing:
        raise CommonplaceError(INVALID_CONFIG, f"{variable}: cannot load {name!r}: {missing}.") from missing


def _server_service(settings: Settings, metrics: Metrics, tracer: Tracer, audit: AuditLog | None, started: float) -> ServerService:
    from commonplace.server.service import ServerService

    mixed = settings.trace.health_mixed
    return ServerService(__version__, metrics, tracer, settings.audit_directory, audit, mixed_diagnostics=mixed, started=started)


def _audit(settings: Settings, closing: contextlib.ExitStack) -> AuditLog | None:
    if not settings.audit.enabled:
        return None
    audit = AuditLog(settings.audit_directory, segment_bytes=settings.audit.segment_bytes, recent_reads=settings.audit.recent_reads)
    closing.callback(audit.close)
    return audit


def _refused(error: CommonplaceError, audit: AuditLog | None, metrics: Metrics) -> None:
    """A request without a valid key. Their number is bounded by the authenticator, so they cannot fill the disk."""
    metrics.count("unauthenticated")
    if audit is not None:
        record = {"type": "call", "tool": None, "tenant": None, "label": "", "outcome": "refused", "code": error.code.name}
        try:
            audit.append({**record, "duration_ms": 0, "trace_id": "", "arguments": {}})
        except CommonplaceError as failed:
            log.error("a refused request could not be recorded: %s", failed.message)

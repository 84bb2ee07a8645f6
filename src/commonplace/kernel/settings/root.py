"""The root of all settings, and the environment variables with special treatment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from commonplace.kernel.settings.section import Section
from commonplace.kernel.settings.server import (
    AuthSettings,
    DashboardSettings,
    LimitSettings,
    ServerSettings,
    StorageSettings,
)
from commonplace.kernel.settings.telemetry import AuditSettings, LogSettings, TraceSettings
from commonplace.kernel.settings.toolsets import (
    CaptureSettings,
    GovernanceSettings,
    McpSettings,
)


class Settings(Section):
    """All of it. `data` is the one folder that holds all state."""

    data: Path
    mcp: McpSettings = McpSettings()
    governance: GovernanceSettings = GovernanceSettings()
    capture: CaptureSettings = CaptureSettings()
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
"""Variables without effect, and why (docs/reference/contracts/instructions.md)."""

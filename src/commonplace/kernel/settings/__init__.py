"""Every setting of the product as frozen values: default, bounds, environment variable, purpose.

`kernel/config` reads them from the file and the environment; `docs/reference/configuration.md` is
generated from here. The dotted path of a field below `Settings` is its name in the file:
`settings.mcp.files.search.limit_max`.
"""

from commonplace.kernel.settings.files import FilesIndex, FilesSecurity, FilesSettings
from commonplace.kernel.settings.root import ENVIRONMENT_ALIASES, WITHOUT_EFFECT, Settings
from commonplace.kernel.settings.search import (
    Embedding,
    EmbeddingProvider,
    Fallback,
    FilesSearch,
    LexicalMode,
    Rerank,
)
from commonplace.kernel.settings.section import MEBIBYTE, Section, SettingSpec
from commonplace.kernel.settings.server import (
    AuthMode,
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
    InstructionsSettings,
    Language,
    McpSettings,
    MemorySettings,
    OpenApiSettings,
    SecretsPolicy,
)

__all__ = [
    "ENVIRONMENT_ALIASES",
    "MEBIBYTE",
    "WITHOUT_EFFECT",
    "AuditSettings",
    "AuthMode",
    "AuthSettings",
    "DashboardSettings",
    "Embedding",
    "EmbeddingProvider",
    "Fallback",
    "FilesIndex",
    "FilesSearch",
    "FilesSecurity",
    "FilesSettings",
    "CaptureSettings",
    "GovernanceSettings",
    "InstructionsSettings",
    "Language",
    "LexicalMode",
    "LimitSettings",
    "LogSettings",
    "McpSettings",
    "MemorySettings",
    "OpenApiSettings",
    "Rerank",
    "SecretsPolicy",
    "Section",
    "ServerSettings",
    "SettingSpec",
    "Settings",
    "StorageSettings",
    "TraceSettings",
]

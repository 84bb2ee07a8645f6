"""Settings of the files toolset: limits, indexing and the encryption of model keys."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from commonplace.kernel.settings.search import FilesSearch
from commonplace.kernel.settings.section import Section, setting


class FilesIndex(Section):
    workers: int = setting(2, "Index jobs worked on at a time.", minimum=0, maximum=64)
    batch_size: int = setting(20, "Index jobs taken at once.", minimum=1, maximum=1000)
    retry_max: int = setting(
        5, "Retries of a failing index job before it becomes a dead letter.", minimum=0, maximum=100
    )
    retry_backoff_ms: int = setting(
        1000,
        "First wait before a failed index job is tried again; it grows with each attempt.",
        minimum=0,
    )
    slo_p95_seconds: int = setting(
        30, "Freshness objective: `doctor` and the metrics warn above it.", minimum=1
    )


class FilesSecurity(Section):
    encryption_keks: Mapping[str, str] = setting(
        MappingProxyType({}),
        "Key-encryption keys, id to secret; required once an external model is on.",
        secret=True,
    )
    credential_cache_prefix: str = setting(
        "mcp:files:cred", "Prefix of credential envelopes in the cache."
    )
    credential_cache_ttl_seconds: int = setting(300, "Life of a credential envelope.", minimum=1)


class FilesSettings(Section):
    """Settings without environment variables (docs/reference/contracts/files.md, section 12)."""

    allow_root_wipe: bool = setting(
        False, "Accepted for compatibility; the root is never deleted. `true` warns in doctor."
    )
    max_payload_bytes: int = setting(2_000_000, "Largest content of one request.", minimum=1)
    max_file_bytes: int = setting(10_000_000, "Largest file.", minimum=1)
    max_project_bytes: int = setting(100_000_000, "Most bytes in one project.", minimum=1)
    max_tenant_bytes: int = setting(
        0, "Most bytes of one tenant in all its projects; 0: no limit.", minimum=0
    )
    list_limit_default: int = setting(
        256, "Entries listed when the caller gives no limit.", minimum=1
    )
    list_limit_max: int = setting(1024, "Most entries one call may list.", minimum=1)
    lock_timeout_ms: int = setting(
        3000, "Longest wait for a project's lock; then RESOURCE_BUSY.", minimum=0
    )
    delete_retention_days: int = setting(
        30, "Deleted files can be restored for this long.", minimum=0
    )
    rate_per_second: float = setting(
        0.0,
        "Sustained file operations per second and tenant, then RATE_LIMITED; 0: unlimited.",
        minimum=0,
    )
    rate_burst: int = setting(400, "File operations a tenant may make at once.", minimum=1)
    search: FilesSearch = FilesSearch()
    index: FilesIndex = FilesIndex()
    security: FilesSecurity = FilesSecurity()

"""Settings of logs, traces and the audit record."""

from __future__ import annotations

from commonplace.kernel.settings.section import MEBIBYTE, Section, setting


class LogSettings(Section):
    verbose: bool = setting(False, "Detailed log lines.", env="MCP_LOG_VERBOSE")
    mutations_only: bool = setting(
        False, "Log only calls that change something.", env="MCP_LOG_MUTATION"
    )
    diagnostics: bool = setting(False, "Log handshakes and buffers.", env="MCP_LOG_DIAG")
    file: str | None = setting(
        None,
        "Append structured log lines to this file as well as stderr.",
        env="MCP_LOG_FILE",
        path=True,
    )
    rotate_bytes: int = setting(
        524_288, "Size at which the log file is rotated.", env="MCP_LOG_ROTATE_BYTES", minimum=1
    )
    preview_bytes: int = setting(
        256,
        "Longest preview of a redacted or long argument in logs and audit.",
        minimum=0,
        maximum=4096,
    )
    slow_call_ms: int = setting(1000, "Calls slower than this are logged; 0: none.", minimum=0)


class TraceSettings(Section):
    directory: str | None = setting(
        None,
        "Folder of trace files; default traces/ in the data folder.",
        env="MCP_TRACE_DIR",
        path=True,
    )
    max_bytes: int = setting(
        65_536, "Size at which a trace file is rotated.", env="MCP_TRACE_MAX_BYTES", minimum=1
    )
    session: str | None = setting(
        None, "Session id in trace lines; default random.", env="MCP_TRACE_SESSION"
    )
    allow: tuple[str, ...] = setting((), "Categories traced; empty: all.", env="MCP_TRACE_FILTER")
    deny: tuple[str, ...] = setting((), "Categories not traced.", env="MCP_TRACE_FILTER_DENY")
    catalog: bool = setting(
        False, "Trace the instruction catalogue, on stderr too.", env="MCP_CATALOG_DIAG"
    )
    catalog_files: bool = setting(
        False, "Trace each instruction file as it is loaded.", env="MCP_CATALOG_FILE_TRACE"
    )
    handshake: bool = setting(
        False, "Trace the stages of the handshake.", env="MCP_HANDSHAKE_TRACE"
    )
    init_frames: bool = setting(
        False, "Trace the first frames of a connection.", env="MCP_INIT_FRAME_DIAG"
    )
    health_mixed: bool = setting(
        False,
        "Add transport diagnostics to health_check and trace it.",
        env="MCP_HEALTH_MIXED_DIAG",
    )


class AuditSettings(Section):
    enabled: bool = setting(True, "Record mutations and refusals in hash chains.")
    segment_bytes: int = setting(
        64 * MEBIBYTE, "Size at which a process starts the next file of its chain.", minimum=4096
    )
    retention_days: int = setting(
        0,
        "Remove records older than this many days; what is left can still be verified. "
        "0: keep all.",
        minimum=0,
        maximum=36_500,
    )
    anchor: str = setting(
        "",
        "A second place for the heads of chains: a file, or an https address that gets them by "
        "POST; empty: none.",
    )
    anchor_minutes: float = setting(
        60.0, "How often a server writes the heads there.", minimum=0.01, maximum=10_080
    )
    recent_reads: int = setting(
        1000, "Reads kept in memory for the console, redacted.", minimum=0, maximum=100_000
    )

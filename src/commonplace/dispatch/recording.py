"""Records of calls: metrics of all, audit records of changes and refusals, logs and traces."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping

from commonplace.dispatch.call import Call, Outcome
from commonplace.dispatch.tool import Tool
from commonplace.kernel.errors import CommonplaceError, Kind
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.kernel.settings import LogSettings
from commonplace.telemetry.audit import AuditLog
from commonplace.telemetry.logs import CALLS
from commonplace.telemetry.metrics import Metrics
from commonplace.telemetry.recent import FinishedCall
from commonplace.telemetry.redaction import redact, scrub_thoroughly
from commonplace.telemetry.trace import Tracer

log = logging.getLogger(CALLS)

REFUSALS = frozenset({Kind.PERMISSION, Kind.EXCLUDED, Kind.MUTATION_OFF, Kind.UNAUTHENTICATED})
UNKNOWN = "(unknown)"
NO_ARGUMENTS: Mapping[str, Json] = {}


class CallRecorder:
    """Records every call. `audit` is None where the operator switched it off."""

    def __init__(
        self,
        metrics: Metrics,
        audit: AuditLog | None,
        tracer: Tracer,
        settings: LogSettings,
        check_storage: Callable[[], None] = lambda: None,
        agent: str | None = None,
    ) -> None:
        """`check_storage` raises where a change would be lost; `agent` is MCP_AGENT_ID."""
        self._metrics = metrics
        self._agent = agent
        self._audit = audit
        self._check_storage = check_storage
        self._tracer = tracer
        self._preview_bytes = settings.preview_bytes
        self._slow_seconds = settings.slow_call_ms / 1000 if settings.slow_call_ms else float("inf")
        self._mutations_only = settings.mutations_only
        self._logs_calls = log.isEnabledFor(logging.INFO)

    def before(self, tool: Tool, call: Call) -> None:
        """Refuse a change that would be lost or could not be recorded."""
        if not call.mutates:
            return
        self._check_storage()
        if self._audit is not None:
            self._audit.ready()

    def after(self, call: Call, outcome: Outcome) -> None:
        tool, error = outcome.tool, outcome.error
        code = error.code.name if error is not None else "REJECTED" if outcome.rejected else None
        self._metrics.record(_method(tool), call.auth.tenant, outcome.duration_seconds, code)
        refused = error is not None and error.code.kind in REFUSALS
        record: FinishedCall | None = None
        if self._audit is not None and tool is not None:
            if call.mutates or refused:
                record = self._describe_call(tool, call, outcome, code, refused)
                self._append(
                    self._audit, record.as_record(), call.mutates and call.handled and not refused
                )
            elif self._audit.reads.wanted:
                record = self._describe_call(tool, call, outcome, code, refused)
                self._audit.reads.add(record)
        if outcome.duration_seconds > self._slow_seconds:
            log.warning(
                "slow call: %s took %.0f ms (trace %s)",
                _method(tool),
                outcome.duration_seconds * 1e3,
                outcome.trace_id,
            )
        if self._logs_calls and (call.mutates or not self._mutations_only):
            if record is None and tool is not None:
                record = self._describe_call(tool, call, outcome, code, refused)
            fields = record.as_record() if record is not None else {}
            log.info(
                "%s %s in %.1f ms",
                _method(tool),
                code or "ok",
                outcome.duration_seconds * 1e3,
                extra={"fields": fields},
            )
        if self._tracer.active:
            self._trace(tool, call, outcome, code)

    def _append(self, audit: AuditLog, record: JsonObject, applied: bool) -> None:
        try:
            audit.append(record)
        except CommonplaceError as failed:
            if not applied:
                log.error("a refusal could not be recorded: %s", failed.message)
                return  # nothing ran: the caller gets the refusal itself
            raise CommonplaceError(
                failed.code,
                "The call ran, but the audit trail could not record it. Check the result before "
                "you repeat it.",
                hint=failed.hint,
                details={"applied": True},
            ) from failed

    def _describe_call(
        self, tool: Tool, call: Call, outcome: Outcome, code: str | None, refused: bool
    ) -> FinishedCall:
        auth = call.auth
        arguments = (
            redact(call.arguments, tool.redact, self._preview_bytes)
            if call.arguments
            else NO_ARGUMENTS
        )
        if call.mutates or refused:  # goes into the chain
            arguments = scrub_thoroughly(arguments)
        ended = "ok"
        if code is not None:
            ended = "refused" if refused else "rejected" if outcome.rejected else "failed"
        return FinishedCall(
            time.time(),
            tool.name,
            call.name[:128],
            auth.tenant,
            auth.label,
            auth.key_id,
            ended,
            code,
            outcome.duration_seconds,
            outcome.trace_id,
            arguments,
            self._agent,
            auth.address,
        )

    def _trace(self, tool: Tool | None, call: Call, outcome: Outcome, code: str | None) -> None:
        label = f"call:{_method(tool)}"
        if self._tracer.wants(label):
            data = {
                "trace_id": outcome.trace_id,
                "ms": round(outcome.duration_seconds * 1e3, 3),
                "code": code,
                "tenant": call.auth.tenant,
            }
            self._tracer.emit(label, data)


def _method(tool: Tool | None) -> str:
    """Return the name under which a tool is counted: its contract's, where it has one."""
    if tool is None:
        return UNKNOWN
    return tool.bare[0] if tool.bare else tool.name

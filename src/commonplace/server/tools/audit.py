"""audit_query and audit_verify: changes and refusals, and whether their record is complete."""

from __future__ import annotations

import asyncio
from typing import Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Nothing, Tier, Tool
from commonplace.kernel.auth import Scope
from commonplace.kernel.json_types import JsonObject
from commonplace.server.service import ServerService
from commonplace.telemetry.query import MAX_RECORDS, AuditFilter

TIME = r"^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?Z?)?$"


class AuditQueryInput(Arguments):
    tool: str | None = Field(
        default=None, max_length=128, description="Only calls of this tool, by any of its names."
    )
    tenant: str | None = Field(
        default=None, max_length=128, description="Only calls of this tenant."
    )
    outcome: Literal["ok", "refused", "rejected", "failed"] | None = Field(
        default=None, description="Only this outcome."
    )
    code: str | None = Field(
        default=None, max_length=64, description="Only calls that ended with this error code."
    )
    trace_id: str | None = Field(
        default=None, max_length=64, description="Only the call with this trace id."
    )
    since: str | None = Field(
        default=None, pattern=TIME, description="Not before this time (ISO 8601, UTC)."
    )
    until: str | None = Field(
        default=None, pattern=TIME, description="Before this time (ISO 8601, UTC)."
    )
    reads: bool = Field(
        default=False, description="Also the latest reads that this process keeps in memory."
    )
    limit: int = Field(
        default=50, ge=1, le=MAX_RECORDS, description="Most records returned, newest first."
    )


class AuditRecord(TypedDict):
    ts: str
    tool: str
    tenant: str
    label: str
    outcome: str
    duration_ms: float
    trace_id: str
    arguments: JsonObject
    chain: str | None
    code: NotRequired[str]
    key_id: NotRequired[str]
    name: NotRequired[str]
    address: NotRequired[str]
    server: NotRequired[str]


class AuditQueryOutput(TypedDict):
    records: list[AuditRecord]
    returned: int
    limit: int


class AuditProblem(TypedDict):
    chain: str
    record: int | None
    problem: str


class AuditVerifyOutput(TypedDict):
    ok: bool
    chains: int
    records: int
    problems: list[AuditProblem]
    warnings: list[AuditProblem]


def tools(service: ServerService) -> tuple[Tool, ...]:
    """Define audit_query and audit_verify."""

    async def audit_query(ctx: Context, args: AuditQueryInput) -> JsonObject:
        wanted = AuditFilter(**args.model_dump(exclude={"reads"}))
        page = await asyncio.to_thread(service.audit_records, wanted, args.reads)
        return {"records": list(page.records), "returned": len(page.records), "limit": page.limit}

    async def audit_verify(ctx: Context, args: Nothing) -> JsonObject:
        verdict = await asyncio.to_thread(service.verify_audit)
        return verdict.as_dict()

    return (
        Tool(
            name="audit_query",
            toolset="server",
            title="Query the audit trail",
            description="Changes and refusals, newest first: who, which tool, redacted "
            "arguments, outcome, duration.",
            input=AuditQueryInput,
            output=AuditQueryOutput,
            handler=audit_query,
            tier=Tier.EXTENDED,
            scope=Scope.ADMIN,
        ),
        Tool(
            name="audit_verify",
            toolset="server",
            title="Verify the audit trail",
            description="Check every audit chain for changed, removed, reordered or cut records.",
            input=Nothing,
            output=AuditVerifyOutput,
            handler=audit_verify,
            tier=Tier.EXTENDED,
            scope=Scope.ADMIN,
        ),
    )

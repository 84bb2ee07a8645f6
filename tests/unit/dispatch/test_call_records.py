"""Records of calls: audit of changes and refusals, reads in memory, metrics of all."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from commonplace.bootstrap.app import App, build
from commonplace.dispatch.call import Call, Outcome
from commonplace.dispatch.registry import Toolset
from commonplace.dispatch.tool import Arguments, Context, Rejected, Tool
from commonplace.kernel.auth import AuthContext, Scope, Tenant, local_user
from commonplace.kernel.errors import Code, CommonplaceError, Kind
from commonplace.kernel.settings import AuditSettings, LogSettings, Settings
from commonplace.telemetry.logs import configure_logging
from commonplace.telemetry.query import AuditFilter, query_audit
from commonplace.telemetry.verify import verify

FULL = Code("SHELF_FULL", Kind.LIMIT, "No room.")
READER = AuthContext(Tenant("t"), frozenset({Scope.READ}), "reader", key_id="k1")


class Note(Arguments):
    path: str = Field(default="/a", description="Where.")
    content: str = Field(default="", description="What.")
    write: bool = Field(default=False, description="Whether to change anything.")


def answer(context: Context, arguments: Note) -> dict[str, Any]:
    return {"ok": True}


def full(context: Context, arguments: Note) -> dict[str, Any]:
    raise CommonplaceError(FULL, "No room.")


def reject(context: Context, arguments: Note) -> Rejected:
    return Rejected({"created": False})


async def slow(context: Context, arguments: Note) -> dict[str, Any]:
    await asyncio.sleep(0.02)
    return {}


def tool(name: str, handler: Any = answer, **changes: Any) -> Tool:
    return Tool(
        name,
        "notes",
        name,
        name,
        Note,
        dict[str, Any],
        handler,
        redact=frozenset({"content"}),
        **changes,
    )


TOOLS = (
    tool("note_read", bare=("note/read",)),
    tool("note_write", read_only=False, scope=Scope.WRITE),
    tool("note_full", full, read_only=False, scope=Scope.WRITE),
    tool("note_reject", reject, read_only=False),
    tool("note_slow", slow),
    tool(
        "note_dispatch",
        read_only=False,
        scope=lambda arguments: Scope.WRITE if arguments.write else Scope.READ,
    ),
    tool("note_rule", read_only=False, scope=Scope.WRITE, writes_catalogue=True),
)
NOTES = Toolset(
    "notes",
    "Notes",
    frozenset({*(t.name for t in TOOLS), "note/read"}),
    frozenset({"note/read"}),
    lambda: TOOLS,
)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with build(Settings(data=tmp_path), extra_toolsets=[NOTES], environ={}) as app:
        yield app


def run(
    app: App,
    name: str,
    arguments: dict[str, Any] | None = None,
    auth: AuthContext | None = None,
    **call: Any,
) -> Outcome:
    return asyncio.run(app.pipeline.run(Call(name, arguments or {}, auth or local_user(), **call)))


def records(app: App, **wanted: Any) -> list[dict[str, Any]]:
    return query_audit(app.settings.audit_directory, AuditFilter(**wanted))


def test_a_change_is_recorded_without_its_content(app: App) -> None:
    outcome = run(app, "note_write", {"path": "/x", "content": "the secret plan"})
    (record,) = records(app)
    assert (record["tool"], record["tenant"], record["label"], record["outcome"]) == (
        "note_write",
        "local",
        "local",
        "ok",
    )
    assert record["trace_id"] == outcome.trace_id
    assert record["arguments"]["path"] == "/x"
    assert record["arguments"]["content"]["length"] == len("the secret plan")
    assert "secret plan" not in json.dumps(record)
    assert verify(app.settings.audit_directory).ok


def test_a_read_is_kept_in_memory_and_not_in_the_chain(app: App) -> None:
    run(app, "note/read", {"path": "/x"}, bare=True)
    assert records(app) == []
    assert app.services.audit is not None
    (read,) = app.services.audit.reads.records()
    assert (read["tool"], read["name"]) == ("note_read", "note/read")


def test_every_refusal_is_recorded_with_its_code(app: App) -> None:
    run(app, "note_write", auth=READER)
    run(app, "note_rule")
    run(app, "note_write", read_only=True)
    assert [(r["outcome"], r["code"]) for r in records(app)] == [
        ("refused", "READ_ONLY"),
        ("refused", "MUTATION_DISABLED"),
        ("refused", "SCOPE_REQUIRED"),
    ]
    assert records(app, code="SCOPE_REQUIRED")[0]["key_id"] == "k1"


def test_a_failed_and_a_rejected_change_are_recorded_as_such(app: App) -> None:
    run(app, "note_full")
    run(app, "note_reject")
    assert [(r["tool"], r["outcome"], r["code"]) for r in records(app)] == [
        ("note_reject", "rejected", "REJECTED"),
        ("note_full", "failed", "SHELF_FULL"),
    ]


def test_a_read_through_a_dispatcher_is_recorded_as_a_read(app: App) -> None:
    run(app, "note_dispatch", {"write": False})
    assert records(app) == []
    run(app, "note_dispatch", {"write": True})
    assert [r["tool"] for r in records(app)] == ["note_dispatch"]


def test_malformed_arguments_are_counted_not_audited(app: App) -> None:
    run(app, "note_write", {"nonsense": 1})
    assert records(app) == []
    assert app.services.metrics.totals().errors == 1


def test_changes_are_refused_while_the_audit_cannot_be_written_and_reads_continue(app: App) -> None:
    app.settings.audit_directory.write_text("in the way")
    outcome = run(app, "note_write")
    assert outcome.error is not None
    assert outcome.error.code.name == "AUDIT_UNAVAILABLE"
    assert (
        "changes are refused" in outcome.error.message
    )  # nothing ran, and the answer does not claim it did
    assert "applied" not in outcome.error.details
    assert run(app, "note_read").error is None
    refused = run(app, "note_write", auth=READER)
    assert refused.error is not None
    assert refused.error.code.name == "SCOPE_REQUIRED"
    app.settings.audit_directory.unlink()
    assert run(app, "note_write").error is None


def test_a_change_that_could_not_be_recorded_is_reported_as_applied(tmp_path: Path) -> None:
    made: list[App] = []

    def break_the_audit(context: Context, arguments: Note) -> dict[str, Any]:
        assert made[0].services.audit is not None
        made[0].services.audit.close()
        return {"ok": True}

    only = tool("note_break", break_the_audit, read_only=False, scope=Scope.WRITE)
    toolset = Toolset("notes", "Notes", frozenset({only.name}), frozenset(), lambda: (only,))
    with build(Settings(data=tmp_path), extra_toolsets=[toolset], environ={}) as app:
        made.append(app)
        error = run(app, "note_break").error
    assert error is not None
    assert (error.code.name, error.details) == ("AUDIT_UNAVAILABLE", {"applied": True})


def test_passed_through_bearers_may_not_change_the_catalogue(app: App) -> None:
    app.services.mutation.on = True
    stranger = AuthContext(
        Tenant("bearer-x"), frozenset({Scope.READ, Scope.WRITE}), "x", configured=False
    )
    outcome = run(app, "note_rule", auth=stranger)
    assert outcome.error is not None
    assert outcome.error.code.name == "SCOPE_REQUIRED"
    assert run(app, "note_write", auth=stranger).error is None
    assert run(app, "note_rule").error is None


def test_a_missing_scope_is_explained_in_a_sentence(app: App) -> None:
    refused = run(app, "audit_verify", auth=READER).error
    assert refused is not None
    assert refused.message == "This key may not administer this server."


def test_the_mutation_switch_takes_effect_at_the_next_call(app: App) -> None:
    for on in (False, True, False):
        app.services.mutation.on = on
        assert (run(app, "note_rule").error is None) is on


def test_metrics_count_every_call_under_its_contract_name(app: App) -> None:
    run(app, "note_read")
    run(app, "note/read", bare=True)
    run(app, "note_full", auth=READER)
    run(app, "no_such_tool")
    counts = {
        figures.tool: (figures.count, figures.errors) for figures in app.services.metrics.figures()
    }
    assert counts == {"note/read": (2, 0), "note_full": (1, 1), "(unknown)": (1, 1)}


def test_audit_can_be_switched_off(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, audit=AuditSettings(enabled=False))
    with build(settings, extra_toolsets=[NOTES], environ={}) as app:
        assert run(app, "note_write").error is None
    assert not settings.audit_directory.exists()


@pytest.mark.parametrize(
    ("mutations_only", "logged"), [(False, ["note_read", "note_write"]), (True, ["note_write"])]
)
def test_the_call_log_contains_all_calls_or_only_changes(
    mutations_only: bool, logged: list[str], tmp_path: Path
) -> None:
    log = LogSettings(file=str(tmp_path / "log.jsonl"), mutations_only=mutations_only)
    with build(Settings(data=tmp_path, log=log), extra_toolsets=[NOTES], environ={}) as app:
        run(app, "note_read")
        run(app, "note_write", {"content": "the secret plan"})
    configure_logging(LogSettings())
    text = (tmp_path / "log.jsonl").read_text()
    assert [json.loads(line)["tool"] for line in text.splitlines()] == logged
    assert "secret plan" not in text


def test_a_slow_call_is_logged_with_its_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with build(
        Settings(data=tmp_path, log=LogSettings(slow_call_ms=10)),
        extra_toolsets=[NOTES],
        environ={},
    ) as app:
        outcome = run(app, "note_slow")
        run(app, "note_read")
    said = capsys.readouterr().err
    assert outcome.trace_id in said
    assert "note_slow" in said
    assert "note_read" not in said
    assert logging.getLogger("commonplace").handlers


def test_long_arguments_are_trimmed_to_the_preview(tmp_path: Path) -> None:
    with build(
        Settings(data=tmp_path, log=LogSettings(preview_bytes=10)),
        extra_toolsets=[NOTES],
        environ={},
    ) as app:
        run(app, "note_write", {"path": "/" + "x" * 50})
        (record,) = records(app)
    assert record["arguments"]["path"] == {
        "preview": "/" + "x" * 9,
        "truncated": True,
        "length": 51,
    }

"""One run of the command line: its configuration, and the product built when first needed."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from commonplace.cli.terminal import write_error
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import JsonObject

if TYPE_CHECKING:
    from commonplace.bootstrap.app import App
    from commonplace.dispatch.call import Outcome
    from commonplace.kernel.config.loading import Config
    from commonplace.kernel.settings import Settings

T = TypeVar("T")
CHANGE_SECONDS = 86_400.0  # a person at a terminal decides how long is too long


@dataclass(slots=True)
class CommandSession:
    """The configuration, the data folder and the application of one command."""

    config_file: Path | None = None
    data: Path | None = None
    _config: Config | None = None
    _app: App | None = None
    _closing: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def config(self) -> Config:
        if self._config is None:
            from commonplace.kernel.config.loading import load

            self._config = load(file=self.config_file, data=self.data)
        return self._config

    def app(self) -> App:
        """Return the application of the local user, who may change the instruction catalogue."""
        if self._app is None:
            from commonplace.bootstrap.app import build

            settings = _for_terminal(self.config().settings)
            if self.beside_server():
                settings = _without_indexing(settings)
            self._app = self._closing.enter_context(build(settings, local_user_writes=True))
        return self._app

    def beside_server(self) -> bool:
        """Tell whether a server uses the same data folder now."""
        from commonplace.storage.locks.data_folder import is_data_folder_in_use

        return is_data_folder_in_use(self.config().settings.data)

    def outcome(self, tool: str, arguments: Mapping[str, Any]) -> Outcome:
        """Run a tool as the local user, through the same pipeline as any client."""
        from commonplace.dispatch.call import Call
        from commonplace.kernel.auth import local_user

        return asyncio.run(self.app().pipeline.run(Call(tool, arguments, local_user())))

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Run a tool and return its output as JSON values, or raise its error."""
        from commonplace.dispatch.call import to_json

        outcome = self.outcome(tool, arguments)
        if outcome.error is not None:
            raise outcome.error
        for warning in outcome.warnings:
            write_error(f"warning: {warning}")
        assert outcome.output is not None
        return to_json(outcome.output)

    def change(
        self,
        toolset: str,
        name: str,
        arguments: Mapping[str, Any],
        work: Callable[[], Awaitable[T]],
    ) -> T:
        """Run a change that has no tool, with the permissions and the audit record of one."""
        from pydantic import ConfigDict

        from commonplace.dispatch.call import Call
        from commonplace.dispatch.tool import Arguments, Context, Tool
        from commonplace.kernel.auth import Scope, local_user

        class Given(Arguments):
            model_config = ConfigDict(extra="allow")

        results: list[T] = []

        async def handler(context: Context, given: Given) -> JsonObject:
            results.append(await work())
            return {}

        tool = Tool(
            name,
            toolset,
            name,
            "A command without a tool.",
            Given,
            dict,
            handler,
            read_only=False,
            scope=Scope.WRITE,
        )
        call = Call(
            name, arguments, local_user(), deadline=time.monotonic() + CHANGE_SECONDS, own=tool
        )
        outcome = asyncio.run(self.app().pipeline.run(call))
        if outcome.error is not None:
            raise outcome.error
        return results[0]

    def record_change(self, name: str, arguments: Mapping[str, Any], work: Callable[[], T]) -> T:
        """Run a change of keys or tenants, with an audit record.

        No switch forbids it, but it fails if the audit trail cannot be written.
        """
        from commonplace.kernel.auth import local_user
        from commonplace.telemetry.recent import FinishedCall

        audit = self.app().services.audit
        if audit is None:
            return work()
        # Created here, so that an error names the data folder and not the audit trail.
        self.config().settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        audit.ready()
        user, began, code = local_user(), time.time(), None
        try:
            return work()
        except CommonplaceError as failed:
            code = failed.code.name
            raise
        finally:
            outcome, took = "failed" if code else "ok", time.time() - began
            trace = secrets.token_hex(8)
            audit.append(
                FinishedCall(
                    began,
                    name,
                    name,
                    user.tenant,
                    user.label,
                    None,
                    outcome,
                    code,
                    took,
                    trace,
                    arguments,
                ).as_record()
            )

    def close(self) -> None:
        if self._app is not None:
            self._ship_audit(self._app)
        self._closing.close()
        self._app = None

    def _ship_audit(self, app: App) -> None:
        """Bring the records of this command to the database, where no server would do it."""
        from commonplace.bootstrap.team import on_postgres

        audit = app.services.audit
        if audit is not None and audit.has_written and on_postgres(app.settings):
            with contextlib.suppress(CommonplaceError):  # they stay in the folder until later
                _ = app.services.audit_shipper  # closing it ships


def _for_terminal(settings: Settings) -> Settings:
    """Adapt the settings to a person: whole documents, no watcher, no log of slow calls."""
    openapi = settings.mcp.openapi.replace(max_answer_bytes=settings.mcp.openapi.max_document_bytes)
    # A command ends too soon to need the watcher.
    instructions = settings.mcp.instructions.replace(watch=False)
    log = settings.log if settings.log.verbose else settings.log.replace(slow_call_ms=0)
    return settings.replace(
        mcp=settings.mcp.replace(openapi=openapi, instructions=instructions), log=log
    )


def _without_indexing(settings: Settings) -> Settings:
    """Leave index jobs on PostgreSQL to the servers; on SQLite one process leads anyway."""
    from commonplace.bootstrap.team import on_postgres

    if not on_postgres(settings):
        return settings
    files = settings.mcp.files
    return settings.replace(
        mcp=settings.mcp.replace(files=files.replace(index=files.index.replace(workers=0)))
    )


_current = CommandSession()


def begin(config_file: Path | None, data: Path | None) -> CommandSession:
    global _current
    _current = CommandSession(config_file, data)
    return _current


def session() -> CommandSession:
    """Return the current run."""
    return _current


def fail(error: CommonplaceError, *, of_tool: bool = False) -> int:
    """Print an error and return its exit code.

    Hints name commands instead of tools, except after `commonplace call`.
    """
    from commonplace.cli.serve import report
    from commonplace.cli.wording import in_commands

    if error.hint and not of_tool:
        error.hint = in_commands(error.hint)
    return report(error)

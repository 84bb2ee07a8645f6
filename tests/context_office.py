"""A whole product on SQLite and on PostgreSQL, by words alone, for the contract of context."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace.bootstrap.app import App, build
from commonplace.dispatch.call import Call, to_json
from commonplace.kernel.auth import ALL_SCOPES, AuthContext, Tenant
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import Settings, StorageSettings


def caller(tenant: str) -> AuthContext:
    return AuthContext(Tenant(tenant), ALL_SCOPES, tenant)


class Office:
    """Calls tools of one product as different tenants."""

    def __init__(self, app: App) -> None:
        self.app = app

    def call(self, tool: str, tenant: str = "anna", **arguments: Any) -> Any:
        outcome = asyncio.run(self.app.pipeline.run(Call(tool, arguments, caller(tenant))))
        if outcome.error is not None:
            raise outcome.error
        return to_json(outcome.output)

    def fail(self, tool: str, tenant: str = "anna", **arguments: Any) -> CommonplaceError:
        with pytest.raises(CommonplaceError) as failed:
            self.call(tool, tenant, **arguments)
        return failed.value

    def context(self, task: str, tenant: str = "anna", **arguments: Any) -> Any:
        return self.call("context", tenant, task=task, **arguments)

    def add_rule(self, id_: str, title: str, body: str, **fields: Any) -> None:
        entry = {
            "id": id_,
            "title": title,
            "body": body,
            "priority": 50,
            "audience": "all",
            "requirement": "recommended",
            "categories": ["test"],
            "status": "approved",
            **fields,
        }
        self.call("instructions_add", entry=entry)

    def add_lesson(self, title: str, content: str, tenant: str = "anna", **fields: Any) -> str:
        added = self.call("rekall_add", tenant, type="bug", title=title, content=content, **fields)
        return f"memory:{added['id']}"

    def write(self, path: str, content: str, tenant: str = "anna", project: str = "shop") -> None:
        self.call(
            "file_write", tenant, project=project, path=path, content=content, mode="TRUNCATE"
        )
        found = asyncio.run(self.app.services.files.wait_until_indexed(caller(tenant), 30))
        assert found, "the index did not catch up"


def settings_on(folder: Path, url: str | None) -> Settings:
    settings = Settings(data=folder)
    return settings if url is None else settings.replace(storage=StorageSettings(url=url))


@pytest.fixture(params=["sqlite", "postgresql"])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    with build(settings_on(tmp_path, url), local_user_writes=True) as app:
        yield Office(app)

"""A catalogue behind the real pipeline, without a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from commonplace.dispatch.call import Call, Outcome, to_json
from commonplace.dispatch.pipeline import Pipeline
from commonplace.dispatch.registry import Registry
from commonplace.instructions.assembly import build_service
from commonplace.instructions.toolset import toolset
from commonplace.kernel.auth import AuthContext, local_user
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import InstructionsSettings


class Desk:
    """Calls as a client makes them: by bare method, dispatch action or tool name."""

    def __init__(self, data: Path, **settings: Any) -> None:
        self.data = data
        self.folder = data / "instructions"
        self.mutation = True
        self.service = build_service(
            self.folder,
            data,
            InstructionsSettings(watch=False, **settings),
            mutation_enabled=lambda: self.mutation,
        )
        self.registry = Registry([toolset(lambda: self.service)])
        self.pipeline = Pipeline(self.registry, mutation_enabled=lambda: self.mutation)

    def outcome(
        self, name: str, arguments: Mapping[str, Any], auth: AuthContext | None = None
    ) -> Outcome:
        return asyncio.run(
            self.pipeline.run(Call(name, arguments, auth or local_user(), bare="/" in name))
        )

    def call(self, name: str, /, **arguments: Any) -> Any:
        outcome = self.outcome(name, arguments)
        if outcome.error is not None:
            raise outcome.error
        assert outcome.output is not None
        return orjson.loads(orjson.dumps(to_json(outcome.output)))

    def do(self, action: str, /, **arguments: Any) -> Any:
        return self.call("instructions/dispatch", action=action, **arguments)

    def error(self, name: str, /, **arguments: Any) -> CommonplaceError:
        outcome = self.outcome(name, arguments)
        assert outcome.error is not None, to_json(outcome.output) if outcome.output else None
        return outcome.error

    def add(self, id_: str, body: str = "Do the thing.", **fields: Any) -> Any:
        answer = self.do("add", entry={"id": id_, "body": body, **fields}, lax=True)
        assert answer["created"], answer
        return answer

    def file(self, name: str, content: Any) -> Path:
        """Write a file by hand."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / name
        path.write_text(
            content if isinstance(content, str) else json.dumps(content), encoding="utf-8"
        )
        return path

    def stored(self, id_: str) -> Any:
        return json.loads((self.folder / f"{id_}.json").read_text(encoding="utf-8"))

    def close(self) -> None:
        self.service.close()


@pytest.fixture
def desks(tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    """Make desks with settings; several on one folder stand for several processes."""
    made: list[Desk] = []

    def make(**settings: Any) -> Desk:
        made.append(Desk(tmp_path, **settings))
        return made[-1]

    yield make
    for desk in made:
        desk.close()


@pytest.fixture
def desk(desks: Callable[..., Desk]) -> Desk:
    return desks()

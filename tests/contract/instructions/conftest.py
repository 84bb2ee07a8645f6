"""A catalogue behind the real pipeline, without a server."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import orjson
import pytest

from commonplace.dispatch.call import Call, Outcome, to_json
from commonplace.dispatch.pipeline import Pipeline
from commonplace.dispatch.registry import Registry
from commonplace.instructions.assembly import build_service, build_shared_service
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.toolset import toolset
from commonplace.kernel.auth import AuthContext, local_user
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import GovernanceSettings, InstructionsSettings
from commonplace.search.semantic.local import Semantics

OpenSemantics = Callable[[], Semantics | None]
Build = Callable[
    [InstructionsSettings, GovernanceSettings, Callable[[], bool], OpenSemantics],
    InstructionsService,
]


class StoredFiles(Protocol):
    """What is stored beside the calls: by an editor in a folder, by SQL in a database."""

    def put(self, name: str, content: bytes) -> None: ...

    def get(self, name: str) -> bytes | None: ...

    def names(self) -> list[str]: ...

    def delete(self, name: str) -> None: ...

    def set_time(self, name: str, seconds: int) -> None: ...

    def put_usage(self, lines: Mapping[str, Any]) -> None: ...

    def usage(self) -> dict[str, Any]: ...


class FolderFiles:
    """Files of an instruction folder."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.folder = data / "instructions"

    def put(self, name: str, content: bytes) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(content)

    def get(self, name: str) -> bytes | None:
        path = self.folder / name
        return path.read_bytes() if path.exists() else None

    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("*.json"))

    def delete(self, name: str) -> None:
        (self.folder / name).unlink()

    def set_time(self, name: str, seconds: int) -> None:
        os.utime(self.folder / name, (seconds, seconds))

    def put_usage(self, lines: Mapping[str, Any]) -> None:
        (self.data / "usage-snapshot.json").write_bytes(orjson.dumps(lines))

    def usage(self) -> dict[str, Any]:
        return dict(orjson.loads((self.data / "usage-snapshot.json").read_bytes()))


class DatabaseFiles:
    """Rows of the shared catalogue, changed as a migration or another server would."""

    DOCUMENTS = ("gates.json", "owners.json", "PROMPT-CRITERIA.json")

    def __init__(self, url: str) -> None:
        self._url = url

    def _execute(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        import psycopg

        with psycopg.connect(self._url) as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def _announce(self, kind: str, key: str) -> None:
        self._execute(
            "INSERT INTO instruction_changes SELECT coalesce(max(sequence), 0) + 1, %s, %s, '', "
            "'by hand', 'psql', 'local', NULL, NULL, NULL, 0, '' FROM instruction_changes",
            kind,
            key,
        )

    def put(self, name: str, content: bytes) -> None:
        is_document = name in self.DOCUMENTS
        table, key = ("documents", "name") if is_document else ("entries", "id")
        stored = name if is_document else name.removesuffix(".json")
        self._execute(
            f"INSERT INTO instruction_{table} SELECT %s, %s, %s, coalesce(max(sequence), 0) + 1 "
            f"FROM instruction_changes ON CONFLICT ({key}) DO UPDATE SET content = "
            f"excluded.content, modified_ns = excluded.modified_ns, sequence = excluded.sequence",
            stored,
            content,
            time.time_ns(),
        )
        self._announce("document" if is_document else "entry", stored)

    def get(self, name: str) -> bytes | None:
        id_ = name.removesuffix(".json")
        rows = self._execute("SELECT content FROM instruction_entries WHERE id = %s", id_)
        return bytes(rows[0][0]) if rows else None

    def names(self) -> list[str]:
        return sorted(
            f"{row[0]}.json" for row in self._execute("SELECT id FROM instruction_entries")
        )

    def delete(self, name: str) -> None:
        id_ = name.removesuffix(".json")
        self._execute("DELETE FROM instruction_entries WHERE id = %s", id_)
        self._announce("entry", id_)

    def set_time(self, name: str, seconds: int) -> None:
        self._execute(
            "UPDATE instruction_entries SET modified_ns = %s WHERE id = %s",
            seconds * 10**9,
            name.removesuffix(".json"),
        )

    def put_usage(self, lines: Mapping[str, Any]) -> None:
        for id_, line in lines.items():
            self._execute(
                "INSERT INTO instruction_usage SELECT %s, %s, coalesce(max(change), 0) + 1 FROM "
                "instruction_usage ON CONFLICT (id) DO UPDATE SET line = excluded.line, change = "
                "excluded.change",
                id_,
                orjson.dumps(line),
            )

    def usage(self) -> dict[str, Any]:
        rows = self._execute("SELECT id, line FROM instruction_usage")
        return {id_: orjson.loads(line) for id_, line in rows}


class Desk:
    """Calls as a client makes them: by bare method, dispatch action or tool name."""

    def __init__(
        self,
        data: Path,
        files: StoredFiles,
        build: Build,
        governance: Mapping[str, Any] | None = None,
        semantics: Semantics | None = None,
        **settings: Any,
    ) -> None:
        self.data = data
        self.folder = data / "instructions"
        self.files = files
        self.mutation = True
        self.service = build(
            InstructionsSettings(watch=False, **settings),
            GovernanceSettings(**(governance or {})),
            lambda: self.mutation,
            lambda: semantics,
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

    def file(self, name: str, content: Any) -> None:
        """Write a file by hand."""
        text = content if isinstance(content, str) else json.dumps(content)
        self.files.put(name, text.encode())

    def stored(self, id_: str) -> Any:
        content = self.files.get(f"{id_}.json")
        assert content is not None
        return json.loads(content)

    def close(self) -> None:
        self.service.close()


@dataclass(frozen=True)
class Place:
    """Where catalogues are stored, and how a service on them is built."""

    data: Path
    files: StoredFiles
    build: Build


@pytest.fixture
def folder_place(tmp_path: Path) -> Place:
    def build(
        settings: InstructionsSettings,
        governance: GovernanceSettings,
        may_write: Callable[[], bool],
        semantics: OpenSemantics,
    ) -> InstructionsService:
        return build_service(
            tmp_path / "instructions",
            tmp_path,
            settings,
            governance=governance,
            mutation_enabled=may_write,
            semantics=semantics,
        )

    return Place(tmp_path, FolderFiles(tmp_path), build)


@pytest.fixture
def database_place(tmp_path: Path, postgres_url: str) -> Iterator[Place]:
    from commonplace.storage.postgres.database import open_database

    with open_database(postgres_url, pool_size=4) as database:

        def build(
            settings: InstructionsSettings,
            governance: GovernanceSettings,
            may_write: Callable[[], bool],
            semantics: OpenSemantics,
        ) -> InstructionsService:
            return build_shared_service(
                database,
                settings,
                governance=governance,
                mutation_enabled=may_write,
                semantics=semantics,
            )

        yield Place(tmp_path, DatabaseFiles(postgres_url), build)


@pytest.fixture(params=["folder", "postgresql"])
def place(request: pytest.FixtureRequest) -> Place:
    """Both adapters of the catalogue's store obey the contracts."""
    name = "folder_place" if request.param == "folder" else "database_place"
    found: Place = request.getfixturevalue(name)
    return found


def _make_desks(place: Place) -> Iterator[Callable[..., Desk]]:
    made: list[Desk] = []

    def make(**settings: Any) -> Desk:
        made.append(Desk(place.data, place.files, place.build, **settings))
        return made[-1]

    yield make
    for desk in made:
        desk.close()


@pytest.fixture
def desks(place: Place) -> Iterator[Callable[..., Desk]]:
    """Make desks with settings; several in one place act as several processes."""
    yield from _make_desks(place)


@pytest.fixture
def desk(desks: Callable[..., Desk]) -> Desk:
    return desks()


@pytest.fixture
def folder_desks(folder_place: Place) -> Iterator[Callable[..., Desk]]:
    """Make desks on a folder, for what only a folder has: editors, markers and subfolders."""
    yield from _make_desks(folder_place)


@pytest.fixture
def folder_desk(folder_desks: Callable[..., Desk]) -> Desk:
    return folder_desks()

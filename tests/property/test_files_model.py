"""Files against a plain dictionary: several tenants and projects, random operations, no leak and
no divergence.

The same walk is taken on SQLite and PostgreSQL side by side, and every outcome compared.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from commonplace.files.assembly import Files, build_files
from commonplace.files.model import WriteMode
from commonplace.files.postgres_assembly import build_postgres_files
from commonplace.kernel.auth import ALL_SCOPES, AuthContext, Tenant
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import FilesSettings
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.sqlite.database import Database
from servers import empty_tables, migrated_database

SOAK = os.environ.get("COMMONPLACE_SOAK") == "1"
MAX_FILE, MAX_PROJECT = 60, 150
NAMES = st.sampled_from(["a", "b", "a-b", "a.b", "a_b", "A0"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))
OWNERS = st.tuples(st.sampled_from(["t1", "t2"]), st.sampled_from(["p", "q_", "p%"]))
WORDS = st.lists(st.sampled_from(["walrus", "été", "日本", "x", "seven"]), max_size=5).map(" ".join)

Owner = tuple[str, str]


class Model:
    """A naive implementation of the rules of docs/reference/contracts/files.md."""

    def __init__(self) -> None:
        self.files: dict[Owner, dict[str, bytes]] = {}
        self.deleted: dict[Owner, dict[str, bytes]] = {}

    def of(self, owner: Owner) -> dict[str, bytes]:
        return self.files.setdefault(owner, {})

    def below(self, owner: Owner, path: str) -> list[str]:
        return sorted(name for name in self.of(owner) if name.startswith(path + "/"))

    def write(
        self, owner: Owner, path: str, content: bytes, offset: int, mode: WriteMode
    ) -> str | None:
        files = self.of(owner)
        if self.below(owner, path):
            return "IS_DIRECTORY"
        if any(path.startswith(name + "/") for name in files):
            return "NOT_DIRECTORY"
        old = files.get(path, b"")
        if (
            offset < 0
            or (mode is WriteMode.TRUNCATE and offset)
            or (mode is WriteMode.OVERWRITE and offset > len(old))
        ):
            return "INVALID_OFFSET"
        new = {
            WriteMode.APPEND: old + content,
            WriteMode.TRUNCATE: content,
            WriteMode.OVERWRITE: old[:offset] + content + old[offset + len(content) :],
        }[mode]
        try:
            new.decode()
        except UnicodeDecodeError:
            return "INVALID_OFFSET"
        if len(new) > MAX_FILE:
            return "PAYLOAD_TOO_LARGE"
        if (
            len(new) > len(old)
            and sum(map(len, files.values())) - len(old) + len(new) > MAX_PROJECT
        ):
            return "QUOTA_EXCEEDED"
        files[path] = new
        return None

    def delete(self, owner: Owner, path: str, recursive: bool) -> str | None:
        files = self.of(owner)
        gone = [path] if path in files else self.below(owner, path)
        if not gone:
            return "NOT_FOUND"
        if path not in files and not recursive:
            return "NOT_EMPTY"
        for name in gone:
            self.deleted.setdefault(owner, {})[name] = files.pop(name)
        return None

    def rename(self, owner: Owner, path: str, target: str) -> str | None:
        files = self.of(owner)
        moved = [path] if path in files else self.below(owner, path)
        if not moved:
            return "NOT_FOUND"
        if path not in files and target.startswith(path + "/"):
            return "INVALID_PATH"
        if target in files or self.below(owner, target):
            return "ALREADY_EXISTS"
        if any(target.startswith(name + "/") for name in files):
            return "NOT_DIRECTORY"
        for name in moved:
            files[target + name[len(path) :]] = files.pop(name)
        return None

    def listing(self, owner: Owner, path: str, depth: int) -> list[str]:
        names: set[str] = set()
        for name in self.below(owner, path):
            parts = name[len(path) + 1 :].split("/")
            names |= {f"{path}/{'/'.join(parts[:n])}" for n in range(1, min(depth, len(parts)) + 1)}
        return sorted(names)


class FilesMachine(RuleBasedStateMachine):
    used = Bundle("used")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        data = Path(self.folder.name)
        self.database = Database(data / "files.db", durable=False)
        limits = FilesSettings(max_file_bytes=MAX_FILE, max_project_bytes=MAX_PROJECT)
        self.files = build_files(self.database, data, limits)
        self.loop = asyncio.new_event_loop()
        self.model = Model()

    def teardown(self) -> None:
        self.loop.close()
        self.database.close()
        self.folder.cleanup()

    def run(
        self, owner: Owner, method: str, *arguments: Any, **options: Any
    ) -> tuple[Any, str | None]:
        return self.ask(self.files, owner, method, *arguments, **options)

    def ask(
        self, files: Files, owner: Owner, method: str, *arguments: Any, **options: Any
    ) -> tuple[Any, str | None]:
        auth = AuthContext(Tenant(owner[0]), ALL_SCOPES, "test")
        try:
            return self.loop.run_until_complete(
                getattr(files.service, method)(auth, owner[1], *arguments, **options)
            ), None
        except CommonplaceError as error:
            return None, error.code.name

    def settle(self) -> None:
        assert self.loop.run_until_complete(self.files.indexer.drain())

    @rule(target=used, path=PATHS)
    def remember(self, path: str) -> str:
        return path

    @rule(
        owner=OWNERS,
        path=st.one_of(used, PATHS),
        content=WORDS,
        offset=st.integers(-1, 12),
        mode=st.sampled_from(list(WriteMode)),
    )
    def write(self, owner: Owner, path: str, content: str, offset: int, mode: WriteMode) -> None:
        _, code = self.run(owner, "write", path, content, offset, mode)
        assert code == self.model.write(owner, path, content.encode(), offset, mode)

    @rule(owner=OWNERS, path=st.one_of(used, PATHS), recursive=st.booleans())
    def delete(self, owner: Owner, path: str, recursive: bool) -> None:
        _, code = self.run(owner, "delete", path, recursive)
        assert code == self.model.delete(owner, path, recursive)

    @rule(owner=OWNERS, path=st.one_of(used, PATHS), new_path=PATHS)
    def rename(self, owner: Owner, path: str, new_path: str) -> None:
        _, code = self.run(owner, "rename", path, new_path)
        assert code == self.model.rename(owner, path, new_path)

    @rule(
        owner=OWNERS,
        path=st.one_of(used, PATHS),
        offset=st.integers(0, 20),
        length=st.integers(-1, 20),
    )
    def read(self, owner: Owner, path: str, offset: int, length: int) -> None:
        answer, code = self.run(owner, "read", path, offset, length)
        content = self.model.of(owner).get(path)
        if content is None:
            assert code == ("IS_DIRECTORY" if self.model.below(owner, path) else "NOT_FOUND")
        else:
            wanted = content[offset:] if length < 0 else content[offset : offset + length]
            assert answer.content == wanted.decode("utf-8", "ignore")
            assert content[answer.start : answer.end] == answer.content.encode()

    @rule(
        owner=OWNERS,
        path=st.one_of(st.just(""), used, PATHS),
        depth=st.integers(1, 4),
        limit=st.integers(1, 12),
    )
    def listing(self, owner: Owner, path: str, depth: int, limit: int) -> None:
        answer, code = self.run(owner, "list_directory", path, depth, limit)
        if path in self.model.of(owner):
            assert [entry.path for entry in answer.entries] == [path]
        elif path and not self.model.below(owner, path):
            assert code == "NOT_FOUND"
        else:
            expected = self.model.listing(owner, path, depth)
            assert [entry.path for entry in answer.entries] == expected[:limit]
            assert answer.has_more == (len(expected) > limit)

    @rule(
        owner=OWNERS,
        word=st.sampled_from(["walrus", "seven"]),
        prefix=st.sampled_from(["", "/a", "/a_", "/a%", "/b/a"]),
    )
    def search_finds_exactly_the_live_files_that_hold_the_word(
        self, owner: Owner, word: str, prefix: str
    ) -> None:
        self.settle()
        answer, _ = self.run(owner, "search", word, prefix, 20)
        expected = {
            name
            for name, content in self.model.of(owner).items()
            if word.encode() in content and name.startswith(prefix)
        }
        assert {chunk.chunk.path for chunk in answer.chunks} == expected

    @rule(owner=OWNERS, word=st.sampled_from(["walrus", "seven"]))
    def a_stale_index_shows_nothing_that_is_not_there(self, owner: Owner, word: str) -> None:
        answer, _ = self.run(owner, "search", word, "", 20)
        for chunk in answer.chunks:
            found, content = chunk.chunk, self.model.of(owner)[chunk.chunk.path]
            assert content[found.start : found.end].decode() == found.text

    @invariant()
    def counters_are_exact(self) -> None:
        for owner, files in self.model.files.items():
            usage, _ = self.run(owner, "usage")
            assert (usage.files, usage.size_bytes) == (len(files), sum(map(len, files.values())))


class BothStoresMachine(FilesMachine):
    """Every operation on both databases: same answers, same refusals, same scores."""

    def __init__(self) -> None:
        super().__init__()
        url = migrated_database()
        empty_tables(url)
        self.other_database = PostgresDatabase(url, pool_size=2)
        limits = FilesSettings(max_file_bytes=MAX_FILE, max_project_bytes=MAX_PROJECT)
        self.other = build_postgres_files(self.other_database, limits)

    def teardown(self) -> None:
        self.other_database.close()
        super().teardown()

    def run(
        self, owner: Owner, method: str, *arguments: Any, **options: Any
    ) -> tuple[Any, str | None]:
        here = super().run(owner, method, *arguments, **options)
        there = self.ask(self.other, owner, method, *arguments, **options)
        assert comparable(here) == comparable(there)
        return here

    def settle(self) -> None:
        super().settle()
        assert self.loop.run_until_complete(self.other.indexer.drain())

    @rule(owner=OWNERS, path=st.one_of(FilesMachine.used, PATHS))
    def restore(self, owner: Owner, path: str) -> None:
        """Compare restores between the stores, then undo them: the model has no history."""
        restored, _ = self.run(owner, "restore", path)
        for name in restored or ():
            assert self.run(owner, "delete", name) == (1, None)


def comparable(value: Any) -> Any:
    """Return an answer without times and row ids, and with rounded scores."""
    if dataclasses.is_dataclass(value):
        names = [
            field.name
            for field in dataclasses.fields(value)
            if field.name not in ("id", "key") and not field.name.endswith("_at")
        ]
        return {name: comparable(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {name: comparable(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [comparable(item) for item in value]
    return round(value, 5) if isinstance(value, float) else value


TestBothStoresAgree = BothStoresMachine.TestCase
TestBothStoresAgree.settings = settings(
    max_examples=200 if SOAK else 6, stateful_step_count=40, suppress_health_check=list(HealthCheck)
)
TestFilesAgainstADictionary = FilesMachine.TestCase
TestFilesAgainstADictionary.settings = settings(
    max_examples=400 if SOAK else 30,
    stateful_step_count=50,
    suppress_health_check=list(HealthCheck),
)

"""Bringing the project files of a data folder into the database of a team."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import psycopg
import pytest

from commonplace.bootstrap.moving.files import DATABASE, FileMover
from commonplace.bootstrap.moving.left_behind import describe_left_behind
from commonplace.files.assembly import build_files
from commonplace.files.engine.change import SizeLimits
from commonplace.files.engine.sync import SyncAction, SyncStep, SyncWrite
from commonplace.files.model import FilePath, Project, Provenance, WriteMode
from commonplace.files.postgres_assembly import build_postgres_files
from commonplace.files.service import FilesService
from commonplace.kernel.auth import ALL_SCOPES, AuthContext, Scope, Tenant, tenant_hash
from commonplace.kernel.settings import FilesSettings, Settings
from commonplace.storage.credentials.keys import KeyStore
from commonplace.storage.postgres.database import PostgresDatabase, open_database
from commonplace.storage.sqlite.database import Database

Result = TypeVar("Result")
ALICE, BOB = (AuthContext(Tenant(name), ALL_SCOPES, name) for name in ("team-a", "team-b"))
SYNCED = "5" * 64  # identity of a folder that was synchronised
SETTINGS = Settings(data=Path("unused"))
MAY = FilesSettings(max_project_bytes=2_000, max_file_bytes=1_500)


@pytest.fixture
def database(postgres_url: str) -> Iterator[PostgresDatabase]:
    with open_database(postgres_url, pool_size=3) as opened:
        yield opened


@pytest.fixture
def team(database: PostgresDatabase) -> FilesService:
    return build_postgres_files(database).service


def alone(data: Path, use: Callable[[FilesService], Coroutine[Any, Any, Result]]) -> Result:
    """Use the files of a data folder as a server of one machine does."""
    with closing(Database(data / DATABASE)) as opened:
        return asyncio.run(use(build_files(opened, data).service))


async def fill(service: FilesService) -> None:
    await service.write(ALICE, "shop", "/src/a.py", "def walrus(): pass\n")
    await service.write(ALICE, "shop", "/notes/plan.md", "Sell walnuts.")
    provenance = Provenance("/notes/Plan B.md", "folder")
    await service.write(ALICE, "shop", "/notes/Plan_x20B.md", "B", provenance=provenance)
    await service.write(ALICE, "empty", "/none.txt", "")
    await service.write(BOB, "shop", "/src/a.py", "other tenant")
    await service.write(ALICE, "shop", "/old.md", "first")
    await service.delete(ALICE, "shop", "/old.md")
    await service.write(ALICE, "shop", "/old.md", "second")
    await service.delete(ALICE, "shop", "/old.md")
    tenant, shop = ALICE.apikey_hash, Project("shop")
    content = b"synchronised"
    step = SyncStep(SyncAction.PUT, FilePath("/synced.md"), digest=digest_of(content))
    write = SyncWrite(step, content)
    limits = SizeLimits(10_000, 10_000)
    assert await service.store.apply_sync(tenant, shop, SYNCED, [write], limits) == ["done"]


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder that served two tenants for a while."""
    KeyStore(tmp_path / "keys.json").add(Tenant("team-a"), "alice", Scope.WRITE)
    alone(tmp_path, fill)
    return tmp_path


def move(
    data: Path, database: PostgresDatabase, files: FilesSettings | None = None
) -> dict[str, tuple[int, int, int, tuple[str, ...], tuple[str, ...]]]:
    settings = SETTINGS
    settings = settings.replace(mcp=settings.mcp.replace(files=files or FilesSettings()))
    found = {}
    for deleted in (False, True):
        part = FileMover(settings, database, deleted=deleted).move(data, lambda done, total: None)
        found[part.part] = (part.found, part.added, part.present, part.kept, part.refused)
    return found


async def state(service: FilesService, caller: AuthContext, project: str) -> list[Any]:
    """Return everything that a caller can know of a project's files."""
    listing = await service.list_directory(caller, project, "", depth=9)
    texts = [
        (await service.read(caller, project, entry.path)).content
        for entry in listing.entries
        if entry.size
    ]
    deleted = await service.list_deleted(caller, project, 100, 0)
    synced = await service.store.sync_entries(caller.apikey_hash, Project(project), SYNCED)
    usage = await service.usage(caller, project)
    return [listing.entries, texts, deleted.items, synced, usage]


def test_files_of_all_tenants_arrive_as_they_were(
    folder: Path, database: PostgresDatabase, team: FilesService
) -> None:
    assert move(folder, database) == {
        "files": (6, 6, 0, (), ()),
        "deleted files": (2, 2, 0, (), ()),
    }
    for caller, project in ((ALICE, "shop"), (ALICE, "empty"), (BOB, "shop")):
        use = functools.partial(state, caller=caller, project=project)
        assert asyncio.run(use(team)) == alone(folder, use)
    restored = asyncio.run(team.restore(ALICE, "shop", "/old.md"))
    assert restored == ["/old.md"]
    assert asyncio.run(team.read(ALICE, "shop", "/old.md")).content == "second"


def test_moved_files_are_found_by_their_words(folder: Path, database: PostgresDatabase) -> None:
    move(folder, database)
    files = build_postgres_files(database)

    async def find() -> list[str]:
        assert await files.indexer.drain()
        return [
            chunk.path for chunk in (await files.service.search(ALICE, "shop", "walnuts")).chunks
        ]

    assert asyncio.run(find()) == ["/notes/plan.md"]


def test_a_second_run_changes_nothing_whatever_the_team_did_meanwhile(
    folder: Path, database: PostgresDatabase, team: FilesService
) -> None:
    first = FileMover(SETTINGS, database).move(folder, lambda done, total: None)
    move(folder, database)

    async def work() -> None:
        await team.rename(ALICE, "shop", "/src/a.py", "/src/b.py")
        await team.delete(ALICE, "shop", "/notes/Plan_x20B.md")
        await team.write(ALICE, "shop", "/notes/plan.md", " And nuts.")
        await team.restore(ALICE, "shop", "/old.md")
        await team.store.purge(2**62, 100)

    asyncio.run(work())
    before = asyncio.run(state(team, ALICE, "shop"))
    assert move(folder, database) == {
        "files": (6, 0, 6, (), ()),
        "deleted files": (2, 0, 2, (), ()),
    }
    assert asyncio.run(state(team, ALICE, "shop")) == before
    again = FileMover(SETTINGS, database).move(folder, lambda done, total: None)
    assert again.digest == first.digest != ""
    assert FileMover(SETTINGS, database).lacking(folder) == []


def test_files_of_a_tenant_that_was_renamed_do_not_come_back(
    folder: Path, database: PostgresDatabase, team: FilesService
) -> None:
    move(folder, database)
    renamed = AuthContext(Tenant("platform"), ALL_SCOPES, "platform")
    asyncio.run(team.move_tenant(ALICE, renamed))
    assert move(folder, database)["files"] == (6, 0, 6, (), ())
    assert asyncio.run(team.usage(ALICE, "shop")).files == 0
    assert asyncio.run(team.usage(renamed, "shop")).files == 4


def test_a_file_that_differs_stays_on_both_sides_and_is_reported(
    folder: Path, database: PostgresDatabase, team: FilesService
) -> None:
    asyncio.run(team.write(ALICE, "shop", "/notes/plan.md", "The team's plan."))
    asyncio.run(team.write(ALICE, "shop", "/src/a.py/inner.md", "a directory here"))
    found = move(folder, database)["files"]
    assert found[:3] == (6, 4, 0)
    assert found[3] == ("team-a shop/notes/plan.md",)
    (refused,) = found[4]
    assert refused.startswith("team-a shop/src/a.py: ")
    read = asyncio.run(team.read(ALICE, "shop", "/notes/plan.md"))
    assert read.content == "The team's plan."
    assert move(folder, database)["files"] == (6, 0, 4, found[3], found[4])
    names = FileMover(SETTINGS, database).lacking(folder)
    assert names == ["team-a shop/src/a.py"]


def test_the_same_file_on_both_sides_is_no_difference(
    folder: Path, database: PostgresDatabase, team: FilesService
) -> None:
    asyncio.run(team.write(ALICE, "shop", "/notes/plan.md", "Sell walnuts."))
    assert move(folder, database)["files"] == (6, 5, 1, (), ())


def test_what_changed_in_the_folder_after_a_move_follows_unless_the_team_changed_it(
    folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
    database: PostgresDatabase,
    team: FilesService,
) -> None:
    move(folder, database)

    async def change(service: FilesService) -> None:
        for path in ("/notes/plan.md", "/src/a.py"):
            await service.write(ALICE, "shop", path, "Later.", mode=WriteMode.TRUNCATE)

    alone(folder, change)
    asyncio.run(team.write(ALICE, "shop", "/src/a.py", "# team"))
    found = move(folder, database)["files"]
    assert found == (6, 1, 4, ("team-a shop/src/a.py",), ())
    assert asyncio.run(team.read(ALICE, "shop", "/notes/plan.md")).content == "Later."
    # another folder never replaces what this one brought
    other = tmp_path_factory.mktemp("other")
    alone(other, lambda service: service.write(ALICE, "shop", "/notes/plan.md", "Of others."))
    kept = (f"bearer-{tenant_hash(Tenant('team-a'))[:32]} shop/notes/plan.md",)
    assert move(other, database)["files"] == (1, 0, 0, kept, ())


def put(text: str, path: str = "/p.md") -> Callable[[FilesService], Coroutine[Any, Any, object]]:
    return lambda service: service.write(ALICE, "later", path, text, mode=WriteMode.TRUNCATE)


def delete(service: FilesService) -> Coroutine[Any, Any, object]:
    return service.delete(ALICE, "later", "/p.md")


def restore(service: FilesService) -> Coroutine[Any, Any, object]:
    return service.restore(ALICE, "later", "/p.md")


@pytest.mark.parametrize(
    ("changes", "content"),
    [
        ([put("two"), put("one")], "one"),
        ([delete], None),
        ([delete, restore], "one"),
        ([put("two"), delete], None),
        ([delete, put("one")], "one"),
        ([delete, put("two")], "two"),
    ],
    ids=["there and back", "deleted", "restored", "changed, deleted", "same again", "other again"],
)
@pytest.mark.parametrize("often", [False, True], ids=["moved at the end", "moved each time"])
def test_a_file_is_at_the_end_as_the_folder_has_it(
    tmp_path: Path,
    database: PostgresDatabase,
    team: FilesService,
    changes: list[Callable[[FilesService], Coroutine[Any, Any, object]]],
    content: str | None,
    often: bool,
) -> None:
    for number, change in enumerate((put("one"), *changes)):
        alone(tmp_path, change)
        if often or not number:
            move(tmp_path, database)
    mover = FileMover(SETTINGS, database)
    move(tmp_path, database)
    assert mover.lacking(tmp_path) == []
    assert asyncio.run(team.usage(ALICE, "later")).files == int(content is not None)
    if content is not None:
        assert asyncio.run(team.read(ALICE, "later", "/p.md")).content == content


def test_a_deletion_in_the_folder_does_not_delete_what_the_team_wrote_or_restored(
    tmp_path: Path, database: PostgresDatabase, team: FilesService
) -> None:
    asyncio.run(put("one")(team))  # before the folder brought the same
    alone(tmp_path, put("one"))
    alone(tmp_path, put("two", "/q.md"))
    move(tmp_path, database)
    asyncio.run(put("three", "/q.md")(team))
    alone(tmp_path, delete)
    alone(tmp_path, lambda service: service.delete(ALICE, "later", "/q.md"))
    move(tmp_path, database)
    assert asyncio.run(team.usage(ALICE, "later")).files == 2


def test_the_newest_of_two_deleted_versions_is_restored(
    tmp_path: Path, database: PostgresDatabase, team: FilesService
) -> None:
    alone(tmp_path, put("one"))
    move(tmp_path, database)
    alone(tmp_path, put("two"))
    alone(tmp_path, delete)
    move(tmp_path, database)
    asyncio.run(restore(team))
    assert asyncio.run(team.read(ALICE, "later", "/p.md")).content == "two"
    move(tmp_path, database)
    assert asyncio.run(team.read(ALICE, "later", "/p.md")).content == "two"


def test_a_change_after_a_move_is_lacking_until_it_is_moved(
    tmp_path: Path, database: PostgresDatabase, team: FilesService
) -> None:
    mover = FileMover(SETTINGS, database)
    alone(tmp_path, put("one"))
    move(tmp_path, database)
    assert mover.lacking(tmp_path) == []
    alone(tmp_path, put("two"))
    assert len(mover.lacking(tmp_path)) == 1
    asyncio.run(put("of the team")(team))
    assert mover.lacking(tmp_path) == []


def test_the_state_of_a_sync_follows_a_later_sync_of_the_folder(
    tmp_path: Path, database: PostgresDatabase, team: FilesService
) -> None:
    tenant, project = ALICE.apikey_hash, Project("later")

    def sync(content: bytes, expected: str | None = None) -> None:
        step = SyncStep(SyncAction.PUT, FilePath("/s.md"), expected, digest_of(content))
        writes = [SyncWrite(step, content)]
        limits = SizeLimits(10_000, 10_000)
        done = alone(
            tmp_path,
            lambda service: service.store.apply_sync(tenant, project, SYNCED, writes, limits),
        )
        assert done == ["done"]

    sync(b"one")
    move(tmp_path, database)
    sync(b"two", digest_of(b"one"))
    move(tmp_path, database)
    own, _ = asyncio.run(team.store.sync_entries(tenant, project, SYNCED))
    assert own == {"/s.md": digest_of(b"two")}


def test_a_file_that_a_server_changes_meanwhile_is_no_damage(
    tmp_path: Path, database: PostgresDatabase, team: FilesService
) -> None:
    async def write(service: FilesService) -> None:
        for number in range(101):  # the last one is in a group of its own
            await service.write(ALICE, "later", f"/{number:03}.md", "before")

    alone(tmp_path, write)

    def change(done: int, total: int) -> None:
        if done == 100:
            alone_in_a_thread(tmp_path, put("after", "/100.md"))

    part = FileMover(SETTINGS, database).move(tmp_path, change)
    (refused,) = part.refused
    assert refused.endswith("a server changed it while it was read; repeat the command")
    assert move(tmp_path, database)["files"] == (101, 1, 100, (), ())
    assert asyncio.run(team.read(ALICE, "later", "/100.md")).content == "after"


def alone_in_a_thread(
    data: Path, use: Callable[[FilesService], Coroutine[Any, Any, object]]
) -> None:
    thread = threading.Thread(target=alone, args=(data, use))
    thread.start()
    thread.join()


def test_quotas_of_the_team_hold_and_name_the_files_that_do_not_fit(
    tmp_path: Path, database: PostgresDatabase, team: FilesService
) -> None:
    async def write(service: FilesService) -> None:
        await service.write(ALICE, "big", "/a.md", "a" * 1_400)
        await service.write(ALICE, "big", "/b.md", "b" * 1_400)
        await service.write(ALICE, "big", "/c.md", "c" * 1_600)
        await service.write(ALICE, "big", "/d.md", "d" * 100)

    alone(tmp_path, write)
    found, added, present, kept, refused = move(tmp_path, database, MAY)["files"]
    assert (found, added, present, kept) == (4, 2, 0, ())
    assert ["/b.md: The project would hold" in refused[0], "/c.md: The file" in refused[1]] == [
        True,
        True,
    ], refused
    assert asyncio.run(team.usage(ALICE, "big")).size_bytes == 1_500
    # with room for them, the next run brings the rest
    assert move(tmp_path, database)["files"] == (4, 2, 2, (), ())


def test_a_damaged_file_is_refused_and_the_others_are_moved(
    folder: Path, database: PostgresDatabase
) -> None:
    with closing(Database(folder / DATABASE)) as opened:
        opened.write_now(
            lambda connection: connection.execute(
                "UPDATE mcp_files SET content = x'00' WHERE path = '/notes/plan.md'"
            )
        )
    found = move(folder, database)["files"]
    assert found[:4] == (6, 5, 0, ())
    assert "does not match its hash" in found[4][0]


def test_files_deleted_before_the_retention_are_left_out(
    folder: Path, database: PostgresDatabase
) -> None:
    with closing(Database(folder / DATABASE)) as opened:
        opened.write_now(
            lambda connection: connection.execute(
                "UPDATE mcp_files SET deleted_at = 5 WHERE deleted = 1"
            )
        )
    assert move(folder, database)["deleted files"] == (0, 0, 0, (), ())


def test_a_run_that_broke_off_goes_on_where_it_stopped(
    tmp_path: Path, database: PostgresDatabase, postgres_url: str
) -> None:
    async def write(service: FilesService) -> None:
        for number in range(250):
            await service.write(ALICE, "many", f"/{number:03}.md", f"file {number}")

    alone(tmp_path, write)

    class Broken(Exception):
        pass

    def stop(done: int, total: int) -> None:
        assert total == 250
        raise Broken

    with pytest.raises(Broken):
        FileMover(SETTINGS, database).move(tmp_path, stop)
    with psycopg.connect(postgres_url) as connection:
        row = connection.execute("SELECT count(*) FROM mcp_files").fetchone()
    assert row == (100,)
    assert move(tmp_path, database)["files"] == (250, 150, 100, (), ())


def test_what_stays_in_a_folder_is_named_with_its_reason(folder: Path) -> None:
    (folder / "vectors").mkdir()
    for name in ("keys.used.json", "audit.register"):
        (folder / name).write_text("{}")
    (folder / "mine.txt").write_text("x")
    left = describe_left_behind(folder)
    unknown = {name for name, reason in left.items() if "not a part" in reason}
    assert unknown == {"mine.txt"}
    assert set(left) == unknown | {
        "commonplace.db",
        "vectors",
        "keys.used.json",
        "audit.register",
    }
    assert left["vectors"] == "workers make vectors again"

"""Keys of callers: one body over the file of an installation and the table of a team.

`server` is a registry that serves; `command` is another one, as of a command on another machine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from commonplace.kernel.auth import Scope
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.credentials.key_records import KEY_FORM, KeyRegistry, parse_expiry
from commonplace.storage.credentials.keys import KeyStore
from waiting import is_met_within

SEEN_SECONDS = 1.0  # the promise for every change on another server
NOW = datetime(2030, 1, 1, tzinfo=UTC)


class MovingClock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@dataclass(frozen=True, slots=True)
class KeyRegistries:
    """Two registries of one installation, and their clock."""

    server: KeyRegistry
    command: KeyRegistry
    clock: MovingClock


@pytest.fixture(params=["file", "postgres"])
def registries(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KeyRegistries]:
    clock = MovingClock()
    if request.param == "file":
        path = tmp_path / "data" / "keys.json"
        made = KeyRegistries(KeyStore(path, clock), KeyStore(path, clock), clock)
        made.server.start()
        yield made
        made.server.close()
        return
    from commonplace.storage.credentials.postgres_keys import PostgresKeys
    from commonplace.storage.postgres.database import open_database

    url = request.getfixturevalue("postgres_url")
    with open_database(url, pool_size=2) as first, open_database(url, pool_size=2) as second:
        made = KeyRegistries(
            PostgresKeys(first, clock=clock), PostgresKeys(second, clock=clock), clock
        )
        made.server.start()
        yield made
        made.server.close()


def within_a_second(condition: Callable[[], bool]) -> bool:
    return is_met_within(SEEN_SECONDS, condition)


def test_a_key_made_by_a_command_opens_a_running_server(registries: KeyRegistries) -> None:
    assert registries.server.find("cp_00000000_" + "x" * 43) is None  # it has begun to serve
    record, token = registries.command.add("team-a", "alice", Scope.WRITE)
    assert KEY_FORM.fullmatch(token)
    assert within_a_second(lambda: registries.server.find(token) is not None)
    found = registries.server.find(token)
    assert found is not None
    assert (found.id, found.tenant, found.label, found.scope) == (
        record.id,
        "team-a",
        "alice",
        Scope.WRITE,
    )


def test_a_key_is_found_only_by_its_token(registries: KeyRegistries) -> None:
    record, token = registries.command.add("team-a", "alice", Scope.WRITE)
    assert registries.command.find(token) == record
    other = token[:-1] + ("A" if token[-1] != "A" else "B")
    for wrong in ("", token[:-1], token + "x", other, f"cp_{record.id}_{'x' * 43}", record.hash):
        assert registries.command.find(wrong) is None


def test_a_revoked_key_is_refused_within_a_second_and_its_tenant_stays(
    registries: KeyRegistries,
) -> None:
    record, token = registries.command.add("team-a", "alice", Scope.READ)
    assert within_a_second(lambda: registries.server.find(token) is not None)
    registries.command.revoke(record.id)
    assert within_a_second(lambda: registries.server.find(token) is None)
    assert registries.server.tenants() == {"team-a"}
    assert [key.state(NOW) for key in registries.command.all()] == ["revoked"]


def test_a_second_revocation_keeps_the_first_time(registries: KeyRegistries) -> None:
    record, _ = registries.command.add("team-a", "alice", Scope.READ)
    first = registries.command.revoke(record.id)
    registries.clock.now = NOW + timedelta(hours=1)
    assert registries.command.revoke(record.id).revoked_at == first.revoked_at


def test_rotation_keeps_the_key_and_ends_the_old_secret(registries: KeyRegistries) -> None:
    record, old = registries.command.add("team-a", "alice", Scope.ADMIN, description="ci")
    assert within_a_second(lambda: registries.server.find(old) is not None)
    rotated, new = registries.command.rotate(record.id)
    assert rotated == replace(record, hash=rotated.hash, rotated_at=rotated.rotated_at)
    assert within_a_second(lambda: registries.server.find(new) is not None)
    assert registries.server.find(old) is None


def test_a_key_ends_when_it_expires(registries: KeyRegistries) -> None:
    record, token = registries.command.add(
        "team-a", "nightly", Scope.READ, expires_at=parse_expiry("90d", NOW)
    )
    assert record.expires_at == "2030-04-01T00:00:00.000Z"
    assert within_a_second(lambda: registries.server.find(token) is not None)
    registries.clock.now = NOW + timedelta(days=90)
    assert registries.server.find(token) is None
    assert [key.state(registries.clock.now) for key in registries.command.all()] == ["expired"]


def test_the_description_is_kept(registries: KeyRegistries) -> None:
    registries.command.add("team-a", "ci", Scope.READ, description="nightly build in Oslo")
    assert [key.description for key in registries.command.all()] == ["nightly build in Oslo"]


def test_the_last_use_is_kept_and_seldom_written(registries: KeyRegistries) -> None:
    _, token = registries.command.add("team-a", "alice", Scope.READ)
    registries.command.add("team-a", "unused", Scope.READ)
    assert within_a_second(lambda: registries.server.find(token) is not None)

    def last_uses() -> dict[str, str | None]:
        return {key.label: key.last_used_at for key in registries.command.all()}

    assert within_a_second(lambda: last_uses()["alice"] is not None)
    first = last_uses()
    assert first == {"alice": "2030-01-01T00:00:00.000Z", "unused": None}
    registries.clock.now = NOW + timedelta(seconds=30)
    assert registries.server.find(token) is not None  # less than a minute later: not written
    registries.server.close()  # writes what is pending
    assert last_uses() == first


def test_an_unknown_key_id_is_refused_with_a_hint(registries: KeyRegistries) -> None:
    for change in (registries.command.revoke, registries.command.rotate):
        with pytest.raises(CommonplaceError, match="no key") as caught:
            change("nothere1")
        assert caught.value.code.name == "KEY_NOT_FOUND"


def test_moving_a_tenant_moves_all_its_keys(registries: KeyRegistries) -> None:
    _, token = registries.command.add("old", "a", Scope.READ)
    registries.command.add("old", "b", Scope.READ)
    registries.command.add("other", "c", Scope.READ)
    assert registries.command.move_tenant("old", "new") == 2
    found = registries.command.find(token)
    assert found is not None
    assert found.tenant == "new"
    assert registries.command.tenants() == {"new", "other"}


def test_deleting_a_tenant_ends_its_keys_everywhere(registries: KeyRegistries) -> None:
    _, token = registries.command.add("old", "a", Scope.READ)
    _, kept = registries.command.add("other", "c", Scope.READ)
    assert within_a_second(lambda: registries.server.find(kept) is not None)
    assert registries.command.delete_tenant("old") == 1
    assert within_a_second(lambda: registries.server.find(token) is None)
    assert registries.server.find(kept) is not None
    assert registries.server.tenants() == {"other"}


def test_keys_of_another_registry_are_added_once(registries: KeyRegistries, tmp_path: Path) -> None:
    source = KeyStore(tmp_path / "other" / "keys.json")
    _, token = source.add("team-a", "alice", Scope.READ, expires_at="2031-01-01T00:00:00.000Z")
    revoked, _ = source.add("team-a", "bob", Scope.READ)
    source.revoke(revoked.id)
    assert registries.command.restore(source.all()) == 2
    assert registries.command.restore(source.all()) == 0
    assert registries.command.all() == source.all()
    assert within_a_second(lambda: registries.server.find(token) is not None)


def test_keys_made_at_the_same_time_are_all_kept(registries: KeyRegistries) -> None:
    def add(registry: KeyRegistry, name: str) -> None:
        for number in range(8):
            registry.add("t", f"{name}{number}", Scope.READ)

    threads = [
        threading.Thread(target=add, args=(registry, name))
        for registry, name in ((registries.server, "a"), (registries.command, "b"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len({key.label for key in registries.command.all()}) == 16
    assert registries.server.find("cp_00000000_" + "x" * 43) is None
    assert registries.server.tenants() == {"t"}


@pytest.mark.parametrize("tenant", ["", "a b", "../x", "bearer-1", "x" * 65, "-a", "a\n", "é"])
def test_a_tenant_name_is_validated(tenant: str, registries: KeyRegistries) -> None:
    with pytest.raises(CommonplaceError) as caught:
        registries.command.add(tenant, "alice", Scope.READ)
    assert caught.value.details["field"] == "tenant"


@pytest.mark.parametrize("label", ["", "x" * 129, "a\nb", "\x1b[31m"])
def test_a_label_is_validated(label: str, registries: KeyRegistries) -> None:
    with pytest.raises(CommonplaceError) as caught:
        registries.command.add("a", label, Scope.READ)
    assert caught.value.details["field"] == "label"


@pytest.mark.parametrize("description", ["x" * 501, "a\nb"])
def test_a_description_is_validated(description: str, registries: KeyRegistries) -> None:
    with pytest.raises(CommonplaceError) as caught:
        registries.command.add("a", "b", Scope.READ, description=description)
    assert caught.value.details["field"] == "description"


def test_the_classifications_that_a_key_may_read_are_kept(registries: KeyRegistries) -> None:
    record, token = registries.command.add(
        "team-a", "auditor", Scope.READ, may_read=["restricted", "restricted"]
    )
    assert record.may_read == ("restricted",)
    found = registries.command.find(token)
    assert found is not None
    assert found.may_read == ("restricted",)
    rotated, _ = registries.command.rotate(record.id)
    assert rotated.may_read == ("restricted",)


def test_a_key_cannot_open_an_unknown_classification(registries: KeyRegistries) -> None:
    with pytest.raises(CommonplaceError) as refused:
        registries.command.add("team-a", "auditor", Scope.READ, may_read=["secret"])
    assert refused.value.details == {"field": "may_read"}

"""API keys: hashed in the file, shared by processes, reread by running servers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.kernel.auth import Scope
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.credentials.keys import KEY_FORM, KeyStore


@pytest.fixture
def store(tmp_path: Path) -> KeyStore:
    return KeyStore(tmp_path / "data" / "keys.json")


def test_a_key_is_found_only_by_its_token(store: KeyStore) -> None:
    record, token = store.add("team-a", "alice", Scope.WRITE)
    assert KEY_FORM.fullmatch(token)
    assert store.find(token) == record
    for wrong in (
        "",
        token[:-1],
        token + "x",
        token[:-1] + ("A" if token[-1] != "A" else "B"),
        f"cp_{record.id}_{'x' * 43}",
        record.hash,
    ):
        assert store.find(wrong) is None


def test_the_key_file_is_private_and_contains_no_token(store: KeyStore) -> None:
    _, token = store.add("team-a", "alice", Scope.READ)
    assert token not in store.path.read_text()
    assert token.rsplit("_", 1)[1] not in store.path.read_text()
    assert store.path.stat().st_mode & 0o077 == 0


def test_a_revoked_key_stops_and_its_tenant_stays(store: KeyStore) -> None:
    record, token = store.add("team-a", "alice", Scope.READ)
    store.revoke(record.id)
    assert store.find(token) is None
    assert store.tenants() == {"team-a"}
    assert [key.active for key in store.all()] == [False]


def test_rotation_keeps_the_key_and_ends_the_old_secret(store: KeyStore) -> None:
    record, old = store.add("team-a", "alice", Scope.ADMIN)
    rotated, new = store.rotate(record.id)
    assert (rotated.id, rotated.tenant, rotated.scope) == (record.id, "team-a", Scope.ADMIN)
    assert store.find(old) is None
    assert store.find(new) == rotated


def test_changes_of_another_process_take_effect_with_the_next_call(store: KeyStore) -> None:
    record, token = store.add("team-a", "alice", Scope.READ)
    other = KeyStore(store.path)
    assert other.find(token) is not None
    store.revoke(record.id)
    assert other.find(token) is None
    store.path.unlink()
    assert other.all() == []


def test_an_unknown_key_id_is_refused_with_a_hint(store: KeyStore) -> None:
    for change in (store.revoke, store.rotate):
        with pytest.raises(CommonplaceError, match="no key") as caught:
            change("nothere1")
        assert caught.value.code.name == "KEY_NOT_FOUND"


@pytest.mark.parametrize("tenant", ["", "a b", "../x", "bearer-1", "x" * 65, "-a", "a\n", "é"])
def test_a_tenant_name_is_validated(tenant: str, store: KeyStore) -> None:
    with pytest.raises(CommonplaceError) as caught:
        store.add(tenant, "alice", Scope.READ)
    assert caught.value.details["field"] == "tenant"


@pytest.mark.parametrize("label", ["", "x" * 129, "a\nb", "\x1b[31m"])
def test_a_label_is_validated(label: str, store: KeyStore) -> None:
    with pytest.raises(CommonplaceError) as caught:
        store.add("a", label, Scope.READ)
    assert caught.value.details["field"] == "label"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"keys": [{"id": 1}]}', json.dumps({"keys": [{"scope": "root"}]})]
)
def test_a_damaged_file_refuses_every_key(text: str, store: KeyStore) -> None:
    _, token = store.add("a", "b", Scope.READ)
    store.path.write_text(text)
    with pytest.raises(CommonplaceError, match="damaged"):
        store.find(token)


def test_moving_a_tenant_moves_all_its_keys(store: KeyStore) -> None:
    _, token = store.add("old", "a", Scope.READ)
    store.add("old", "b", Scope.READ)
    store.add("other", "c", Scope.READ)
    assert store.move_tenant("old", "new") == 2
    found = store.find(token)
    assert found is not None
    assert found.tenant == "new"
    assert store.tenants() == {"new", "other"}


ADD = """
import sys
from pathlib import Path
from commonplace.kernel.auth import Scope
from commonplace.storage.credentials.keys import KeyStore
for number in range(10):
    KeyStore(Path(sys.argv[1])).add("t", sys.argv[2] + str(number), Scope.READ)
"""


def test_concurrent_processes_lose_no_key(store: KeyStore) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", ADD, str(store.path), name]) for name in "abc"
    ]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert len({key.label for key in store.all()}) == 30

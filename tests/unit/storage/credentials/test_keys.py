"""The key file: private, reread by running servers. What both registries promise is in
tests/contract/storage/test_keys_contract.py.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.kernel.auth import Scope
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.credentials.keys import KeyStore


@pytest.fixture
def store(tmp_path: Path) -> KeyStore:
    return KeyStore(tmp_path / "data" / "keys.json")


def test_the_key_file_is_private_and_contains_no_token(store: KeyStore) -> None:
    _, token = store.add("team-a", "alice", Scope.READ)
    assert token not in store.path.read_text()
    assert token.rsplit("_", 1)[1] not in store.path.read_text()
    assert store.path.stat().st_mode & 0o077 == 0


def test_changes_of_another_process_take_effect_with_the_next_call(store: KeyStore) -> None:
    record, token = store.add("team-a", "alice", Scope.READ)
    other = KeyStore(store.path)
    assert other.find(token) is not None
    store.revoke(record.id)
    assert other.find(token) is None
    store.path.unlink()
    assert other.all() == []


def test_a_file_of_plain_keys_can_be_read_by_earlier_versions(store: KeyStore) -> None:
    store.add("team-a", "alice", Scope.READ)
    (item,) = json.loads(store.path.read_text())["keys"]
    assert set(item) == {
        "id",
        "tenant",
        "label",
        "scope",
        "hash",
        "created_at",
        "rotated_at",
        "revoked_at",
    }


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"keys": [{"id": 1}]}', json.dumps({"keys": [{"scope": "root"}]})]
)
def test_a_damaged_file_refuses_every_key(text: str, store: KeyStore) -> None:
    _, token = store.add("a", "b", Scope.READ)
    store.path.write_text(text)
    with pytest.raises(CommonplaceError, match="damaged"):
        store.find(token)


def test_a_damaged_file_of_last_uses_is_ignored(store: KeyStore) -> None:
    store.add("a", "b", Scope.READ)
    store.path.with_suffix(".used.json").write_text("{")
    assert [key.last_used_at for key in store.all()] == [None]


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

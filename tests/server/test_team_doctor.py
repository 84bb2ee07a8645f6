"""`commonplace doctor` names what is wrong with the database and the cache of a team, once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
import redis
from test_two_servers import command, printed

from servers import Valkey, free_port


def examine(data: Path, **storage: str) -> dict[str, list[Mapping[str, Any]]]:
    """Run doctor with these settings; return its checks by status."""
    data.mkdir(exist_ok=True, mode=0o700)
    settings = {"storage": storage, "auth": {"mode": "keys"}}
    (data / "commonplace.yaml").write_text(json.dumps({"settings": settings}))
    done = command(data, "doctor", "--json")
    found: dict[str, list[Mapping[str, Any]]] = {"ok": [], "note": [], "warn": [], "fail": []}
    for check in json.loads(done.stdout)["checks"]:
        found[check["status"]].append(check)
    assert done.returncode == bool(found["fail"])
    assert "secret" not in done.stdout
    return found


def test_a_database_that_is_away_is_one_failure_and_the_cache_is_examined(
    tmp_path: Path, valkey_url: str
) -> None:
    url = f"postgresql://commonplace:secret@127.0.0.1:{free_port()}/commonplace"
    found = examine(tmp_path / "a", url=url, cache_url=valkey_url)
    (failed,) = found["fail"]
    assert failed["name"] == "database"
    assert "refused" in failed["finding"]
    assert "settings.storage.url" in failed["fix"]
    assert "cache" in {check["name"] for check in found["ok"]}
    assert "not examined" in {check["name"] for check in found["note"]}


def test_a_database_that_does_not_exist_is_named(tmp_path: Path, postgres_url: str) -> None:
    parts = urlsplit(postgres_url)
    url = urlunsplit(parts._replace(path="/nowhere"))
    (failed,) = examine(tmp_path / "a", url=url)["fail"]
    assert '"nowhere" does not exist' in failed["finding"]


@pytest.mark.parametrize(
    ("change", "finding", "fix"),
    [
        (1, "supports up to", "Upgrade commonplace"),
        (-1, "needs", "commonplace migrate"),
    ],
)
def test_a_schema_of_another_version_is_one_failure(
    tmp_path: Path, empty_postgres: str, change: int, finding: str, fix: str
) -> None:
    data = tmp_path / "a"
    data.mkdir()
    (data / "commonplace.yaml").write_text(
        json.dumps({"settings": {"storage": {"url": empty_postgres}}})
    )
    printed(data, "migrate")
    with psycopg.connect(empty_postgres) as connection:
        connection.execute(
            "UPDATE schema_version SET version = version + %s WHERE component = 'files'", (change,)
        )
    (failed,) = examine(data, url=empty_postgres)["fail"]
    assert failed["name"] == "database"
    assert finding in failed["finding"]
    assert fix in failed["fix"]


def test_a_cache_with_another_password_is_said_to_refuse_it(
    tmp_path: Path, postgres_url: str
) -> None:
    server = Valkey()
    try:
        with redis.Redis.from_url(server.url) as client:
            client.config_set("requirepass", "right")
        url = server.url.replace("redis://", "redis://:secret@")
        failed = examine(tmp_path / "a", url=postgres_url, cache_url=url)["fail"]
    finally:
        server.close()
    named = {check["name"]: check["finding"] for check in failed}
    assert named["cache"] == "the cache refuses the user or the password"

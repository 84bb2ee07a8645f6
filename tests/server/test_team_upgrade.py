"""A database of an earlier version with data in it is upgraded, and its servers go on."""

from __future__ import annotations

from pathlib import Path

import psycopg
from conformance.program import serve_http
from test_two_servers import call, command, configure, printed

from commonplace.bootstrap.team import postgres_components

EARLIER = {"memory": 2, "files": 4, "instructions": 1, "sessions": 1, "context": 0, "capture": 0}
LESSON = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def make_earlier(url: str) -> None:
    """Create the schema before context, capture and anchors, and a lesson as it was stored then."""
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE schema_version (component TEXT PRIMARY KEY, version INT)")
        for component in postgres_components():
            migrations = component.migrations()
            version = EARLIER.get(component.name, len(migrations))
            for migration in migrations[:version]:
                connection.execute(migration.sql)  # type: ignore[call-overload]
            if version:
                row = (component.name, version)
                connection.execute("INSERT INTO schema_version VALUES (%s, %s)", row)
        connection.execute(
            "INSERT INTO memory_entries VALUES ('team-a', %s, 'bug', 'Walrus noise', 'Keep calm.', "
            "'[]', '', NULL, 3, 'active', 'episodic', NULL, 'x', now(), now())",
            (LESSON,),
        )


def test_a_database_of_an_earlier_version_is_upgraded_with_its_data(
    empty_postgres: str, tmp_path: Path
) -> None:
    make_earlier(empty_postgres)
    a, b = (configure(tmp_path / name, empty_postgres) for name in ("a", "b"))
    refused = command(a, "serve")
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr
    assert "commonplace migrate" in refused.stderr
    assert command(a, "migrate", "--check").returncode == 1
    steps = {step["component"]: step for step in printed(a, "migrate")["components"]}
    for component, version in EARLIER.items():
        assert steps[component]["found"] == version < steps[component]["needed"]
    assert command(b, "migrate", "--check").returncode == 0
    key = printed(a, "keys", "add", "--tenant", "team-a", "--label", "ann")["key"]
    with serve_http(a) as one, serve_http(b, None, "--no-worker") as two:
        for server in (one, two):
            shown = call(server, key, "rekall_show", id=LESSON)
            assert shown.get("title") == "Walrus noise", shown
            assert call(server, key, "capture_list")["items"] == []
        pack = call(one, key, "context", task="What to do about walrus noise?")
        again = call(two, key, "context", task="walrus noise", since=pack["pack_id"])
        assert "pack_id" in again, again

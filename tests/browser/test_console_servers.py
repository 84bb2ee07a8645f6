"""The console behind the guide's nginx: two servers on two data folders, restarted meanwhile."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conformance.program import COMMONPLACE, environment
from nginx import Nginx
from team_server import TeamServer
from tests.browser.conftest import Visitor, VisitorFactory

from certificates import TestAuthority
from servers import empty_tables
from waiting import is_met_within

REVOKED_SECONDS = 1.0  # the promise for keys
PAGES = ("", "instructions", "files", "memory", "openapi", "tools", "audit", "find?q=add")
ALLOWED = r"502|504|ERR_|Failed to load resource"  # while a server restarts
TEXT = "Announce a deployment before it starts.\n\nThen watch the error rate for ten minutes."


@dataclass(frozen=True)
class Team:
    nginx: Nginx
    servers: tuple[TeamServer, TeamServer]
    key: str

    def sign_in(self, new_visitor: VisitorFactory) -> Visitor:
        visitor = new_visitor(
            f"localhost:{self.nginx.port}", scheme="https", ignore_https_errors=True
        )
        visitor.sign_in(self.key)
        return visitor


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, migrated_postgres: str) -> Iterator[Team]:
    empty_tables(migrated_postgres)
    folder = tmp_path_factory.mktemp("nginx")
    with contextlib.ExitStack() as stack:
        servers = []
        for name in ("one", "two"):
            server = TeamServer(
                folder / name,
                {"url": migrated_postgres},
                extra={"MCP_ENABLE_MUTATION": "1"},
                flags=("--auth", "keys"),
                server={"allowed_hosts": ["localhost"], "trusted_proxies": ["127.0.0.1"]},
            )
            stack.callback(server.close)
            servers.append(server)
        nginx = Nginx(folder / "proxy", TestAuthority(folder), [one.address for one in servers])
        stack.callback(nginx.close)
        yield Team(nginx, (servers[0], servers[1]), add_key(servers[0].folder))


def add_key(data: Path) -> str:
    command = [str(COMMONPLACE), "keys", "add", "--tenant", "team", "--label", "ada"]
    made = subprocess.run(
        [*command, "--scope", "admin", "--json"],
        env=environment(data),
        capture_output=True,
        check=True,
        text=True,
        cwd=data,
    )
    key: str = json.loads(made.stdout)["key"]
    return key


def test_any_server_answers_any_page(team: Team, new_visitor: VisitorFactory) -> None:
    visitor = team.sign_in(new_visitor)
    for page in PAGES * 2:
        visitor.go(f"/console/{page}")
        assert visitor.page.locator("h1").count() == 1
        assert "/login" not in visitor.page.url


def test_restarts_cost_a_person_nothing(team: Team, new_visitor: VisitorFactory) -> None:
    """One window has a live page, two have unsaved forms, while each server restarts in turn."""
    live, memory, rule = (team.sign_in(new_visitor) for _ in range(3))
    live.go("/console/")
    memory.go("/console/new-memory")
    memory.page.locator("textarea[name=content]").fill(TEXT)
    rule.go("/console/new-instruction")
    rule.page.get_by_label("Id", exact=True).fill("deploy-notice")
    rule.page.get_by_label("Title", exact=True).fill("Announce deployments")
    rule.page.locator("textarea[name=body]").fill(TEXT)
    for visitor in (live, memory, rule):
        visitor.allow(ALLOWED)

    for server in team.servers:
        server.stop()
        for page in PAGES:  # the other server is enough
            with_one = memory.page.context.new_page()
            with_one.goto(f"{memory.origin}/console/{page}")
            assert with_one.locator("h1").count() == 1
            assert "/login" not in with_one.url
            with_one.close()
        server.start()

    memory.page.reload()
    memory.page.get_by_role("button", name="Restore it").click()
    assert memory.page.locator("textarea[name=content]").input_value() == TEXT
    rule.page.get_by_role("button", name="Save").click()
    rule.page.wait_for_url("**/console/instructions/deploy-notice")
    for _ in range(4):  # from both servers
        rule.page.reload()
        assert "Announce deployments" in rule.page.locator("main").inner_text()
    rule.go("/console/new-instruction")
    assert rule.page.get_by_role("button", name="Restore it").count() == 0

    live.page.wait_for_selector("[data-live]:not([data-offline])")
    uptime = live.page.get_by_text("Up for").locator("xpath=..").inner_text().split("\n")[-1]
    live.page.wait_for_function("text => !document.body.innerText.includes(text)", arg=uptime)


def test_a_revoked_key_ends_the_session_on_both_servers(
    team: Team, new_visitor: VisitorFactory
) -> None:
    own = Team(team.nginx, team.servers, add_key(team.servers[1].folder))
    visitor = own.sign_in(new_visitor)
    key_id = own.key.split("_")[1]
    subprocess.run(
        [str(COMMONPLACE), "keys", "revoke", key_id],
        env=environment(team.servers[0].folder),
        check=True,
        capture_output=True,
        cwd=team.servers[0].folder,
    )

    def is_signed_out() -> bool:
        visitor.go("/console/tools")
        return "/console/login?next=/console/tools" in visitor.page.url

    assert is_met_within(REVOKED_SECONDS, lambda: all(is_signed_out() for _ in range(4)))

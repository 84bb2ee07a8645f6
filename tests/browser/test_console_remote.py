"""`commonplace console --server URL`: the console in its own process, for a server elsewhere."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import VisitorFactory, add_key
from tests.browser.restarting import RestartableProgram, separate_console, server_with_keys
from tests.server.conformance.program import COMMONPLACE, Served, environment

Keyed = tuple[Served, dict[str, str], Path]
AWAY = "net::ERR|Failed to fetch"


def test_a_separate_console_shows_a_server_elsewhere(
    new_visitor: VisitorFactory, keyed: Keyed, tmp_path: Path
) -> None:
    server, keys, _ = keyed
    with separate_console(tmp_path, server.address) as console:
        visitor = new_visitor(console.address)
        visitor.allow("status of 401")
        page = visitor.page
        visitor.go("/console/login")
        page.get_by_label("API key").fill("cp_wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("does not accept")
        visitor.sign_in(keys["admin"])
        expect(page.get_by_text("Process memory")).to_be_visible()
        for name in ("Instructions", "Files", "Memory", "OpenAPI", "Audit"):
            page.get_by_role("navigation", name="Pages").get_by_role("link", name=name).click()
            page.wait_for_url(f"**/console/{name.lower()}**")
            expect(page.get_by_role("heading", level=1)).to_be_visible()
        visitor.go("/console/tools/health_check")
        page.get_by_role("button", name="Call", exact=True).click()
        expect(page.get_by_text("Answered in")).to_be_visible()
        page.get_by_text("Copy this call").click()
        expect(page.locator("pre", has_text="curl -s")).to_contain_text(server.url)


def test_a_separate_console_for_a_server_without_keys_asks_for_none(
    new_visitor: VisitorFactory, tmp_path: Path
) -> None:
    command = ("serve", "--http", "127.0.0.1:{port}")
    with (
        RestartableProgram(tmp_path / "server", command) as server,
        separate_console(tmp_path / "console", server.address) as console,
    ):
        visitor = new_visitor(console.address)
        visitor.go("/console/tools")
        visitor.page.get_by_text("health_check").wait_for()


def test_a_restart_of_either_side_costs_nothing(
    new_visitor: VisitorFactory, tmp_path: Path
) -> None:
    (tmp_path / "server").mkdir()
    key = add_key(tmp_path / "server", "admin")
    with (
        server_with_keys(tmp_path / "server") as server,
        separate_console(tmp_path / "console", server.address) as console,
    ):
        visitor = new_visitor(console.address)
        visitor.sign_in(key)
        visitor.allow(AWAY)
        page = visitor.page
        visitor.go("/console/tools/file_write")
        for name, text in (("project", "far"), ("path", "/a.md"), ("content", "typed text")):
            page.get_by_label(f"{name} *").fill(text)
        console.restart()
        server.kill()
        server.start()
        page.get_by_role("button", name="Call", exact=True).click()
        expect(page.get_by_text("Answered in")).to_be_visible()
        console.restart()
        server.stop()
        visitor.go("/console/audit")
        expect(page.get_by_text("does not answer").first).to_be_visible()
        server.start()
        expect(page.get_by_role("link", name="file_write").first).to_be_visible()


@pytest.mark.parametrize("path", ["nowhere", "http://{server}/healthz", "http://127.0.0.1:1"])
def test_a_separate_console_reports_a_missing_server(
    keyed: Keyed, path: str, tmp_path: Path
) -> None:
    server = path.format(server=keyed[0].address)
    done = subprocess.run(
        [str(COMMONPLACE), "console", "--server", server, "--port", "0"],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 7
    assert done.stderr.startswith("error: The")
    assert "Traceback" not in done.stderr

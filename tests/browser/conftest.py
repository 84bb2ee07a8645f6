"""A browser, a server with keys, and a signed-in person."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, sync_playwright
from tests.server.conformance.program import COMMONPLACE, ROOT, Served, environment, serve_http

from commonplace.console.caller import Remote

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
}).observe({type: "layout-shift", buffered: true});
"""
AXE = ROOT / ".tools" / "node" / "node_modules" / "axe-core" / "axe.min.js"


def chromium() -> str:
    spec = importlib.util.spec_from_file_location(
        "setup_chromium", ROOT / "tools" / "setup_chromium.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path: str | None = module.find()
    assert path is not None, "no Chromium: run tools/setup_chromium.py"
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield launched
        launched.close()


SOAK = bool(os.environ.get("COMMONPLACE_SOAK"))


def add_key(data: Path, scope: str) -> str:
    """A key made by the command line, as an operator would."""
    command = [
        str(COMMONPLACE),
        "keys",
        "add",
        "--tenant",
        "team",
        "--label",
        f"{scope}er",
        "--scope",
        scope,
        "--json",
    ]
    made = subprocess.run(
        command, env=environment(data), capture_output=True, check=True, text=True, cwd=data
    )
    import json

    key: str = json.loads(made.stdout)["key"]
    return key


@pytest.fixture(scope="session")
def keyed(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Served, dict[str, str], Path]]:
    """A server that wants keys, with one key for each scope."""
    data = tmp_path_factory.mktemp("console")
    keys = {scope: add_key(data, scope) for scope in ("read", "write", "admin")}
    with serve_http(data, {"MCP_ENABLE_MUTATION": "1"}, "--auth", "keys") as server:
        yield server, keys, data


def call(server: Served, key: str, tool: str, arguments: dict[str, Any]) -> Any:
    """What an agent did before the person came: one tool call with a key."""
    caller = Remote(f"http://{server.address}", key)
    with ThreadPoolExecutor(1) as elsewhere:  # Playwright holds this thread's event loop
        answer = elsewhere.submit(lambda: asyncio.run(caller.call(tool, arguments))).result(60)
    assert answer.ok, answer.error
    return answer.output


class Visitor:
    """A browser window that remembers what it asked for and what went wrong."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.page: Page = context.new_page()
        self.address = address
        self.foreign: list[str] = []
        self.problems: list[str] = []
        self.executed: list[str] = []
        self.clicks = 0
        self.page.add_init_script(SHIFTS)
        self.page.on("request", self._note)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on(
            "dialog", lambda dialog: (self.executed.append(dialog.message), dialog.dismiss())
        )

    def _note(self, request: Any) -> None:
        if not request.url.startswith(
            (f"http://{self.address}", f"ws://{self.address}", "data:", "blob:")
        ):
            self.foreign.append(request.url)

    def click(self, target: Locator) -> None:
        """A click of the person, counted."""
        self.clicks += 1
        target.click()

    def go(self, path: str) -> None:
        self.page.goto(f"http://{self.address}{path}")

    def shift(self) -> float:
        """Cumulative layout shift of the page so far, as browsers report it: shifts soon after a
        person's own action do not count.
        """
        moved: float = self.page.evaluate("window.shifted")
        return moved

    def sign_in(self, key: str) -> None:
        self.go("/console/login")
        self.page.get_by_label("API key").fill(key)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url("**/console/", timeout=60_000, wait_until="commit")

    def axe(self) -> list[str]:
        """Serious accessibility findings of what is shown now."""
        self.page.evaluate(AXE.read_text())
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{one['id']}: {one['nodes'][0]['html'][:160]}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]


@pytest.fixture
def visitor(browser: Browser, keyed: tuple[Served, dict[str, str], Path]) -> Iterator[Visitor]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(30_000)
    yield Visitor(context, keyed[0].address)
    context.close()

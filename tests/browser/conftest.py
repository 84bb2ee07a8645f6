"""A browser, a server with keys, and a signed-in person."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    Route,
    expect,
    sync_playwright,
)
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
VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) => {
  console.error(`Content Security Policy: ${event.violatedDirective} ${event.blockedURI}`);
});
"""
AXE = ROOT / ".tools" / "node" / "node_modules" / "axe-core" / "axe.min.js"


expect.set_options(timeout=30_000)  # a busy machine is not a defect


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
def data_with_keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A data folder to copy, and one key for each scope."""
    data = tmp_path_factory.mktemp("keys")
    return data, {scope: add_key(data, scope) for scope in ("read", "write", "admin")}


@pytest.fixture(scope="module")
def keyed(
    tmp_path_factory: pytest.TempPathFactory, data_with_keys: tuple[Path, dict[str, str]]
) -> Iterator[tuple[Served, dict[str, str], Path]]:
    """A server that wants keys: one for each file, so that what a file stores is seen by no other,
    whichever file ran before it.
    """
    folder, keys = data_with_keys
    data = shutil.copytree(folder, tmp_path_factory.mktemp("console") / "data")
    with serve_http(data, {"MCP_ENABLE_MUTATION": "1"}, "--auth", "keys") as server:
        yield server, keys, data


def call(server: Served, key: str, tool: str, arguments: dict[str, Any]) -> Any:
    """What an agent did before the person came: one tool call with a key."""
    caller = Remote(f"http://{server.address}", key)
    with ThreadPoolExecutor(1) as elsewhere:  # Playwright holds this thread's event loop
        answer = elsewhere.submit(lambda: asyncio.run(caller.call(tool, arguments))).result(60)
    assert answer.ok, answer.error
    return answer.output


@contextmanager
def held_request(page: Page, pattern: str) -> Iterator[list[Route]]:
    """Hold the next request that fits, made inside the block, until its route is continued."""
    held: list[Route] = []
    page.route(pattern, lambda route: held.append(route), times=1)
    yield held
    wait_for(page, lambda: bool(held))


def wait_for(page: Page, condition: Callable[[], bool], seconds: float = 30) -> None:
    """Wait until a condition holds, while events of the browser are taken."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} s"
        page.wait_for_timeout(20)


class Visitor:
    """A browser window that remembers what it asked for and what went wrong.

    The fixtures fail a test whose visitor had an error in the console, an error of a script, a
    violation of the content security policy, a request to another origin or an executed text.
    A test that provokes an error names it with `allow`.
    """

    def __init__(self, context: BrowserContext, address: str, scheme: str = "http") -> None:
        self.page: Page = context.new_page()
        self.address = address
        self.origin = f"{scheme}://{address}"
        self.foreign: list[str] = []
        self.problems: list[str] = []
        self.executed: list[str] = []
        self.clicks = 0
        self._allowed: list[str] = []
        self.page.add_init_script(SHIFTS)
        self.page.add_init_script(VIOLATIONS)
        self.page.on("request", self._note)
        self.page.on("console", self._note_message)
        self.page.on("pageerror", lambda error: self._note_problem(str(error)))
        self.page.on(
            "dialog", lambda dialog: (self.executed.append(dialog.message), dialog.dismiss())
        )

    def allow(self, pattern: str) -> None:
        """Expect console errors that match a regular expression, from now on."""
        self._allowed.append(pattern)

    def faults(self) -> list[str]:
        """Everything that must not happen to a visitor."""
        return [
            *self.problems,
            *(f"request to {url}" for url in self.foreign),
            *(f"executed {text}" for text in self.executed),
        ]

    def _note(self, request: Any) -> None:
        if not request.url.startswith((f"{self.origin}/", "data:", "blob:")):
            self.foreign.append(request.url)

    def _note_message(self, message: ConsoleMessage) -> None:
        if message.type == "error" or "Content Security Policy" in message.text:
            place = message.location.get("url", "")
            self._note_problem(f"{message.text} ({place}) on {self.page.url}")

    def _note_problem(self, text: str) -> None:
        if not any(re.search(pattern, text) for pattern in self._allowed):
            self.problems.append(text)

    def click(self, target: Locator) -> None:
        """Click as a person, and count it."""
        self.clicks += 1
        target.click()

    def go(self, path: str) -> None:
        """Leave a page that is complete: its scripts have kept and forgotten what they must."""
        self.wait_for_scripts()
        self.page.goto(f"{self.origin}{path}")

    def go_before_scripts(self, path: str) -> Route:
        """Open a page whose scripts have not arrived. Continue the returned route to send them."""
        with held_request(self.page, "**/console.js*") as held:
            self.page.goto(f"{self.origin}{path}", wait_until="commit")
        return held[0]

    def wait_for_scripts(self) -> None:
        """Wait until the scripts of the page ran: they forget drafts that were saved, and listen.

        A page that a click led to is shown before; its keys and buttons may do nothing yet.
        """
        self.page.wait_for_load_state("load")

    def shift(self) -> float:
        """Return the cumulative layout shift of the page so far, as browsers report it: shifts
        soon after a person's own action do not count.
        """
        moved: float = self.page.evaluate("window.shifted")
        return moved

    def sign_in(self, key: str) -> None:
        self.go("/console/login")
        self.page.get_by_label("API key").fill(key)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url("**/console/", timeout=60_000, wait_until="commit")

    def overflow(self) -> int:
        """Return how many pixels the page is wider than the window."""
        self.wait_for_scripts()
        wider: int = self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return wider

    def axe(self) -> list[str]:
        """Return the accessibility findings of what is shown now, of every impact."""
        self.wait_for_scripts()
        self.page.evaluate(AXE.read_text())
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{finding['id']} ({finding['impact']}): {finding['nodes'][0]['html'][:160]}"
            for finding in found["violations"]
        ]


VisitorFactory = Callable[..., Visitor]


@pytest.fixture
def new_visitor(browser: Browser) -> Iterator[VisitorFactory]:
    """Open windows for any address: `new_visitor(address, **options of the browser context)`."""
    opened: list[tuple[BrowserContext, Visitor]] = []

    def open_window(address: str, scheme: str = "http", **options: Any) -> Visitor:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        context.set_default_timeout(30_000)
        visitor = Visitor(context, address, scheme)
        opened.append((context, visitor))
        return visitor

    yield open_window
    faults = [fault for _, visitor in opened for fault in visitor.faults()]
    for context, _ in opened:
        context.close()  # ends requests that are still running, which is not a fault
    assert faults == []


@pytest.fixture
def visitor(new_visitor: VisitorFactory, keyed: tuple[Served, dict[str, str], Path]) -> Visitor:
    return new_visitor(keyed[0].address)

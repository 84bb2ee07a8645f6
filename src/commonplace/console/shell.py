"""What every page shares: header, navigation, theme, the keyboard palette, and the watch over
the session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from nicegui import ui

from commonplace.console.caller import Answer, Caller
from commonplace.console.hidden_text import add_reveal_script
from commonplace.console.session import COOKIE, Session, Sessions

WATCH_SECONDS = 5.0
QUICK_SECONDS = 0.7
CONNECT_SECONDS = 30.0
NAVIGATION = (
    ("Overview", "/", "insights"),
    ("Instructions", "/instructions", "gavel"),
    ("Files", "/files", "folder"),
    ("Memory", "/memory", "psychology"),
    ("OpenAPI", "/openapi", "api"),
    ("Tools", "/tools", "build"),
    ("Audit", "/audit", "fact_check"),
)
STYLE = """
<style>
body { font-feature-settings: "tnum"; }
.cp-page { max-width: 1280px; margin: 0 auto; width: 100%; }
.cp-mono { font-family: ui-monospace, SFMono-Regular, Menlo, monospace; }
.cp-code pre, .cp-code { overflow-x: auto; }
.cp-muted { opacity: .78; }
.body--dark .q-table, .body--dark .q-card,
.body--dark .q-table__grid-item-card { background: #1a222c; }
.body--dark { background: #12181f; }
.body--light { background: #f6f5f1; }
.body--light .nicegui-link { color: #0a5f5a; }
.body--dark .nicegui-link, .body--dark .q-field--focused .q-field__label { color: #7fd6cf; }
.cp-bad { color: #a3241f; } .body--dark .cp-bad { color: #ff8a84; }
.cp-warn { color: #7a4f00; } .body--dark .cp-warn { color: #e0b15c; }
.cp-good { color: #2e7d32; } .body--dark .cp-good { color: #81c784; }
.cp-tag { font-size: .72rem; line-height: 1.2; border: 1px solid currentColor;
  border-radius: 4px; padding: 1px 5px; }
.nicegui-link { overflow-wrap: anywhere; }
.body--light .q-field__label { color: rgba(0, 0, 0, .7); }
a.cp-link { color: inherit; text-decoration: none; }
.cp-text { white-space: pre-wrap; overflow-wrap: anywhere; }
.cp-bar { color: #0b6e69; }
.body--dark .cp-bar, .body--dark .q-toggle__inner--truthy { color: #4fb8b1; }
.q-td .q-btn { min-height: 0; padding: 0 2px; font-size: 13px; }
.cp-whole { white-space: nowrap; }
.cp-id { min-width: 10rem; }
.q-table__grid-item-card { color: inherit; cursor: pointer; overflow-wrap: anywhere; }
.cp-mark { background: #ffe08a; color: #1d1d1d; border-radius: 2px; }
.cp-hit { background: #ffe08a88; } .body--dark .cp-hit { background: #7a5c0088; }
.cp-tree { max-height: 60vh; overflow: auto; flex-wrap: nowrap; }
.cp-quiet { color: #0a5f5a; } .body--dark .cp-quiet { color: #7fd6cf; }
.cp-drop .q-uploader__header { background: transparent; color: inherit; }
.cp-drop .q-uploader__list { min-height: 0; padding: 0; }
.cp-drop .q-uploader__list:not(:empty) { max-height: 8rem; padding: 4px; }
.cp-drop .q-uploader__subtitle:first-of-type { font-size: .72rem; }
.cp-nav[aria-current] { box-shadow: inset 0 -2px #ffffff; }
.body--light .cp-code .nt { color: #00600f; } .body--light .cp-code .mi { color: #4d4d4d; }
.body--light .cp-code .gi { color: #1b6320; } .body--light .cp-code .gd { color: #a3241f; }
.body--dark .cp-editor .cm-gutters { color: #a6b0ba !important; }
.cp-editor { height: 60vh; }
@media (max-width: 600px) {
  .cp-wide { display: none; }
  .cp-tree { max-height: 30vh; }
  .cp-editor { height: 40vh; }
  .cp-nav .q-btn__content .block { font-size: 0; }
  .cp-nav .q-icon { margin: 0; }
  .q-table { table-layout: fixed; width: 100%; }
  .q-table th, .q-table td { white-space: normal; overflow-wrap: anywhere; padding: 4px 6px; }
  .q-table th:nth-child(n+5), .q-table td:nth-child(n+5) { display: none; }
}
</style>
"""
NAMES = """
<script>
// Widgets that come without a name for people who do not see them get one. Fixed text only.
(() => {
  const name = () => {
    document.querySelectorAll(".cm-content:not([aria-label])").forEach((box) => {
      const label = box.closest(".cp-editor")?.getAttribute("aria-label");
      box.setAttribute("aria-label", label || "Text");
    });
    document.querySelectorAll(".nicegui-code pre:not([tabindex])")
      .forEach((pre) => pre.setAttribute("tabindex", "0"));
    document.querySelectorAll(".nicegui-code button:not([aria-label])")
      .forEach((copy) => copy.setAttribute("aria-label", "Copy"));
    const boxes = document.querySelectorAll(".q-table__container .q-checkbox:not([aria-label])");
    boxes.forEach((box) => {
      box.setAttribute("aria-label", box.closest("thead") ? "Select all rows" : "Select this row");
    });
    document.querySelectorAll(".q-uploader__input:not([aria-label])").forEach((input) => {
      const frame = input.closest("a");
      frame?.removeAttribute("role");
      frame?.setAttribute("tabindex", "-1");
      input.setAttribute("tabindex", "0");
      input.setAttribute("aria-label", "Choose files");
    });
  };
  document.addEventListener("DOMContentLoaded", () => {
    name();
    new MutationObserver(name).observe(document.body, {childList: true, subtree: true});
  });
})();
</script>
"""


@dataclass(frozen=True, slots=True)
class View:
    """One open page: whose it is and how to call."""

    session: Session
    caller: Caller
    dark: Any

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        answer = await self.caller.call(tool, arguments)
        if answer.error is not None and answer.error.get("code") == "UNAUTHENTICATED":
            ui.navigate.to("/login")
        return answer

    @property
    def may_write(self) -> bool:
        return "write" in self.caller.scopes


class Shell:
    """Pages enter it with `with shell.page("Title") as view:`."""

    def __init__(self, sessions: Sessions, version: str) -> None:
        self._sessions = sessions
        self._version = version
        self.palette: list[tuple[str, str]] = [(name, path) for name, path, _ in NAVIGATION]

    @contextmanager
    def page(self, title: str) -> Iterator[View]:
        session: Session = ui.context.client.request.scope["commonplace.session"]
        ui.page_title(f"{title} - Commonplace")
        ui.add_head_html(STYLE)
        ui.add_head_html(NAMES)
        add_reveal_script()
        ui.colors(
            primary="#0b6e69",
            secondary="#41586b",
            accent="#b4532a",
            positive="#2e7d32",
            negative="#b3261e",
            warning="#8a5a00",
        )
        dark = ui.dark_mode(session.dark)
        view = View(session, session.caller, dark)
        self._header(title, view)
        self._watch(view)
        with ui.column().classes("cp-page gap-4 p-4").props('role="main"'):
            yield view

    def _header(self, title: str, view: View) -> None:
        open_palette = self._palette(view)
        with ui.header().classes("items-center gap-2 px-4 py-2 bg-primary"):
            ui.link("Commonplace", "/").classes("cp-link text-lg font-semibold text-white")
            for name, path, icon in NAVIGATION:
                look = "flat dense no-caps text-color=white" + (" outline" if name == title else "")
                button = ui.button(
                    name, icon=icon, on_click=lambda path=path: ui.navigate.to(path)
                ).props(look)
                button.classes("cp-nav").props(f'aria-label="{name}"')
                if name == title:
                    button.props('aria-current="page"')
            ui.space()
            ui.button(icon="search", on_click=open_palette).props(
                'flat dense text-color=white aria-label="Go to (Ctrl+K)"'
            ).tooltip("Go to (Ctrl+K)")
            ui.button(icon="contrast", on_click=lambda: self._flip(view)).props(
                'flat dense text-color=white aria-label="Light or dark"'
            )
            ui.label(view.caller.label).classes("cp-wide text-sm text-white")
            ui.button(icon="logout", on_click=self._leave).props(
                'flat dense text-color=white aria-label="Sign out"'
            ).tooltip("Sign out")

    def _flip(self, view: View) -> None:
        view.session.dark = not view.session.dark
        ui.navigate.reload()  # charts and editors take their colours when they are made

    @staticmethod
    def _leave() -> None:
        ui.run_javascript(
            "fetch('/console/logout', {method: 'POST'}).then(() => { location.href = "
            "'/console/login' })"
        )

    def _palette(self, view: View) -> Callable[[], None]:
        with ui.dialog() as dialog, ui.card().classes("w-96 max-w-full"):
            field = (
                ui.input(placeholder="Page or tool")
                .props('autofocus outlined dense clearable aria-label="Page or tool"')
                .classes("w-full")
            )
            found = ui.column().classes("w-full gap-0")

        def show() -> None:
            found.clear()
            wanted = (field.value or "").lower()
            fitting = [entry for entry in self.palette if wanted in entry[0].lower()][:12]
            with found:
                if not fitting:
                    ui.label("No page or tool has that in its name.").classes(
                        "cp-muted text-sm p-2"
                    )
                for name, path in fitting:
                    ui.button(name, on_click=lambda path=path: ui.navigate.to(path)).props(
                        "flat dense no-caps align=left"
                    ).classes("w-full")

        def first() -> None:
            wanted = (field.value or "").lower()
            for name, path in self.palette:
                if wanted in name.lower():
                    ui.navigate.to(path)
                    return

        field.on_value_change(show)
        field.on("keydown.enter", first)

        def open_dialog() -> None:
            field.value = ""
            show()
            dialog.open()

        def on_key(event: Any) -> None:
            if (
                event.action.keydown
                and event.key == "k"
                and (event.modifiers.ctrl or event.modifiers.meta)
            ):
                open_dialog()

        ui.keyboard(on_key=on_key, ignore=[])
        return open_dialog

    def _watch(self, view: View) -> None:
        """A page that stays open is signed out when its session ends: the websocket alone would
        live on.
        """

        def check() -> None:
            if self._sessions.find({COOKIE: view.session.token}) is None:
                ui.navigate.to("/login")

        ui.timer(WATCH_SECONDS, check)
        if view.session.dark is None:

            async def ask() -> None:
                prefers = await ui.run_javascript(
                    "window.matchMedia('(prefers-color-scheme: dark)').matches", timeout=10
                )
                view.session.dark = bool(prefers)
                view.dark.value = view.session.dark

            ui.timer(0.1, ask, once=True)


async def patiently(work: Awaitable[None]) -> None:
    """Build the content of a page: within the first answer where that is quick, else into the
    open page, behind a spinner.

    NiceGUI gives up on a page that has not answered in three seconds.
    """
    client = ui.context.client
    with ui.column().classes("w-full gap-4") as place:
        spinner = ui.spinner(size="lg").style(
            "position: fixed; left: calc(50% - 1.5rem); top: 5rem; z-index: 10"
        )
        spinner.set_visibility(False)

    async def build() -> None:
        with place:
            await work

    task = asyncio.create_task(build())
    try:
        done, _ = await asyncio.wait({task}, timeout=QUICK_SECONDS)
        if not done:
            spinner.set_visibility(True)
            await client.connected(timeout=CONNECT_SECONDS)
        await task
    finally:
        task.cancel()
    if not client.is_deleted:
        spinner.delete()


def failure(error: Mapping[str, Any]) -> None:
    """An error where its result would have been, with what to do next."""
    with ui.card().classes("w-full border-l-4 border-negative").props("flat bordered"):
        ui.label(str(error.get("code"))).classes("cp-mono font-semibold cp-bad")
        ui.label(str(error.get("message")))
        if error.get("hint"):
            ui.label(str(error["hint"])).classes("cp-muted")


def empty(text: str, hint: str = "") -> None:
    """Nothing to show, and how to change that."""
    with ui.column().classes("w-full items-center p-8 gap-1"):
        ui.icon("inbox", size="2rem").classes("cp-muted")
        ui.label(text).classes("text-base text-center")
        if hint:
            ui.label(hint).classes("cp-muted text-sm text-center")

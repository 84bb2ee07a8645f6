"""Small pieces that several pages use: text with its found words marked, questions in a dialog,
sizes, editor colours.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Literal
from urllib.parse import urlencode

from nicegui import ui

from commonplace.console.hidden_text import editable_text, note_hidden
from commonplace.console.shell import View
from commonplace.search.lexical.text import matches, query_terms

MOUNT = "/console"
ANY = "any"
MAX_MARKS = 60
LOOKS = {
    "id": "cp-id",
    "nextReviewDue": "cp-whole",
    "updated": "cp-whole",
    "lastUsedAt": "cp-whole",
}  # of columns that wrap badly
QUIET = (
    "flat dense no-caps text-color=none"  # with class cp-quiet, which has a colour for each theme
)
LANGUAGES: dict[str, str] = {
    "c": "C",
    "cpp": "C++",
    "css": "CSS",
    "go": "Go",
    "html": "HTML",
    "java": "Java",
    "js": "JavaScript",
    "json": "JSON",
    "md": "Markdown",
    "php": "PHP",
    "py": "Python",
    "rs": "Rust",
    "sh": "Shell",
    "sql": "SQL",
    "toml": "TOML",
    "ts": "TypeScript",
    "tsx": "TSX",
    "xml": "XML",
    "yaml": "YAML",
    "yml": "YAML",
}


def marked(text: str, terms: Iterable[str]) -> None:
    """The text, with the words that carry a term set off.

    Labels only, so whatever it holds stays text.
    """
    with ui.element("div").classes("w-full cp-mono text-sm cp-text"):
        at = 0
        for count, (start, end, _) in enumerate(matches(text, terms)):
            if count == MAX_MARKS:
                break
            if start > at:
                ui.label(text[at:start]).classes("inline")
            ui.label(text[start:end]).classes("inline cp-mark")
            at = end
        ui.label(text[at:]).classes("inline")


def in_words(terms: Iterable[str], query: str) -> str:
    """Search terms as the words the person typed: the index keeps stems."""
    typed = {term: word for word in query.split() for term in query_terms(word)}
    return ", ".join(dict.fromkeys(typed.get(term, term) for term in terms))


def editor(
    view: View, text: str, language: str | None, *, editable: bool, label: str
) -> ui.codemirror:
    """A code editor in the page's colours, which follows the page when they change."""
    shown = editable_text(text, editable)
    box = ui.codemirror(
        shown,
        language=language,  # type: ignore[arg-type]
        theme=_theme(view.session.dark),
        line_wrapping=True,
    )
    box.classes("w-full min-w-0 cp-editor").props(f'aria-label="{label}"')
    box.set_enabled(editable)
    note_hidden(text)
    view.dark.on_value_change(lambda event: box.set_theme(_theme(event.value)))
    return box


def language_of(path: str) -> str | None:
    return LANGUAGES.get(path.rsplit(".", 1)[-1].lower())


async def confirmed(question: str, detail: str, action: str) -> bool:
    """Ask before something that cannot simply be taken back."""
    with ui.dialog() as dialog, ui.card().classes("w-96 max-w-full"):
        ui.label(question).classes("text-base font-semibold cp-text")
        ui.label(detail).classes("cp-muted cp-text")
        with ui.row().classes("w-full justify-end"):
            ui.button("Cancel", on_click=lambda: dialog.submit(False)).props(
                QUIET + " autofocus"
            ).classes("cp-quiet")
            ui.button(action, on_click=lambda: dialog.submit(True)).props("no-caps color=negative")
    answer = await dialog
    dialog.delete()
    return bool(answer)


async def asked(question: str, label: str, value: str, action: str) -> str | None:
    """Ask for one line of text; None where the person changed their mind."""
    with ui.dialog() as dialog, ui.card().classes("w-96 max-w-full"):
        ui.label(question).classes("text-base font-semibold")
        field = ui.input(label, value=value).props("outlined dense autofocus").classes("w-full")
        field.on("keydown.enter", lambda: dialog.submit(field.value))
        with ui.row().classes("w-full justify-end"):
            ui.button("Cancel", on_click=lambda: dialog.submit(None)).props(QUIET).classes(
                "cp-quiet"
            )
            ui.button(action, on_click=lambda: dialog.submit(field.value)).props("no-caps")
    answer = await dialog
    dialog.delete()
    return answer.strip() or None if isinstance(answer, str) else None


def linked(table: ui.table, column: str, page: str) -> ui.table:
    """Rows that open `page`/id: by a click anywhere, and by a link for the keyboard.

    The slot shows values as text.
    """
    place = f"`{MOUNT}{page}/${{encodeURIComponent(props.row.id)}}`"
    link = f'<a class="nicegui-link" :href="{place}" @click.stop>'
    table.add_slot(
        f"body-cell-{column}", f'<q-td :props="props">{link}{{{{ props.value }}}}</a></q-td>'
    )
    _cards(
        table, column, f"{link}{{{{ col.value }}}}</a>", "$parent.$emit('rowClick', {}, props.row)"
    )
    table.on("rowClick", lambda event: ui.navigate.to(f"{page}/{event.args[1]['id']}"))
    return table


def opening(
    table: ui.table,
    column: str,
    act: Callable[[dict[str, Any]], Awaitable[None]],
    *,
    wraps: bool = True,
) -> ui.table:
    """One column as a button, for the keyboard. The slot shows the value as text."""
    look = "cp-quiet cp-text" if wraps else "cp-quiet cp-whole"
    tell = "$parent.$emit('opened', props.row)"

    def button(value: str) -> str:
        return (
            f'<q-btn flat dense no-caps align="left" class="{look}" :label="String({value} ?? '
            f'\'\')" @click.stop="{tell}" />'
        )

    table.add_slot(f"body-cell-{column}", f'<q-td :props="props">{button("props.value")}</q-td>')
    _cards(table, column, button("col.value"), tell)
    table.on("opened", lambda event: act(event.args))
    return table


def _cards(table: ui.table, column: str, inner: str, clicked: str) -> None:
    """The same where the screen is narrow: Quasar then draws rows as cards and leaves the slots
    of their cells out.
    """
    tick = (
        '<div class="q-table__grid-item-row"><q-checkbox dense v-model="props.selected" '
        "@click.stop /></div><q-separator />"
    )
    row = (
        '<div class="q-table__grid-item-row" v-for="col in props.cols" :key="col.name">'
        '<div class="q-table__grid-item-title">{{ col.label }}</div><div '
        'class="q-table__grid-item-value">'
        f"<template v-if=\"col.name === '{column}'\">{inner}</template><template v-else>{{{{ "
        f"col.value }}}}</template></div></div>"
    )
    card = (
        f'<div class="q-table__grid-item-card q-table__card" '
        f'@click="{clicked}">{tick if table.selection else ""}{row}</div>'
    )
    table.add_slot("item", f'<div class="q-table__grid-item col-12">{card}</div>')


def choice(title: str, options: list[str], value: str) -> ui.select:
    """A filter: one of the options, or any.

    A value of the address that is no option stays, and finds nothing.
    """
    known = [ANY, *options] if value in ("", *options) else [ANY, *options, value]
    return (
        ui.select(known, value=value or ANY, label=title)
        .props("outlined dense options-dense")
        .classes("min-w-32")
    )


def columns_of(names: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """Columns of a table from (field, title) pairs."""
    return [
        {
            "name": name,
            "label": title,
            "field": name,
            "align": "left",
            "classes": LOOKS.get(name, ""),
        }
        for name, title in names
    ]


def pager(total: int, size_of_page: int, page: int, turn: Callable[[int], Awaitable[None]]) -> None:
    """Turns the pages of a list that stays on the server; nothing where it fits on one."""
    pages = -(-total // size_of_page)
    if pages <= 1:
        return

    async def turned(event: Any) -> None:
        if event.value and event.value != page:
            await turn(int(event.value))

    ui.pagination(1, pages, value=min(page, pages), direction_links=True, on_change=turned).props(
        "max-pages=7"
    )


def whole(text: str | None, default: int, least: int = 1) -> int:
    """A number out of an address that anybody may have typed."""
    return (
        max(least, int(text))
        if text and text.isascii() and text.isdigit() and len(text) < 9
        else default
    )


def address(page: str, /, **filters: Any) -> str:
    """A URL of the console that can be shared, with what is set in it."""
    kept = {name: value for name, value in filters.items() if value not in (None, "", False)}
    return f"{page}?{urlencode(kept)}" if kept else page


def remember(shared: str) -> None:
    """Put an address of the console into the browser's bar, so that a reload, a bookmark or a
    link shows the same.
    """
    ui.navigate.history.replace(f"{MOUNT}{shared}")


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def size(count: int) -> str:
    if count < 1024:
        return f"{count} B"
    if count < 1024 * 1024:
        return f"{count / 1024:.1f} KiB"
    return f"{count / 1024 / 1024:.1f} MiB"


def _theme(dark: bool | None) -> Literal["vscodeDark", "vscodeLight"]:
    return "vscodeDark" if dark else "vscodeLight"

"""Memory: entries to search, read, correct and link; suggestions, stale and deleted entries."""

from __future__ import annotations

from commonplace.console.page import PageRoute
from commonplace.console.pages.memory import (
    changes,
    editing,
    entries,
    entry,
    promotion,
    suggestions,
    timeline,
)

POST = ("POST",)
TABS = {
    "entries": entries.show_entries,
    "suggestions": suggestions.show_suggestions,
    "timeline": timeline.show_timeline,
    "stale": entries.show_stale,
    "deleted": entries.show_deleted,
}


ROUTES = (
    PageRoute("/memory", entries.choose_tab(TABS)),
    PageRoute("/live/memory", entries.stream_news),
    PageRoute("/new-memory", editing.show_new),
    PageRoute("/new-memory", editing.create, POST),
    PageRoute("/restore-memories", changes.restore_selected, POST),
    PageRoute("/retire-memories", changes.change_status, POST),
    PageRoute("/memory-suggestions", suggestions.decide, POST),
    PageRoute("/memory-decisions", suggestions.decide_many, POST),
    PageRoute("/memory/{identity}", entry.show),
    PageRoute("/memory/{identity}/edit", editing.show_edit),
    PageRoute("/memory/{identity}/edit", editing.save, POST),
    PageRoute("/memory/{identity}/delete", changes.delete, POST),
    PageRoute("/memory/{identity}/link", entry.show_link),
    PageRoute("/memory/{identity}/link", changes.link, POST),
    PageRoute("/memory/{identity}/promote", promotion.show_promote),
    PageRoute("/memory/{identity}/promote", promotion.promote, POST),
)

"""Instructions: the catalogue, its graph, governance, prompt review, use and feedback."""

from __future__ import annotations

from commonplace.console.page import PageRoute
from commonplace.console.pages.instructions import (
    editing,
    entry,
    feedback,
    graph,
    kept,
    prompt,
    review,
    rules,
)
from commonplace.console.pages.instructions.governance import review_selected, show_governance
from commonplace.console.pages.instructions.tabs import choose_tab
from commonplace.console.pages.instructions.usage import show_usage

POST = ("POST",)
TABS = {
    "rules": rules.show_rules,
    "graph": graph.show_graph,
    "governance": show_governance,
    "prompt": prompt.show_prompt,
    "usage": show_usage,
    "feedback": feedback.show_feedback,
}

ROUTES = (
    PageRoute("/instructions", choose_tab(TABS)),
    PageRoute("/instruction-graph", graph.download),
    PageRoute("/live/instructions", rules.stream_news),
    PageRoute("/change-instructions", rules.change_selected, POST),
    PageRoute("/review-instructions", review_selected, POST),
    PageRoute("/undo-instructions", rules.undo_changes, POST),
    PageRoute("/restore-removals", kept.restore_backup, POST),
    PageRoute("/prompt-review", prompt.review, POST),
    PageRoute("/feedback", feedback.submit, POST),
    PageRoute("/feedback-status", feedback.change_status, POST),
    PageRoute("/new-instruction", editing.show_new),
    PageRoute("/new-instruction", editing.create, POST),
    PageRoute("/instructions/{identity}", entry.show),
    PageRoute("/instructions/{identity}/edit", editing.show_edit),
    PageRoute("/instructions/{identity}/edit", editing.save, POST),
    PageRoute("/instructions/{identity}/remove", entry.remove, POST),
    PageRoute("/instructions/{identity}/restore", entry.restore, POST),
    PageRoute("/instructions/{identity}/review", review.show),
    PageRoute("/instructions/{identity}/review", review.decide, POST),
    PageRoute("/instructions/{identity}/archive", kept.archive, POST),
    PageRoute("/instructions/{identity}/governance", entry.change_governance, POST),
)

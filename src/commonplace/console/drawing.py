"""Graphs as Mermaid: ids of our own, labels without a character that means something, strict
rendering.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nicegui import ui

from commonplace.console.shell import View

MAX_LABEL = 48
MEANINGFUL = {ord(char): ord(char) + 0xFEE0 for char in '"<>`#;%{}[]|&*\\'}
"""What Mermaid or HTML could read as more than text, each as its full-width twin: entities would
be shown as they are written.
"""


def label(text: str) -> str:
    """Text as a Mermaid label, on one line and not too long."""
    flat = " ".join(text.split())
    cut = flat if len(flat) <= MAX_LABEL else flat[: MAX_LABEL - 1] + "…"
    return cut.translate(MEANINGFUL) or "-"


def flowchart(
    nodes: Mapping[str, str], links: Iterable[tuple[str, str, str]], centre: str | None = None
) -> str:
    """Nodes by key with their titles, links as (source, target, title)."""
    ids = {key: f"n{number}" for number, key in enumerate(nodes)}
    lines = ["flowchart LR", *(f'  {ids[key]}["{label(title)}"]' for key, title in nodes.items())]
    lines += [
        f'  {ids[one]} -->|"{label(title)}"| {ids[two]}'
        for one, two, title in links
        if one in ids and two in ids
    ]
    if centre in ids:
        lines.append(f"  style {ids[centre]} stroke-width:3px")
    return "\n".join(lines)


def drawn(view: View, source: str) -> ui.mermaid:
    """The drawing in the page's colours."""
    config: dict[str, Any] = {
        "securityLevel": "strict",
        "htmlLabels": False,
        "flowchart": {"htmlLabels": False, "nodeSpacing": 18, "rankSpacing": 70},
        "maxTextSize": 500_000,
        "maxEdges": 5000,
        "theme": "dark" if view.session.dark else "neutral",
    }
    return ui.mermaid(source, config).classes("w-full cp-code")

"""Draw entries and links as Mermaid: names of our own, labels without special characters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

MAX_LABEL = 48
# What Mermaid or HTML could read as more than text is replaced by its full-width form; entities
# would be shown as they are written.
SPECIAL = {ord(char): ord(char) + 0xFEE0 for char in '"<>`#;%{}[]|&*\\'}


def make_label(text: str) -> str:
    """Return a text as a label, on one line and not too long."""
    flat = " ".join(text.split())
    cut = flat if len(flat) <= MAX_LABEL else flat[: MAX_LABEL - 1] + "…"
    return cut.translate(SPECIAL) or "-"


def name_nodes(nodes: Mapping[str, str]) -> dict[str, str]:
    """Return the names of nodes in the drawing, by key."""
    return {key: f"n{number}" for number, key in enumerate(nodes)}


def draw_links(
    nodes: Mapping[str, str], links: Iterable[tuple[str, str, str]], centre: str | None = None
) -> str:
    """Draw nodes by key with their titles, and links as (source, target, title)."""
    names = name_nodes(nodes)
    lines = ["flowchart LR"]
    lines += [f'  {names[key]}["{make_label(title)}"]' for key, title in nodes.items()]
    lines += [
        f'  {names[source]} -->|"{make_label(title)}"| {names[target]}'
        for source, target, title in links
        if source in names and target in names
    ]
    if centre in names:
        lines.append(f"  style {names[centre]} stroke-width:3px")
    return "\n".join(lines)

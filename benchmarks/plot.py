"""A grouped bar chart as plain SVG: one figure for docs/explanation/search.md, no plotting
library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

BAR, GAP, HEIGHT, LEFT, TOP = 26, 34, 220, 48, 46
COLOURS = (("lexical", "#4878a8"), ("semantic", "#d08a3c"), ("fused", "#3f8f5f"))


def draw(sets: Sequence[Any], fused: Callable[[Any], Any], path: Path) -> None:
    """nDCG@10 of the three rankings for every collection."""
    group = 3 * BAR + GAP
    width = LEFT + len(sets) * group + 10
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT + TOP + 44}" '
            f'font-family="sans-serif" font-size="12">'
        ),
        f'<rect width="{width}" height="{HEIGHT + TOP + 44}" fill="#ffffff"/>',
        (
            f'<text x="{LEFT}" y="18" font-size="14">nDCG@10: words, meaning, and both with one '
            "set of parameters</text>"
        ),
    ]
    for at, (name, colour) in enumerate(COLOURS):
        parts.append(f'<rect x="{LEFT + at * 90}" y="27" width="11" height="11" fill="{colour}"/>')
        parts.append(f'<text x="{LEFT + at * 90 + 16}" y="37">{name}</text>')
    for tick in range(0, 11, 2):
        y = TOP + HEIGHT - HEIGHT * tick / 10
        parts.append(f'<line x1="{LEFT}" x2="{width - 10}" y1="{y}" y2="{y}" stroke="#dddddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{tick / 10:.1f}</text>')
    for at, features in enumerate(sets):
        x = LEFT + GAP // 2 + at * group
        values = (
            features.lexical[:, 0].mean(),
            features.semantic[:, 0].mean(),
            fused(features)[:, 0].mean(),
        )
        for bar, (value, (_, colour)) in enumerate(zip(values, COLOURS, strict=True)):
            high = HEIGHT * float(value)
            left = x + bar * BAR
            parts.append(
                f'<rect x="{left}" y="{TOP + HEIGHT - high:.1f}" width="{BAR - 3}" '
                f'height="{high:.1f}" fill="{colour}"/>'
            )
            parts.append(
                f'<text x="{left + BAR / 2 - 1}" y="{TOP + HEIGHT - high - 4:.1f}" '
                f'text-anchor="middle" font-size="10">{value:.2f}</text>'
            )
        parts.append(
            f'<text x="{x + 1.5 * BAR}" y="{TOP + HEIGHT + 18}" '
            f'text-anchor="middle">{features.name}</text>'
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*parts, "</svg>", ""]), "utf-8")

"""Names of tools in texts of a profile."""

from __future__ import annotations

import difflib
import re
from dataclasses import replace

from commonplace.dispatch.registry import Registry, Selection
from commonplace.kernel.errors import CommonplaceError


class Naming:
    """Rewrites texts so that they name the tools of a profile as it lists them."""

    def __init__(self, registry: Registry, selection: Selection) -> None:
        self._selection = selection
        self._registry = registry
        self._pattern: re.Pattern[bytes] | None = None
        self._names: dict[bytes, bytes] = {}

    def write(self, text: bytes) -> bytes:
        """Replace names of tools by the listed ones; `oas_walk_*` becomes `walk_*`."""
        if not self._selection.renamed:
            return text
        pattern = self._compile_pattern()
        return (
            pattern.sub(lambda found: self._names[found[0]], text) if pattern is not None else text
        )

    def suggest(self, error: CommonplaceError) -> CommonplaceError:
        """Return the error of an unknown tool with a hint that names a listed tool."""
        if not self._selection.lists_only:
            return error
        near = difflib.get_close_matches(
            str(error.details.get("tool", ""))[:64], self._list_names(), n=1
        )
        return CommonplaceError(
            error.code,
            error.message,
            hint=f"Did you mean {near[0]}?" if near else "tools/list shows what there is.",
            details=error.details,
            retryable=error.retryable,
        )

    def _list_names(self) -> list[str]:
        renamed = self._selection.renamed
        return [
            tool.aliases[0] if renamed and tool.aliases else tool.name
            for tool in self._registry.listed(self._selection)
        ]

    def _compile_pattern(self) -> re.Pattern[bytes] | None:
        if self._pattern is None:
            # Extended tools are not listed, but texts may name them.
            tools = self._registry.listed(replace(self._selection, all_tiers=True))
            pairs = {
                tool.name: tool.aliases[0]
                for tool in tools
                if tool.aliases and tool.aliases[0] != tool.name
            }
            for name, alias in list(pairs.items()):
                family, listed = name.rpartition("_")[0], alias.rpartition("_")[0]
                if family.count("_") and listed:
                    pairs.setdefault(f"{family}_*", f"{listed}_*")
            self._names = {name.encode(): alias.encode() for name, alias in pairs.items()}
            words = "|".join(re.escape(name) for name in sorted(pairs, key=len, reverse=True))
            if words:
                self._pattern = re.compile(
                    rf"(?<![A-Za-z0-9_])(?:{words})(?![A-Za-z0-9_])".encode()
                )
        return self._pattern

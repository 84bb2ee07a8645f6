"""Answers for hooks without a server: rules by prefix of path, items of packs by words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class FixedAnswers:
    """An `AnswerSource` with rules by prefix of the path ("" applies always) and fixed packs."""

    def __init__(
        self,
        rules: dict[str, list[tuple[str, str]]] | None = None,
        packs: dict[str, list[tuple[str, str, str]]] | None = None,
    ) -> None:
        self.rules = rules or {}
        self.packs = packs or {}
        self.asked: list[tuple[str, Any]] = []

    @property
    def is_warm(self) -> bool:
        return True

    def rules_for(
        self, paths: Sequence[str], *, task: str = "", budget: int = 0, repo: str | None = None
    ) -> dict[str, Any]:
        self.asked.append(("rules_for", tuple(paths)))
        applying = [
            (name, text)
            for prefix, rules in self.rules.items()
            if not prefix or any(path.startswith(prefix) for path in paths)
            for name, text in rules
        ]
        return {"rules": [rule(name, text) for name, text in applying], "cutCount": 0}

    def context(
        self,
        task: str,
        *,
        paths: Sequence[str] = (),
        since: str | None = None,
        budget: int = 0,
        repo: str | None = None,
    ) -> dict[str, Any]:
        self.asked.append(("context", (task, since)))
        answer: dict[str, Any] = {"pack_id": f"pack-{len(self.asked)}"}
        always = self.rules.get("", [])
        if always:
            answer["rules"] = [rule(name, text) for name, text in always]
        for word, items in self.packs.items():
            if word in task.lower():
                for section, title, text in items:
                    item = {"ref": f"{section}:{title}", "title": title, "text": text}
                    answer.setdefault(section, []).append(item | {"why": f"names {word}"})
        return answer


def rule(name: str, text: str) -> dict[str, Any]:
    found = {"ref": f"instruction:{name}", "title": f"Rule {name}", "requirement": "mandatory"}
    return found | {"text": text, "scope": "organisation", "why": ["it applies always"]}

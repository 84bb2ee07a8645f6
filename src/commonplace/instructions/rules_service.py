"""Facade of rules: which are in effect for a path, from the catalogue and from rule files."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from commonplace.instructions.engine.scope.repository_path import normalise_path
from commonplace.kernel.auth import LOCAL_TENANT, AuthContext
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError

if TYPE_CHECKING:
    from commonplace.instructions.engine.effective.outcome import EffectiveRules, RuleQuestion
    from commonplace.instructions.rulefiles.allowed import RuleFolders
    from commonplace.instructions.use_cases.effective.reader import EffectiveRulesReader
    from commonplace.instructions.use_cases.parts import CatalogueParts

MOST_PATHS = 200


class RulesService:
    """Rules for paths, as each caller sees the catalogue."""

    def __init__(self, parts_of: Callable[[AuthContext], CatalogueParts]) -> None:
        self._parts_of = parts_of
        self._lock = threading.Lock()
        self._readers: dict[int, EffectiveRulesReader] = {}  # by the identity of the store

    def rules_for(
        self,
        caller: AuthContext,
        question: RuleQuestion,
        repo: str | None = None,
        folders: RuleFolders | None = None,
    ) -> tuple[EffectiveRules, RuleQuestion, str]:
        """Return the rules in effect, the question as it was understood, and the catalogue hash.

        User, teams and workspace come from the key and the settings where the question leaves
        them out. `repo` adds the rule files of a folder inside `folders` (by default those of the
        settings). Raises INVALID_RULE_PATH, REPOSITORY_NOT_ALLOWED.
        """
        parts = self._parts_of(caller)
        paths = normalise_paths(question.paths)
        identified = caller.label != LOCAL_TENANT and caller.tenant != LOCAL_TENANT
        understood = replace(
            question,
            paths=paths,
            user=question.user or (caller.label if identified else None),
            teams=question.teams or ((caller.tenant,) if identified else ()),
            workspace=question.workspace or parts.settings.workspace,
            drafts=question.drafts or parts.settings.serve_drafts,
        )
        tree = (folders or parts.folders).open(repo) if repo is not None else None
        rules, catalogue_hash = self._reader(parts).answer(understood, tree)
        return rules, understood, catalogue_hash

    def _reader(self, parts: CatalogueParts) -> EffectiveRulesReader:
        from commonplace.instructions.use_cases.effective.reader import EffectiveRulesReader

        with self._lock:
            reader = self._readers.get(id(parts.store))
            if reader is None:
                reader = self._readers[id(parts.store)] = EffectiveRulesReader(parts.store)
            return reader


def normalise_paths(paths: Sequence[str]) -> tuple[str, ...]:
    """Return distinct repository paths. Raises INVALID_RULE_PATH, INVALID_ARGUMENT."""
    if len(paths) > MOST_PATHS:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"{len(paths)} paths are more than {MOST_PATHS}.",
            hint="Ask for fewer files at once.",
            details={"field": "paths"},
        )
    return tuple(dict.fromkeys(normalise_path(path, "paths") for path in paths))

"""The clients by name."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from commonplace.instructions.clients import (
    agents_md,
    claude_code,
    cline,
    codex,
    copilot,
    cursor,
    devin,
    gemini,
    junie,
    kiro,
)
from commonplace.instructions.rulefiles.situation import ClientSituation, Loading, RuleTree

Loader = Callable[[RuleTree, ClientSituation], Loading]

CLIENTS: MappingProxyType[str, Loader] = MappingProxyType(
    {
        "agents-md": agents_md.load,
        "claude-code": claude_code.load,
        "cline": cline.load,
        "codex": codex.load,
        "copilot": copilot.load,
        "cursor": cursor.load,
        "devin": devin.load,
        "gemini": gemini.load,
        "junie": junie.load,
        "kiro": kiro.load,
    }
)

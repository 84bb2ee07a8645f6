"""Answers of a hook without a server: rules and words from the index on disk.

The rules of a folder are used only if its files are those that the index was made of. Those of a
shared catalogue are used as they were last seen, because a hook cannot wait for the network. Where
the index is missing or out of date, the hook makes that of a small folder again itself; otherwise
a process in the background does.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from commonplace.instructions.engine.effective.outcome import RuleQuestion
from commonplace.instructions.engine.scope.repository_path import normalise_path
from commonplace.instructions.store.kept.index import UnusableIndexError
from commonplace.instructions.store.kept.listing import list_members
from commonplace.instructions.tools.effective.spelling import show_rules
from commonplace.instructions.use_cases.effective.kept import KeptRulesReader
from commonplace.kernel.config.loading import POSTGRES_SCHEMES, load
from commonplace.kernel.json_types import JsonObject
from commonplace.kernel.settings import Settings

KEY_VARIABLE = "COMMONPLACE_KEY"
MOST_AT_ONCE = 500  # instructions that a hook reads itself, within a few hundred milliseconds
REFRESH_SECONDS = 60.0  # how often a shared catalogue is looked at again
REFRESH_NAME = os.path.join("hooks", "refresh")


class UnknownCallerError(Exception):
    """Only a server can tell whose key this is."""


class KeptRules:
    """The rules that were kept for hooks."""

    def __init__(self, reader: KeptRulesReader, settings: Settings) -> None:
        self._reader = reader
        self._settings = settings

    @classmethod
    def open(cls, data: str, folder: str, config: str) -> KeptRules:
        """Open the index for a working folder. Raises UnusableIndexError, UnknownCallerError."""
        if os.environ.get(KEY_VARIABLE):
            raise UnknownCallerError(f"{KEY_VARIABLE} is set, and no local server runs to check it")
        settings = load(
            file=Path(config) if config else None,
            data=Path(data),
            cwd=Path(folder) if folder else None,
        ).settings
        shared = settings.database_url.startswith(POSTGRES_SCHEMES)
        try:
            if shared:
                reader = KeptRulesReader.of_database(settings.data, settings.database_url)
            else:
                reader = _open_folder(settings)
        except UnusableIndexError:
            refresh_later(data, config, folder)
            raise
        if shared and time.time() - reader.written_ns / 1e9 > REFRESH_SECONDS:
            refresh_later(data, config, folder)
        return cls(reader, settings)

    def rules_for(self, paths: Sequence[str], task: str, budget: int) -> JsonObject:
        """Return what the tool `rules_for` returns."""
        chosen = self._settings.mcp.instructions
        question = RuleQuestion(
            tuple(dict.fromkeys(normalise_path(path) for path in paths)),
            task,
            budget,
            workspace=chosen.workspace,
            drafts=chosen.serve_drafts,
        )
        return show_rules(self._reader.answer(question), question, self._reader.hash)

    def context(self, task: str, paths: Sequence[str], budget: int) -> JsonObject:
        """Return the rules of what the tool `context` returns."""
        found = self.rules_for(paths, task, budget)
        rules = [
            {"ref": rule["ref"], "title": rule["title"], "why": "; ".join(rule["why"])}
            | ({"text": rule["text"]} if "text" in rule else {})
            for rule in found["rules"]
        ]
        return {"rules": rules, "tokens": found["tokens"], "budget": budget}


def _open_folder(settings: Settings) -> KeptRulesReader:
    """Open the index of a folder; that of a small one is made at once if it has to be."""
    data, directory = settings.data, settings.instructions_directory
    try:
        return KeptRulesReader.of_folder(data, directory)
    except UnusableIndexError:
        if sum(1 for _ in list_members(str(directory))) > MOST_AT_ONCE:
            raise
    from commonplace.cli.hooks.refresh import keep_folder

    keep_folder(settings)
    return KeptRulesReader.of_folder(data, directory)


def refresh_later(data: str, config: str, folder: str) -> None:
    """Let a process in the background make the index again, at most one in a few seconds."""
    from commonplace.edge.relay.launching import spawn

    mark = os.path.join(data, REFRESH_NAME)
    os.makedirs(os.path.dirname(mark), mode=0o700, exist_ok=True)
    try:
        if time.time() - os.stat(mark).st_mtime < 5.0:
            return
    except FileNotFoundError:
        pass
    descriptor = os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.close(descriptor)
    os.utime(mark)
    options = [f"--data={data}"] + ([f"--config={config}"] if config else [])
    command = [sys.executable, "-P", "-m", "commonplace", "hook", "--refresh", *options]
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        spawn(command, (null, null, null), detach=True, folder=folder)
    finally:
        os.close(null)

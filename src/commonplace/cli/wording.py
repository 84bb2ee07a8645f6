"""Text for a terminal: commands instead of tool names, under the path that works here."""

from __future__ import annotations

import re

from commonplace.cli.overview import COMMANDS
from commonplace.cli.program import NAME, find_program_name

PHRASES = (
    ("the hash is in file_stat and file_read", "commonplace files get --json shows the hash"),
    ("memory_delete with restore=true", "commonplace memory rm --restore"),
    ("memory_delete and restore=true", "commonplace memory rm --restore"),
    ("memory_update with status=active", "memory_update status=active"),
    ("rekall_suggest_links or rekall_suggest_generalize", "commonplace memory suggest"),
    ("rekall_reject_suggestion", "commonplace memory suggest --reject"),
    ("omit resolve_refs", "omit --resolve-refs"),
    ("use the oas_walk_* tools", "use commonplace oas walk"),
    ("the fix tool does it", "commonplace oas fix does it"),
    ("oas_convert and the target ", "commonplace oas convert FILE --target "),
    ("Pass pointer for", "Pass --pointer for"),
    ("pass replace_all", "pass --all"),
    ("recursive=true", "--recursive"),
    ("literal=true", "--literal"),
    ("Repeat the call with confirm: true", "Repeat the command with --yes"),
    ("Write it in parts with mode APPEND", "Write it in parts with --append"),
)
"""Phrases of hints for tools, and their counterparts on the command line."""
TOOLS = {
    "capture_list": "capture list",
    "file_list": "files ls",
    "file_stat": "files ls",
    "file_read": "files get",
    "file_search": "files search",
    "file_restore": "files restore",
    "file_index_status": "files status",
    "instructions_history": "instructions show --history",
    "instructions_archive": "instructions archive",
    "instructions_removed": "instructions removed",
    "instructions_review_decide": "instructions review approve",
    "instructions_review_list": "instructions review list",
    "instructions_review_show": "instructions review show",
    "instructions_review_submit": "instructions review submit",
    "instructions_search": "instructions search",
    "memory_stale": "memory stale",
    "rekall_search": "memory search",
    "rekall_show": "memory show",
    "oas_convert": "oas convert",
    "oas_fix": "oas fix",
    "oas_overlay_apply": "oas overlay",
    "oas_overlay_validate": "oas overlay-validate",
    "oas_parse": "oas parse",
    "oas_validate": "oas validate",
}
TOOL = re.compile(  # not the fields that begin like a tool
    r"\b(?!(?:file_count|file_path|file_seek_(?:start|end)_bytes|memory_bytes|memory_type)\b)"
    r"(?:capture|file|rekall|memory|instructions|oas|graph|gates|feedback|usage|audit|integrity|"
    r"prompt)"
    r"_[a-z_]+\b"
)
_COMMAND = re.compile(
    rf"(?<![\w./-]){NAME} (?=--|(?:{'|'.join(command.name for command in COMMANDS)})\b)"
)


def in_commands(text: str) -> str:
    """Replace tool names by commands in a text that was written for agents."""
    for phrase, command_phrase in PHRASES:
        text = text.replace(phrase, command_phrase)
    return TOOL.sub(
        lambda found: (
            f"{NAME} {TOOLS[found[0]]}" if found[0] in TOOLS else f"{NAME} call {found[0]}"
        ),
        text,
    )


def as_typed(text: str) -> str:
    """Make every command in a text work in this shell, with the program's path if needed."""
    if _COMMAND.search(text) is None:
        return text
    name = find_program_name()
    return text if name == NAME else _COMMAND.sub(lambda found: f"{name} ", text)

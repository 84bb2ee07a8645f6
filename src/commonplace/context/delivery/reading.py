"""Read the JSON that a client gives its hooks.

Fields as documented; see docs/how-to/hooks.md for the sources. An unknown event or a missing
field is an event about which nothing is asked, never an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from commonplace.context.delivery.event import HookClient, HookEvent, Moment
from commonplace.context.delivery.patch import find_patched_paths
from commonplace.kernel.json_types import Json, JsonObject

MAX_PROMPT_CHARS = 4_000
MAX_PATHS = 50
MAX_PATH_CHARS = 4_096

# Names of events in every client, without their case.
_MOMENTS = {
    "userpromptsubmit": Moment.PROMPT,
    "userpromptsubmitted": Moment.PROMPT,
    "userpromptexpansion": Moment.PROMPT,
    "beforesubmitprompt": Moment.PROMPT,
    "beforeagent": Moment.PROMPT,
    "pretooluse": Moment.TOOL,
    "posttooluse": Moment.TOOL,
    "aftertool": Moment.TOOL,
    "precompact": Moment.COMPACTING,
    "postcompact": Moment.COMPACTING,
    "precompress": Moment.COMPACTING,
    "sessionstart": Moment.SESSION_START,
    "taskstart": Moment.SESSION_START,
    "subagentstart": Moment.SUBAGENT,
}
# Tools that write a file, in every client, without their case.
_EDITORS = frozenset(
    {
        # Claude Code, Cursor
        "write",
        "edit",
        "multiedit",
        "notebookedit",
        # Codex, VS Code, Copilot
        "apply_patch",
        "create_file",
        "replace_string_in_file",
        "multi_replace_string_in_file",
        "insert_edit_into_file",
        "edit_notebook_file",
        "create_new_jupyter_notebook",
        "editfiles",
        "createfile",
        "create",
        "str_replace",
        "str_replace_editor",
        # Gemini CLI
        "write_file",
        "replace",
        # Cline
        "write_to_file",
        "replace_in_file",
        "new_file",
    }
)
_TRAITS = (
    ("cursor_version", HookClient.CURSOR),
    ("clineVersion", HookClient.CLINE),
    ("hookEventName", HookClient.VSCODE),
    ("turn_id", HookClient.CODEX),
)
_PATH_FIELDS = (
    "file_path",
    "filePath",
    "path",
    "absolutePath",
    "absolute_path",
    "notebook_path",
    "target_file",
    "relative_workspace_path",
)
_PATCH_FIELDS = ("command", "input", "patch")


def read_event(client: HookClient, name: str, payload: Json) -> HookEvent:
    """Return what a hook tells; `name` is the event of the command line, if the JSON has none."""
    fields: JsonObject = payload if isinstance(payload, dict) else {}
    event = _text(fields, "hook_event_name", "hookEventName", "hookName") or name
    details = _details(fields, event)
    moment = _MOMENTS.get(event.replace("_", "").lower(), Moment.OTHER)
    if moment is Moment.SESSION_START:
        moment = _start_moment(_text(fields, "source"))
    paths: tuple[str, ...] = ()
    if moment is Moment.TOOL and _text(details, "tool_name", "toolName").lower() in _EDITORS:
        paths = tuple(dict.fromkeys(_written_paths(details)))[:MAX_PATHS]
        moment = Moment.EDIT if paths else moment
    return HookEvent(
        client=client,
        name=event[:64],
        moment=moment,
        session=_session(fields),
        agent=_text(fields, "agent_id")[:256],
        roots=_roots(fields),
        prompt=_prompt(details)[:MAX_PROMPT_CHARS],
        paths=paths,
    )


def recognise_client(named: str, payload: Json) -> HookClient:
    """Return the client that sends this JSON: the one that was named, unless a field tells.

    VS Code and Cursor also run the hooks that were written for Claude Code.
    """
    fields = payload if isinstance(payload, dict) else {}
    for field, client in _TRAITS:
        if field in fields:
            return client
    return HookClient(named) if named else HookClient.CLAUDE_CODE


def _start_moment(source: str) -> Moment:
    """Return what a start means: a resumed or forked context still holds what was delivered."""
    if source == "compact":
        return Moment.COMPACTED
    return Moment.OTHER if source in ("resume", "fork") else Moment.SESSION_START


def _details(fields: JsonObject, event: str) -> JsonObject:
    """Return the fields of the event; Cline puts them into an object named after it."""
    inner = fields.get(event[:1].lower() + event[1:])
    return inner if isinstance(inner, dict) else fields


def _session(fields: JsonObject) -> str:
    session = _text(fields, "session_id", "sessionId", "conversation_id", "taskId")
    return (session or _text(fields, "transcript_path", "transcriptPath", "cwd"))[:512]


def _roots(fields: JsonObject) -> tuple[str, ...]:
    listed = fields.get("workspace_roots") or fields.get("workspaceRoots") or ()
    folders = [_text(fields, "cwd"), *(listed if isinstance(listed, list) else ())]
    return tuple(
        folder for folder in dict.fromkeys(folders) if isinstance(folder, str) and _is_path(folder)
    )[:8]


def _is_path(text: str) -> bool:
    return 0 < len(text) <= MAX_PATH_CHARS and text.isprintable()


def _prompt(details: JsonObject) -> str:
    prompt = _text(details, "prompt", "initial_prompt", "initialPrompt")
    metadata = details.get("taskMetadata")
    return prompt or (_text(metadata, "initialTask") if isinstance(metadata, dict) else "")


def _written_paths(details: JsonObject) -> Iterator[str]:
    """Yield the paths that a tool writes, from its arguments."""
    arguments = details.get("tool_input", details.get("toolArgs", details.get("parameters")))
    if isinstance(arguments, str):  # a patch, or JSON in text (Copilot)
        arguments = _decoded(arguments)
    if not isinstance(arguments, dict):
        return
    named = [path for path in _named_paths(arguments) if _is_path(path)]
    yield from named
    for field in () if named else _PATCH_FIELDS:  # a written text may quote a patch
        patch = arguments.get(field)
        if isinstance(patch, str):
            yield from find_patched_paths(patch, MAX_PATHS)


def _named_paths(arguments: Mapping[str, Json]) -> Iterator[str]:
    for field in _PATH_FIELDS:
        if isinstance(path := arguments.get(field), str) and path:
            yield path
    for field in ("files", "paths", "edits", "replacements"):
        entries = arguments.get(field)
        for entry in entries[:MAX_PATHS] if isinstance(entries, list) else ():
            if isinstance(entry, str) and entry:
                yield entry
            elif isinstance(entry, dict):
                yield from _named_paths({key: entry.get(key) for key in _PATH_FIELDS})


def _decoded(text: str) -> Json:
    """Return the JSON of a text, or the text as a patch."""
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {"patch": text}


def _text(fields: Mapping[str, Json], *names: str) -> str:
    for name in names:
        if isinstance(value := fields.get(name), str) and value:
            return value
    return ""

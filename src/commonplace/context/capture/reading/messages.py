"""Records of Claude Code, of Codex, and messages in the forms of model services."""

from __future__ import annotations

import re
from collections.abc import Mapping

import orjson

from commonplace.context.capture.reading.calls import OpenCalls, texts_of
from commonplace.context.capture.reading.limits import StepBuffer, shorten_text
from commonplace.context.capture.transcript import Speaker, SpokenText
from commonplace.kernel.json_types import Json

# What clients add to the text of a user, and what a user did not write.
_ADDED = re.compile(
    r"<(system-reminder|environment_context|user_instructions|local-command-stdout|"
    r"local-command-stderr|command-name|command-message|command-args|bash-stdout|bash-stderr|"
    r"bash-input|ide_opened_file|ide_selection|permissions[ _]instructions|INSTRUCTIONS|"
    r"turn_aborted|user-prompt-submit-hook|task-notification|skill|subagent_notification)"
    r"(?:\s[^>]{0,200})?>[\s\S]*?(?:</\1>|\Z)"
)
_NOT_SAID = (
    "# AGENTS.md instructions",
    "Caveat: The messages below were generated",
    "[Request interrupted",
    "This session is being continued from a previous conversation",
    "Base directory for this skill",
)
_SPEAKERS = {
    "user": Speaker.USER,
    "human": Speaker.USER,
    "assistant": Speaker.ASSISTANT,
    "model": Speaker.ASSISTANT,
    "agent": Speaker.ASSISTANT,
    "gemini": Speaker.ASSISTANT,
}
_CALLS = frozenset({"tool_use", "function_call", "custom_tool_call", "local_shell_call"})
_RESULTS = frozenset({"tool_result", "function_call_output", "custom_tool_call_output"})
_NOT_TEXT = frozenset({"thinking", "redacted_thinking", "reasoning", "image", "document"})


class RecordReader:
    """Reads the records of one transcript in order."""

    def __init__(self, steps: StepBuffer) -> None:
        self.session = ""
        self.folder = ""
        self._steps = steps
        self._calls = OpenCalls(steps)
        self._last: SpokenText | None = None

    def read(self, record: Mapping[str, Json]) -> bool:
        """Read one record; False if it has no form that is known."""
        payload = record.get("payload")
        self._note_place(record)
        if isinstance(payload, Mapping):
            return self._read_codex(str(record.get("type", "")), payload)
        if record.get("isMeta") or record.get("isCompactSummary") or record.get("isSidechain"):
            return True
        message = record.get("message")
        if isinstance(message, Mapping) and ("content" in message or "role" in message):
            self._read_message(message, record)
            return True
        if "role" in record or record.get("type") in _CALLS | _RESULTS:
            self._read_message(record, record)
            return True
        return "type" in record or "timestamp" in record

    def close(self) -> None:
        """Add what waits for a result."""
        self._calls.close()

    def _note_place(self, record: Mapping[str, Json]) -> None:
        session = record.get("sessionId") or record.get("session_id")
        if isinstance(session, str) and session and not self.session:
            self.session = session[:256]
        if isinstance(folder := record.get("cwd"), str) and folder and not self.folder:
            self.folder = folder[:4096]

    def _read_codex(self, kind: str, payload: Mapping[str, Json]) -> bool:
        if kind == "session_meta":
            if isinstance(session := payload.get("id"), str):
                self.session = self.session or session[:256]
            self._note_place(payload)
        elif kind == "response_item":
            self._read_message(payload, payload)
        elif kind == "event_msg" and payload.get("type") in ("user_message", "agent_message"):
            speaker = Speaker.USER if payload["type"] == "user_message" else Speaker.ASSISTANT
            self._say(speaker, payload.get("message"))
        return bool(kind)

    def _read_message(self, message: Mapping[str, Json], record: Mapping[str, Json]) -> None:
        kind = message.get("type")
        if kind in _CALLS or kind in _RESULTS:
            self._read_part(None, message, record)
            return
        role = str(message.get("role") or record.get("type") or "").lower()
        if role == "tool":
            self._end(message, "tool_call_id", record)
            return
        speaker = _SPEAKERS.get(role)
        content = message.get("content", message.get("parts"))
        if isinstance(content, str):
            self._say(speaker, content)
        for part in content[:1_000] if isinstance(content, list) else ():
            if isinstance(part, Mapping):
                self._read_part(speaker, part, record)
            elif isinstance(part, str):
                self._say(speaker, part)
        calls = message.get("tool_calls")
        for call in calls[:100] if isinstance(calls, list) else ():
            if isinstance(call, Mapping) and isinstance(function := call.get("function"), Mapping):
                self._calls.begin(
                    call.get("id"), function.get("name"), _decode(function.get("arguments"))
                )

    def _read_part(
        self, speaker: Speaker | None, part: Mapping[str, Json], record: Mapping[str, Json]
    ) -> None:
        kind = part.get("type")
        if kind in _CALLS:
            arguments = part.get("input", part.get("arguments", part.get("action")))
            name = part.get("name") or ("shell" if kind == "local_shell_call" else "")
            self._calls.begin(
                part.get("id" if kind == "tool_use" else "call_id"), name, _decode(arguments)
            )
        elif kind in _RESULTS:
            self._end(part, "tool_use_id" if kind == "tool_result" else "call_id", record)
        elif kind not in _NOT_TEXT and isinstance(text := part.get("text"), str):
            self._say(speaker, text)

    def _end(self, part: Mapping[str, Json], field: str, record: Mapping[str, Json]) -> None:
        output = part.get("output", part.get("content"))
        if isinstance(output, str) and output[:1] == "{":
            decoded = _decode(output)
            output = decoded if isinstance(decoded, dict) and "output" in decoded else output
        failed = part.get("is_error")
        told = failed if isinstance(failed, bool) else None
        if isinstance(output, Mapping):
            told = _exit_of(output, told)
        text = "\n".join(texts_of(output))
        details = record.get("toolUseResult")
        if isinstance(details, Mapping) and not text:
            text = "\n".join(texts_of(details))
        self._calls.end(part.get(field), text, told)

    def _say(self, speaker: Speaker | None, text: Json) -> None:
        if speaker is None or not isinstance(text, str):
            return
        text = shorten_text(text)
        if speaker is Speaker.USER:
            text = _ADDED.sub("", text) if "<" in text else text
        text = text.strip()
        if not text or text.startswith(_NOT_SAID):
            return
        said = SpokenText(speaker, text)
        if said != self._last:  # Codex writes a message twice, as an event and as an item
            self._steps.add(said)
        self._last = said


def _exit_of(output: Mapping[str, Json], told: bool | None) -> bool | None:
    metadata = output.get("metadata")
    for fields in (output, metadata if isinstance(metadata, Mapping) else {}):
        for name in ("exit_code", "exitCode", "returncode"):
            if isinstance(code := fields.get(name), int):
                return code != 0
        if isinstance(success := fields.get("success"), bool):
            return not success
    return told


def _decode(arguments: Json) -> Json:
    """Return arguments that are JSON in a text as their value."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return arguments

"""Values of shared sessions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session that any server of a team can serve.

    `owner` is the hash of the tenant that opened it, `key_name` the key whose limit it counts
    against, `opening` the JSON of its initialize request.
    """

    id: str
    owner: str
    key_name: str
    opening: str


@dataclass(frozen=True, slots=True)
class SharedEvent:
    """An event of a stream; without a message it only marks the beginning of the stream."""

    session_id: str
    stream: str
    event_id: str
    message: str | None
    number: int = 0  # given by the store; grows within a stream


@dataclass(frozen=True, slots=True)
class ResourceSubscription:
    """A resource that a session follows; `fingerprint` is the state that its client knows."""

    session_id: str
    uri: str
    fingerprint: str

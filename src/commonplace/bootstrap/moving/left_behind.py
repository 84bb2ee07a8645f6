"""Name what `commonplace migrate --from` leaves in a data folder, and why it is not needed."""

from __future__ import annotations

from pathlib import Path

MOVED = frozenset(
    {
        "instructions",
        "gates.json",
        "owners.json",
        "PROMPT-CRITERIA.json",
        "usage-snapshot.json",
        "feedback.json",
        "keys.json",
        "capture.db",
        "audit",
        "server.id",
    }
)
REASONS = {
    "commonplace.db": "the index: workers make it again; deleted files after their retention",
    "memory.db": "deleted lessons and earlier states of lessons",
    "context.db": "context packs, which are kept for a week",
    "hooks": "what sessions of clients were given, and the index of rules for hooks: made again",
    "vectors": "workers make vectors again",
    "vectors-external": "vectors are made again as tenants call with their key",
    "models": "each machine has its own: commonplace models install",
    "server.secret": "servers of a team share another one: people sign in to the console again",
    "commonplace.yaml": "the settings of this machine",
    "traces": "written only for people",
    "logs": "written only for people",
    "damaged": "put aside by commonplace rebuild",
    "integrity.json": "made again",
    "keys.used.json": "when each key was last used",
    "audit.register": "the chains of audit records in this folder; the database has its own",
    "cache": "made again",
}
TRANSIENT = (".lock", ".tmp", "-wal", "-shm", "-journal", ".sock", ".request")


def describe_left_behind(data: Path) -> dict[str, str]:
    """Return what stays in a data folder, by its name, and why."""
    found = {}
    for path in sorted(data.iterdir()):
        name = path.name
        if name in MOVED or name.startswith(".") or name.endswith(TRANSIENT):
            continue
        found[name] = REASONS.get(name, "not a part of the state that this version knows")
    return found

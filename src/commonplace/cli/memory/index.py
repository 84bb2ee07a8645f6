"""Commands on memory as a whole: stats, reindex, embed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.cli.memory.access import (
    MODEL_SECONDS,
    run,
    service,
)
from commonplace.cli.printing import JsonFlag, out, print_json, table
from commonplace.kernel.auth import LOCAL_TENANT

if TYPE_CHECKING:
    pass


def stats(as_json: JsonFlag = False) -> None:
    """Count entries, links and suggestions."""
    counts = run(service().counts(LOCAL_TENANT))
    if as_json:
        print_json({name: getattr(counts, name) for name in counts.__slots__})
        return
    rows: list[tuple[str, object]] = [
        ("entries", counts.entries),
        ("deleted", counts.deleted),
        ("links", counts.links),
        ("reads", counts.accesses),
    ]
    for title, group in (
        ("type", counts.by_type),
        ("project", counts.by_project),
        ("status", counts.by_status),
        ("suggestions", counts.suggestions),
    ):
        rows += [(f"{title} {name or '(none)'}", count) for name, count in sorted(group.items())]
    out.print(table(("what", "count"), rows))


def reindex(as_json: JsonFlag = False) -> None:
    """Rebuild the search index of every tenant, with vectors if a model is installed."""
    memory = service()

    async def work() -> tuple[int, int]:
        await memory.prepare(MODEL_SECONDS)
        return await memory.reindex()

    entries, vectors = run(work())
    if as_json:
        print_json({"entries": entries, "vectors": vectors})
    else:
        out.print(f"indexed {entries} entries, {vectors} with vectors")


def embed(as_json: JsonFlag = False) -> None:
    """Compute missing vectors of every tenant, and the suggestions that follow.

    Servers do this in the background.

    Example:
      commonplace memory import old.rekall.zip && commonplace memory embed
    """
    memory = service()

    async def work() -> int:
        await memory.prepare(MODEL_SECONDS)
        return await memory.embed_missing()

    embedded = run(work())
    if as_json:
        print_json({"embedded": embedded})
    else:
        out.print(f"embedded {embedded} entries")

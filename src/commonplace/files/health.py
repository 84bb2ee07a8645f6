"""What `doctor` and the metrics say about the index and the vectors of files."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.files.indexing.embedding import SAME_KEYS, UNOPENED
from commonplace.files.model import IndexBacklog, VectorCounts
from commonplace.search.code.languages import EXTRA

RETRY = "commonplace files status shows why; commonplace files reindex tries again."


def index_figures(backlog: IndexBacklog) -> dict[str, float]:
    """Return how far the index is behind, for metrics."""
    return {
        "files_index_waiting": backlog.waiting,
        "files_index_dead": backlog.dead,
        "files_index_outdated": backlog.outdated,
        "files_index_oldest_seconds": round(backlog.age_seconds(), 3),
    }


def index_checks(backlog: IndexBacklog, slo_seconds: float) -> list[dict[str, str]]:
    """Return what `doctor` says about the index of words."""
    age = backlog.age_seconds()
    late = age > slo_seconds
    finding = f"{backlog.waiting} files wait to be indexed"
    if backlog.waiting:
        finding += f", the oldest for {age:.0f} s"
    fix = "Is a server running on this data folder? commonplace files reindex does it now."
    checks = [_check("files index", "warn" if late else "ok", finding, fix if late else "")]
    if backlog.dead:
        finding = f"{backlog.dead} index jobs were given up"
        checks.append(_check("files index", "warn", finding, RETRY))
    if backlog.outdated:
        finding = (
            f"{backlog.outdated} files were indexed by an older version; they are searchable, and "
            f"a server indexes them again in the background"
        )
        fix = "commonplace files reindex does it now."
        checks.append(_check("files index", "note", finding, fix))
    return checks


def grammar_check(missing: Sequence[str]) -> dict[str, str]:
    """Return what `doctor` says about the structure of code."""
    name = "structure of code"
    if not missing:
        return _check(name, "ok", "the grammars of all languages are installed", "")
    finding = f"code is indexed as plain text in: {', '.join(missing)}"
    return _check(name, "note", finding, f"pip install '{EXTRA}'")


def vector_checks(counts: VectorCounts) -> list[dict[str, str]]:
    """Return what `doctor` says about the vectors of the external model."""
    name = "files vectors"
    finding = f"{counts.embedding} files wait for the external model"
    checks = [_check(name, "ok", finding, "")]
    if counts.waiting_credential:
        finding = f"{counts.waiting_credential} files wait for a caller's model key"
        unopened = [reason for reason in counts.waiting_reasons if reason.startswith(UNOPENED)]
        fix = SAME_KEYS if unopened else "Their tenant's next call with X-Model-Key goes on."
        finding += "".join(f"; {reason}" for reason in unopened)
        checks.append(_check(name, "warn" if unopened else "note", finding, fix))
    if counts.dead:
        finding = f"{counts.dead} files were refused by the external model"
        checks.append(_check(name, "warn", finding, RETRY))
    return checks


def _check(name: str, status: str, finding: str, fix: str) -> dict[str, str]:
    return {"name": name, "status": status, "finding": finding, "fix": fix}

"""Checks of the database that the servers of a team share."""

from __future__ import annotations

from collections.abc import Iterator

from commonplace.bootstrap.team import direct_url, on_postgres
from commonplace.cli.doctor.check import DoctorCheck
from commonplace.cli.session import session
from commonplace.kernel.settings import Settings


def check_connection(settings: Settings) -> Iterator[DoctorCheck]:
    """Say why PostgreSQL refuses a connection; raises if its schema is of another version."""
    if not on_postgres(settings):
        return
    from commonplace.storage.postgres.connection import find_refusal

    addresses = {"url": settings.storage.url, "direct_url": direct_url(settings)}
    for name in ("url", "direct_url") if settings.storage.direct_url else ("url",):
        refusal = find_refusal(addresses[name])
        if refusal is not None:
            yield DoctorCheck(
                "database",
                "fail",
                f"PostgreSQL cannot be used: {refusal}",
                f"Check that it runs, and the address, user and password in "
                f"settings.storage.{name}.",
            )
            return
    _ = session().app().services.postgres


def check_moved_in(settings: Settings) -> Iterator[DoctorCheck]:
    """Compare the data folder with the database."""
    from commonplace.bootstrap.move_in import describe_not_moved, movers, require_moved_in

    if not on_postgres(settings) or not settings.data.exists():
        return
    chosen = list(movers(settings, session().app().services.postgres))
    require_moved_in(settings.data, chosen)
    not_moved = describe_not_moved(settings.data, chosen)
    if not_moved:
        yield DoctorCheck(
            "moved in",
            "warn",
            f"the data folder contains data that the database lacks: {not_moved}",
            f"commonplace migrate --from {settings.data}",
        )
    else:
        yield DoctorCheck("moved in", "ok", "the database has what the data folder has")

"""What all tests share: where the data beside the repository is, and an honest count when it is
not there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from servers import (
    drop_database,
    empty_tables,
    make_database,
    migrated_database,
    running_valkey,
    shared_postgres,
)

ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("COMMONPLACE_TEST_DATA", ROOT.parent / "shared" / "data"))

SLOW_FOLDERS = ("browser", "server", "property", "contract")  # slowest files first
SOAK = os.environ.get("COMMONPLACE_SOAK") == "1"
settings.register_profile(
    "commonplace",
    deadline=None,  # a busy machine is not a defect
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not SOAK,  # the same examples on every machine; new ones are for `make soak`
)
settings.load_profile("commonplace")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "oracle: compares with data beside the repository (COMMONPLACE_TEST_DATA)"
    )
    config.addinivalue_line(
        "markers", "soak: a campaign whose whole size runs with COMMONPLACE_SOAK=1"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the folders with slow files first, so that the workers of a run end together.

    Leave out the oracle tests if there is no data for them; the summary says so.
    """
    items.sort(key=_rank_folder)
    if DATA.is_dir():
        return
    oracle = [item for item in items if item.get_closest_marker("oracle")]
    items[:] = [item for item in items if item not in set(oracle)]
    config.hook.pytest_deselected(items=oracle)


def _rank_folder(item: pytest.Item) -> int:
    folder = item.path.relative_to(ROOT / "tests").parts[0]
    return SLOW_FOLDERS.index(folder) if folder in SLOW_FOLDERS else len(SLOW_FOLDERS)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not DATA.is_dir():
        terminalreporter.write_line(
            f"The oracle tests did NOT run: no data at {DATA} (set COMMONPLACE_TEST_DATA)",
            red=True,
        )


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if not DATA.is_dir() and os.environ.get("CI") == "true":
        session.exitstatus = 1


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of documents and collections from other projects."""
    return DATA


@pytest.fixture(scope="session")
def soak() -> bool:
    """Whether the long campaigns run whole."""
    return SOAK


@pytest.fixture(scope="session")
def postgres_server() -> str:
    """The address of a real PostgreSQL with pgvector, started when first wanted; it ends with
    the test run.
    """
    return shared_postgres()


@pytest.fixture
def empty_postgres(postgres_server: str) -> Iterator[str]:
    """The address of a fresh database without any table."""
    url = make_database(postgres_server)
    yield url
    drop_database(postgres_server, url)


@pytest.fixture(scope="session")
def migrated_postgres() -> str:
    """The address of one database with the whole schema, for `postgres_url`."""
    return migrated_database()


@pytest.fixture
def postgres_url(migrated_postgres: str) -> str:
    """The address of a database with the whole schema and no rows."""
    empty_tables(migrated_postgres)
    return migrated_postgres


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[str]:
    """The address of a real Valkey, started when first wanted and stopped at the end."""
    with running_valkey() as url:
        yield url


@pytest.fixture
def valkey_url(valkey_server: str) -> str:
    """The same server, emptied."""
    import redis

    with redis.Redis.from_url(valkey_server) as client:
        client.flushall()
    return valkey_server

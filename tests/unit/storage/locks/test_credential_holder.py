"""Only one process per store may hold model keys in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.locks.credential_holder import hold_credentials_lock


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_second_holder_is_refused_until_the_first_ends(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = (
        request.getfixturevalue("postgres_server")
        if kind == "postgresql"
        else f"sqlite:///{tmp_path / 'x.db'}"
    )
    second = (
        tmp_path / "elsewhere" if kind == "postgresql" else tmp_path
    )  # servers on PostgreSQL share no folder
    with hold_credentials_lock(tmp_path, url):
        with (
            pytest.raises(CommonplaceError, match="must share them through a cache") as refused,
            hold_credentials_lock(second, url),
        ):
            pass
        assert refused.value.code.name == "INVALID_CONFIG"
    with hold_credentials_lock(second, url):
        pass

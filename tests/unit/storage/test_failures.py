"""Descriptions of failures contain no SQL, no text of a driver and no path of this machine."""

from __future__ import annotations

import apsw
import psycopg
import pytest

from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.storage.failures import describe_publicly


@pytest.mark.parametrize(
    "error",
    [
        apsw.SQLError("no such table: search_posting"),
        psycopg.errors.UndefinedTable('relation "search_posting" does not exist\nLINE 1: SELECT 1'),
        FileNotFoundError(2, "No such file or directory", "/home/me/data/vectors"),
    ],
)
def test_texts_of_database_drivers_stay_in_the_log(error: Exception) -> None:
    reason = describe_publicly(error)
    assert reason.endswith("refused it; the server's log says why")
    assert type(error).__name__ not in reason


def test_our_own_messages_are_shown() -> None:
    assert (
        describe_publicly(CommonplaceError(INVALID_ARGUMENT, "It is not legal."))
        == "It is not legal."
    )
    assert describe_publicly(RuntimeError("the model is away")) == "RuntimeError: the model is away"

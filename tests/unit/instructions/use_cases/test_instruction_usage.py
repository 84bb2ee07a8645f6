"""Uses are counted for known instructions and rank them."""

from __future__ import annotations

from pathlib import Path

from catalogue_helpers import CALLER, add, open_service


def test_uses_rank_instructions_and_unknown_ids_are_not_counted(tmp_path: Path) -> None:
    service = open_service(tmp_path, usage_rate_limit_disabled=True, usage_clamp_disabled=True)
    try:
        for id_ in ("a", "b", "c"):
            add(service, id_)
        assert service.track_use(CALLER, "missing") is None
        for id_ in ("b", "c", "b", "a"):
            record = service.track_use(CALLER, id_)
            assert record is not None
            assert not record.rate_limited
        hot = service.hot_set(CALLER, 2)
        assert (hot.limit, [(use.id, use.count) for use in hot.items]) == (2, [("b", 2), ("a", 1)])
    finally:
        service.close()

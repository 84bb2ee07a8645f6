"""Fair claims: the least recently served tenant first, then its least recently served scope."""

from __future__ import annotations

from collections import Counter

from commonplace.storage.fair_queue import FairQueue, TenantScope


class Work:
    """Queued work of several places, as a store would hand it out."""

    def __init__(self, **queued: int) -> None:
        self.left = {TenantScope(*name.split("_")): count for name, count in queued.items()}

    def places(self) -> list[TenantScope]:
        return [place for place, count in self.left.items() if count]

    def take(self, place: TenantScope, most: int) -> list[TenantScope]:
        count = min(most, self.left[place])
        self.left[place] -= count
        return [place] * count


def test_claims_are_shared_equally_and_unused_shares_go_to_others() -> None:
    turns, work = FairQueue(), Work(a_one=100, a_two=100, b_one=1, c_one=100)
    claimed = Counter(turns.claim(work.places(), 21, work.take))
    assert claimed.total() == 21
    assert claimed[TenantScope("b", "one")] == 1
    assert claimed[TenantScope("c", "one")] == 10
    assert claimed[TenantScope("a", "one")] + claimed[TenantScope("a", "two")] == 10
    assert min(claimed[TenantScope("a", "one")], claimed[TenantScope("a", "two")]) >= 4


def test_single_claims_alternate_between_tenants_and_scopes() -> None:
    turns, work = FairQueue(), Work(a_one=9, a_two=9, b_one=9)
    order = [turns.claim(work.places(), 1, work.take)[0] for _ in range(8)]
    assert [place.tenant for place in order] == ["a", "b"] * 4
    assert [place.scope for place in order if place.tenant == "a"] == ["one", "two"] * 2


def test_a_new_tenant_is_served_next() -> None:
    turns, work = FairQueue(), Work(a_one=50, b_one=50)
    for _ in range(6):
        turns.claim(work.places(), 1, work.take)
    work.left[TenantScope("zz", "one")] = 1
    assert turns.claim(work.places(), 1, work.take) == [TenantScope("zz", "one")]


def test_a_scope_without_due_work_is_skipped() -> None:
    turns, work = FairQueue(), Work(a_one=0, b_one=3)
    assert (
        turns.claim([TenantScope("a", "one"), TenantScope("b", "one")], 5, work.take)
        == [TenantScope("b", "one")] * 3
    )
    assert turns.claim([], 5, work.take) == []

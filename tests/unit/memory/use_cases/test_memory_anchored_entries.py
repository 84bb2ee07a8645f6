"""Entries with anchors through the tools, on both databases: kept, compared, marked, exported."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import MemorySettings
from commonplace.memory.anchors import CodeAnchor
from commonplace.memory.code.checker import CodeChecker
from commonplace.memory.code.repositories import Repositories
from commonplace.memory.model import Draft, EntryType
from commonplace.memory.use_cases.anchoring import MOST_COMPARED
from commonplace.memory.use_cases.transfer import ExportFormat
from commonplace.memory.use_cases.verification import verify_folder
from memory_calls import Calls, import_file

SOURCE = """import os


class Store:
    def add(self, entry):
        self.rows.append(entry)
        self.commit()
        return entry

    def clear(self):
        self.rows.clear()
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "roots" / "shop"
    folder.mkdir(parents=True)
    (folder / "store.py").write_text(SOURCE)
    return folder


def open_calls(tmp_path: Path, url: str, **settings: Any) -> Calls:
    checker = CodeChecker(Repositories((tmp_path / "roots",)))
    return Calls(tmp_path, MemorySettings(**settings), url=url, checker=checker)


@pytest.fixture
def anchored(tmp_path: Path, shop: Path, url: str) -> Iterator[Calls]:
    calls = open_calls(tmp_path, url)
    yield calls
    calls.close()


def add(calls: Calls, *anchors: dict[str, Any], title: str = "Store.add commits") -> str:
    return calls.add(title, "The listener holds the lock.", project="shop", anchors=list(anchors))


def states(calls: Calls, id_: str) -> list[str]:
    return [anchor["state"] for anchor in calls("rekall_show", id=id_).get("anchors", [])]


SYMBOL = {"path": "store.py", "symbol": "Store.add"}
LINES = {"path": "store.py", "lines": "10-11"}


def test_the_hash_is_computed_at_add_and_the_state_at_every_read(
    anchored: Calls, shop: Path
) -> None:
    id_ = add(anchored, SYMBOL, LINES)
    shown = anchored("rekall_show", id=id_)
    assert [(a["state"], a["repository"], a["lines"]) for a in shown["anchors"]] == [
        ("valid", "shop", "5-8"),
        ("valid", "shop", "10-11"),
    ]
    (shop / "store.py").write_text("# more\n" + SOURCE)
    shown = anchored("rekall_show", id=id_)
    assert [a["state"] for a in shown["anchors"]] == ["valid", "valid"]
    assert shown["anchors"][1]["now"] == "store.py:11-12"
    (shop / "store.py").write_text(SOURCE.replace("commit()", "commit(now=True)"))
    shown = anchored("rekall_show", id=id_)
    assert [a["state"] for a in shown["anchors"]] == ["changed", "valid"]
    assert "changed store.py:Store.add" in shown["hint"]
    (shop / "store.py").rename(shop / "shelf.py")
    (shop / "shelf.py").write_text(SOURCE)
    assert states(anchored, id_) == ["moved", "moved"]
    (shop / "read.me").write_text("A shop.\n")
    (shop / "shelf.py").unlink()
    assert states(anchored, id_) == ["gone", "gone"]
    (shop / "read.me").unlink()
    assert states(anchored, id_) == ["unknown", "unknown"]
    shop.rmdir()
    assert states(anchored, id_) == ["unknown", "unknown"]


def test_search_marks_only_what_is_stale(anchored: Calls, shop: Path) -> None:
    add(anchored, SYMBOL)
    found = anchored("rekall_search", query="listener lock")["results"][0]
    assert "stale" not in found
    assert "anchors" not in found
    (shop / "store.py").write_text(SOURCE.replace("commit()", "flush()"))
    answer = anchored("rekall_search", query="listener lock")
    assert answer["results"][0]["stale"] == "changed store.py:Store.add"
    assert "`stale`" in answer["hint"]


def test_stale_entries_are_withheld_if_the_setting_says_so(
    tmp_path: Path, shop: Path, url: str
) -> None:
    calls = open_calls(tmp_path, url, stale_code="withhold")
    add(calls, SYMBOL)
    fresh = add(calls, LINES, title="Store.clear is not locked")
    (shop / "store.py").write_text(SOURCE.replace("commit()", "flush()"))
    answer = calls("rekall_search", query="listener lock")
    assert [result["id"] for result in answer["results"]] == [fresh]
    assert "1 withheld" in answer["hint"]
    calls.close()


def test_stale_lists_them_beside_unused_entries(anchored: Calls, shop: Path) -> None:
    stale = add(anchored, SYMBOL)
    add(anchored, LINES, title="Store.clear is not locked")
    (shop / "store.py").write_text(SOURCE.replace("commit()", "flush()"))
    listed = anchored("memory_stale")
    assert (listed["total"], listed["code_total"], listed["code_compared"]) == (0, 1, 2)
    assert [row["id"] for row in listed["code"]] == [stale]
    assert listed["code"][0]["anchors"] == [
        {"place": "store.py:Store.add", "state": "changed", "repository": "shop"}
    ]
    assert "code" not in anchored("memory_stale", reason="unused")
    anchored("memory_update", id=stale, status="obsolete")
    assert anchored("memory_stale", reason="code")["code_total"] == 0


def test_an_update_replaces_anchors_and_keeps_the_old_ones_in_history(
    anchored: Calls, shop: Path
) -> None:
    id_ = add(anchored, SYMBOL)
    (shop / "store.py").write_text(SOURCE.replace("commit()", "flush()"))
    updated = anchored("memory_update", id=id_, anchors=[SYMBOL])
    assert (updated["changed"], updated["revisions"]) == (["anchors"], 1)
    assert states(anchored, id_) == ["valid"]
    before = anchored.run(anchored.service.history(LOCAL_TENANT, id_))[0].before
    assert before["anchors"][0]["symbol"] == "Store.add"
    anchored("memory_update", id=id_, anchors=[])
    assert states(anchored, id_) == []
    anchored("memory_update", id=id_, title="Another title")
    assert anchored("memory_update", id=id_, title="Another title")["changed"] == []


def test_anchors_of_show_can_be_sent_back_without_losing_anything(anchored: Calls) -> None:
    id_ = add(anchored, SYMBOL, LINES)
    kept = anchored.run(anchored.service.find(LOCAL_TENANT, id_)).anchors
    shown = anchored("rekall_show", id=id_)["anchors"]
    names = ("repository", "path", "symbol", "lines", "hash")
    given = [{name: anchor[name] for name in names if name in anchor} for anchor in shown]
    assert anchored("memory_update", id=id_, anchors=given)["changed"] == []
    assert anchored.run(anchored.service.find(LOCAL_TENANT, id_)).anchors == kept


def test_a_repeated_add_joins_the_anchors(anchored: Calls) -> None:
    id_ = add(anchored, SYMBOL)
    again = anchored(
        "rekall_add",
        type="bug",
        title="Store.add commits",
        content="The listener holds the lock.",
        project="shop",
        anchors=[SYMBOL, LINES],
    )
    assert (again["id"], again["updated_fields"]) == (id_, ["anchors"])
    assert states(anchored, id_) == ["valid", "valid"]


@pytest.mark.parametrize("format_", list(ExportFormat))
def test_an_export_and_an_import_keep_anchors(
    anchored: Calls, tmp_path: Path, format_: ExportFormat
) -> None:
    id_ = add(anchored, SYMBOL, LINES)
    kept = anchored.run(anchored.service.find(LOCAL_TENANT, id_)).anchors
    path = tmp_path / "out" / ("vault" if format_ is ExportFormat.OBSIDIAN else f"e.{format_}")
    path = path.with_suffix({"archive": ".zip", "jsonl": ".jsonl"}.get(format_, ""))
    anchored.run(anchored.service.export_file(LOCAL_TENANT, path, format_))
    import_file(anchored, path, "other")
    (entry,) = anchored.run(anchored.service.store.everything("other"))
    assert entry.anchors == kept


def test_a_repository_that_cannot_be_read_is_said_and_never_gone(anchored: Calls) -> None:
    anchor = {"path": "a.py", "symbol": "f", "repository": "elsewhere"}
    added = anchored("rekall_add", type="bug", title="About f", anchors=[anchor])
    assert "elsewhere cannot be read" in added["warnings"][0]
    assert states(anchored, added["id"]) == ["unknown"]
    assert anchored("memory_stale", reason="code")["code_total"] == 0


@pytest.mark.parametrize(
    "name",
    [
        "acme/shop",
        "https://example.com/acme/shop.git",
        "git@example.com:acme/shop.git",
        "git@example.com:shop",
        "/home/ann/code/shop/",
        "C:\\code\\shop",
        "shop.git/",
    ],
)
def test_a_repository_may_be_named_by_its_path_or_its_address(anchored: Calls, name: str) -> None:
    id_ = anchored.add("Store.add commits", project=name, anchors=[SYMBOL])
    assert states(anchored, id_) == ["valid"]
    assert states(anchored, add(anchored, SYMBOL | {"repository": name})) == ["valid"]


@pytest.mark.parametrize(
    ("anchor", "code"),
    [
        ({"path": "store.py", "symbol": "Store.remove"}, "ANCHOR_NOT_FOUND"),
        ({"path": "other.py"}, "ANCHOR_NOT_FOUND"),
        ({"path": "store.py", "lines": "90-95"}, "ANCHOR_NOT_FOUND"),
        ({"path": "../store.py"}, "INVALID_ANCHOR"),
        ({"path": "/etc/passwd"}, "INVALID_ANCHOR"),
        ({"path": "store.py", "lines": "9-3"}, "INVALID_ANCHOR"),
        ({"path": "store.py", "lines": "x"}, "INVALID_ANCHOR"),
        ({"path": "store.py", "hash": "nonsense"}, "INVALID_ANCHOR"),
        ({"path": "store.py", "repository": "../shop"}, "INVALID_ANCHOR"),
        ({"path": "a\nb"}, "INVALID_ANCHOR"),
    ],
)
def test_an_anchor_that_names_nothing_is_refused_and_nothing_is_saved(
    anchored: Calls, anchor: dict[str, Any], code: str
) -> None:
    error = anchored.error("rekall_add", type="bug", title="T", project="shop", anchors=[anchor])
    assert error.code.name == code
    assert error.hint
    assert anchored("memory_list")["total"] == 0


def test_a_wrong_anchor_is_answered_with_its_form(anchored: Calls) -> None:
    def refused(anchors: object) -> CommonplaceError:
        return anchored.error("rekall_add", type="bug", title="T", project="shop", anchors=anchors)

    takes = "An object in anchors takes: hash, lines, path, repository, symbol."
    assert refused(["store.py"]).hint == takes
    assert refused([{"file": "store.py"}]).hint == takes
    assert '"lines": "10-20"' in (refused([{"path": "store.py", "lines": "L3"}]).hint or "")
    missing = refused([{"path": "src\\other.py"}])
    assert "The repository shop has no file" in missing.message
    assert missing.hint == "Write / between folders."


def test_the_last_part_of_a_symbol_is_enough_if_only_one_has_it(anchored: Calls) -> None:
    id_ = add(anchored, {"path": "store.py", "symbol": "clear"})
    assert anchored("rekall_show", id=id_)["anchors"][0]["symbol"] == "Store.clear"


def test_anchors_of_another_tenant_are_not_listed(anchored: Calls, shop: Path) -> None:
    add(anchored, SYMBOL)
    (shop / "store.py").write_text("")
    assert anchored("memory_stale", tenant="other")["code_total"] == 0


def test_verify_compares_all_entries_however_many(tmp_path: Path) -> None:
    calls = Calls(tmp_path)
    moment, anchors = datetime(2026, 1, 1, tzinfo=UTC), (CodeAnchor("shop", "a.py"),)
    entries = [
        Draft(EntryType.BUG, f"Note {number}", anchors=anchors).entry(f"01{number:024d}", moment)
        for number in range(MOST_COMPARED + 1)
    ]
    store = calls.service.store
    calls.run(store.add_all(LOCAL_TENANT, entries, [], {}))
    verified = calls.run(verify_folder(store, LOCAL_TENANT, tmp_path, "shop"))
    calls.close()
    assert len(verified.rows) == len(entries)

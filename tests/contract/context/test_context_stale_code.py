"""Stored projects serve as repositories, and packs mark lessons whose code changed."""

from __future__ import annotations

from context_office import Office

SOURCE = "def add(entry):\n    rows.append(entry)\n    commit()\n    return entry\n"


def write(office: Office, path: str, content: str, tenant: str = "anna") -> None:
    office.call("file_write", tenant, project="shop", path=path, content=content, mode="TRUNCATE")


def test_an_anchor_is_compared_with_the_project_of_its_tenant(office: Office) -> None:
    write(office, "/src/store.py", SOURCE)
    added = office.call(
        "rekall_add",
        type="pitfall",
        title="add commits under the lock",
        content="A listener must not call add.",
        project="shop",
        anchors=[{"path": "src/store.py", "symbol": "add"}],
    )
    assert "warnings" not in added

    def state(tenant: str = "anna") -> str:
        return str(office.call("rekall_show", tenant, id=added["id"])["anchors"][0]["state"])

    assert state() == "valid"
    write(office, "/src/store.py", "import os\n" + SOURCE)
    assert state() == "valid"
    write(office, "/src/shelf.py", SOURCE)
    office.call("file_delete", project="shop", path="/src/store.py")
    assert state() == "moved"
    write(office, "/src/store.py", SOURCE.replace("commit()", "flush()"))
    assert state() == "changed"
    mark = "code changed src/store.py:add"
    pack = office.context("may a listener call add under the lock")
    assert mark in pack["lessons"][0]["marks"]
    found = office.call("search_all", query="listener add lock", kinds=["memory"])
    assert mark in str(found)
    assert mark in str(office.call("open_ref", refs=[f"memory:{added['id']}"]))


def test_a_project_of_another_tenant_is_not_reached(office: Office) -> None:
    write(office, "/store.py", SOURCE, tenant="bert")
    added = office.call(
        "rekall_add",
        type="bug",
        title="add commits",
        project="shop",
        anchors=[{"path": "store.py", "symbol": "add"}],
    )
    assert "cannot be read" in added["warnings"][0]
    shown = office.call("rekall_show", id=added["id"])
    assert shown["anchors"][0]["state"] == "unknown"

"""Every page of the console with something on it, for campaigns that visit all of them."""

from __future__ import annotations

import time

from tests.browser.conftest import call
from tests.server.conformance.program import Served

PROJECT = "seen"
DOCUMENT = """\
openapi: 3.1.0
info: {title: Seen, version: '1'}
paths:
  /a:
    get:
      operationId: a
      summary: A
      responses: {'200': {description: ok}}
components:
  schemas:
    Seen: {type: object, properties: {a: {type: string}}}
"""
OPENAPI_TABS = [
    "findings",
    "operations",
    "schemas",
    "parameters",
    "responses",
    "headers",
    "security",
    "paths",
    "refs",
    "source",
    "compare",
    "fix",
    "convert",
    "join",
    "overlay",
    "generate",
]
RULE = {
    "id": "seen-everywhere",
    "title": "Seen everywhere",
    "body": "Be seen.",
    "categories": ["looks"],
}


def fill_every_page(server: Served, key: str) -> list[str]:
    """Store something for every page; return the addresses of all pages."""
    for path, content in (("/notes.md", "Seen by everybody."), ("/api.yaml", DOCUMENT)):
        arguments = {"project": PROJECT, "path": path, "content": content, "mode": "TRUNCATE"}
        call(server, key, "file_write", arguments)
    call(server, key, "instructions_add", {"entry": RULE, "lax": True, "overwrite": True})
    overdue = {
        **RULE,
        "id": "seen-too-late",
        "lastReviewedAt": "2020-01-01T00:00:00Z",
        "nextReviewDue": "2020-02-01T00:00:00Z",
    }
    call(server, key, "instructions_add", {"entry": overdue, "lax": True, "overwrite": True})
    lesson = {"type": "pattern", "title": "Seen once", "content": "Seen in the console."}
    memory = call(server, key, "rekall_add", lesson)["id"]
    deleted = {"type": "pattern", "title": "Deleted", "content": "Deleted in the console."}
    call(server, key, "memory_delete", {"id": call(server, key, "rekall_add", deleted)["id"]})
    call(server, key, "usage_track", {"id": RULE["id"]})
    feedback = {"type": "issue", "title": "Seen", "description": "Seen by a person."}
    call(server, key, "feedback_submit", feedback)
    _wait_for_index(server, key)
    record = call(server, key, "audit_query", {"limit": 1})["records"][0]
    return [*_addresses(memory), f"/audit/record?at={record['ts']}&trace={record['trace_id']}"]


def _wait_for_index(server: Served, key: str) -> None:
    give_up = time.monotonic() + 120
    while not call(server, key, "file_index_status", {"project": PROJECT})["up_to_date"]:
        assert time.monotonic() < give_up, "the index did not catch up"
        time.sleep(0.2)


def _addresses(memory: str) -> list[str]:
    api = f"/openapi?ref=file:{PROJECT}/api.yaml"
    return [
        "/",
        "/context",
        "/context?task=Seen+once+in+the+console&paths=a.py&explain=on",
        "/instructions",
        "/instructions?q=seen",
        *(f"/instructions?tab={tab}" for tab in ("graph", "governance", "prompt", "usage")),
        "/instructions?tab=graph&look=raw",
        "/instructions?tab=feedback",
        f"/instructions/{RULE['id']}",
        f"/instructions/{RULE['id']}/edit",
        "/new-instruction",
        "/files",
        f"/files?project={PROJECT}",
        f"/files?project={PROJECT}&path=/notes.md",
        f"/files?project={PROJECT}&path=/notes.md&q=seen",
        f"/files/edit?project={PROJECT}&path=/notes.md",
        f"/files/new?project={PROJECT}",
        f"/files/upload?project={PROJECT}",
        f"/files/deleted?project={PROJECT}",
        "/memory",
        "/memory?q=seen",
        *(f"/memory?tab={tab}" for tab in ("suggestions", "stale", "deleted")),
        f"/memory/{memory}",
        f"/memory/{memory}/edit",
        f"/memory/{memory}/link",
        f"/memory/{memory}/promote",
        "/new-memory",
        "/capture",
        "/capture?state=rejected",
        "/new-capture",
        "/openapi",
        *(f"{api}&tab={tab}" for tab in OPENAPI_TABS),
        "/tools",
        "/tools/file_search",
        "/tools/instructions_dispatch",
        "/audit",
        "/audit?reads=1&verify=1",
        "/find?q=seen",
        "/components",
    ]

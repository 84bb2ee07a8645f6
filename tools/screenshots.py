"""Take the pictures in docs/images: every page of the console, light and dark, from a real
server with a year's data in small.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "server")]

from playwright.sync_api import Page, sync_playwright  # noqa: E402
from tests.browser.conftest import FLAGS, call, chromium  # noqa: E402
from tests.browser.seeding import SMALL, fill  # noqa: E402
from tests.server.conformance.program import Served, serve_http  # noqa: E402

from commonplace.instructions.starter import GATES  # noqa: E402

IMAGES = ROOT / "docs" / "images"
API = """openapi: 3.0.3
info:
  title: Pet shop
  version: 1.2.0
  description: What the shop's web pages and partners call.
servers:
  - url: https://api.example.org/v1
paths:
  /pets:
    get:
      operationId: listPets
      summary: List the pets
      tags: [pets]
      parameters:
        - name: limit
          in: query
          description: Maximum number of pets
          schema: {type: integer, maximum: 100}
      responses:
        '200':
          description: The pets
          content:
            application/json:
              schema: {type: array, items: {$ref: '#/components/schemas/Pet'}}
  /pets/{id}:
    get:
      operationId: getPet
      tags: [pets]
      responses:
        '200':
          description: One pet
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Pet'}
    delete:
      operationId: removePet
      summary: Remove a pet
      responses:
        '204': {description: Gone}
components:
  schemas:
    Pet:
      type: object
      description: An animal that waits for a home.
      required: [id, name]
      properties:
        id: {type: string, format: uuid, description: Given by the shop}
        name: {type: string, description: What it is called}
        born: {type: string, format: date}
        tags: {type: array, items: {type: string}}
"""
NEWER = API.replace("  /pets/{id}:\n", "  /animals/{id}:\n").replace(
    "required: [id, name]", "required: [id, name, born]"
)
RUNBOOK = """# Rolling back a release

1. Stop the canary: the blue switch in the deploy console sends all traffic to the last release.
2. Tell the people on call in the incident channel what you did, and when.
3. Only then look for the cause.

## When the database is locked

Wait with backoff and try again; another process may hold the lock for a moment. If it stays locked
for more than a minute, look for a backup that did not end.
"""
FEEDBACK: dict[str, Any] = {
    "type": "bug-report",
    "severity": "high",
    "title": "storage-rule-00012 contradicts storage-rule-00002",
}
SEED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("file_write", {"project": "apis", "path": "/pets.yaml", "content": API, "mode": "TRUNCATE"}),
    (
        "file_write",
        {"project": "apis", "path": "/newer.yaml", "content": NEWER, "mode": "TRUNCATE"},
    ),
    (
        "file_write",
        {
            "project": "handbook",
            "path": "/runbooks/rollback.md",
            "content": RUNBOOK,
            "mode": "TRUNCATE",
        },
    ),
    (
        "rekall_add",
        {
            "type": "bug",
            "title": "Importer fails with a locked database",
            "content": "WAL mode and a busy timeout of five seconds fixed it.",
            "tags": ["sqlite", "importer"],
        },
    ),
    (
        "rekall_add",
        {
            "type": "pattern",
            "title": "Retry with backoff on lock errors",
            "content": "Three attempts, doubling from 50 ms; then give up loudly.",
        },
    ),
    (
        "rekall_add",
        {
            "type": "decision",
            "title": "One writer for the database",
            "content": "All changes go through one thread; readers never wait.",
        },
    ),
    *(
        (
            "rekall_add",
            {
                "type": "pattern",
                "title": f"Pin the compiler version {word} builds",
                "content": f"A new compiler changed the artefact {word} builds.",
            },
        )
        for word in ("in", "for")
    ),
    ("usage_track", {"id": "storage-rule-00012"}),
    ("usage_track", {"id": "deploy-rule-00030"}),
    (
        "feedback_submit",
        {
            **FEEDBACK,
            "description": "One says wait, the other says fail at once.",
            "tags": ["storage"],
        },
    ),
    (
        "feedback_submit",
        {
            "type": "feature-request",
            "title": "A rule about feature flags",
            "description": "We have none, and need one.",
        },
    ),
    ("file_search", {"project": "handbook", "query": "roll back a bad release"}),
    ("rekall_search", {"query": "database is locked"}),
)
PAGES = (
    ("instructions", "/console/instructions?category=storage", "Instructions:"),
    ("instruction", "/console/instructions/storage-rule-00012", "Review due"),
    ("graph", "/console/instructions?tab=graph&edges=primary,category&most=14", "Copy source"),
    ("governance", "/console/instructions?tab=governance", "Review overdue"),
    ("prompt", "/console/instructions?tab=prompt", "Paste a prompt"),
    ("usage", "/console/instructions?tab=usage", "last used"),
    ("feedback", "/console/instructions?tab=feedback", "Feedback:"),
    (
        "files",
        "/console/files?project=handbook&path=/runbooks/rollback.md",
        "search index up to date",
    ),
    ("files-search", "/console/files?project=handbook&q=roll+back+a+bad+release", "Passages found"),
    ("memory", "/console/memory", "Entries:"),
    ("memory-search", "/console/memory?q=database+is+locked", "Why:"),
    ("memory-entry", "/console/memory/{linked}", "Around it"),
    ("suggestions", "/console/memory?tab=suggestions", "Suggestions"),
    ("openapi", "/console/openapi?ref=file:apis/pets.yaml", "Pet shop"),
    (
        "openapi-operations",
        "/console/openapi?ref=file:apis/pets.yaml&tab=operations",
        "Operations:",
    ),
    (
        "openapi-schema",
        "/console/openapi?ref=file:apis/pets.yaml&tab=schemas&schema=Pet",
        "Properties:",
    ),
    (
        "openapi-compare",
        "/console/openapi?ref=file:apis/pets.yaml&tab=compare&other=file:apis/newer.yaml",
        "Breaks every client",
    ),
    ("openapi-generate", "/console/openapi?ref=file:apis/pets.yaml&tab=generate", "Package"),
    ("tools", "/console/tools", "health_check"),
    ("tool", "/console/tools/file_search", "No call yet"),
    ("audit", "/console/audit", "Check the chains"),
    ("overview", "/console/", "Calls per second"),  # last: by then there is something to see
)


def main() -> int:
    IMAGES.mkdir(parents=True, exist_ok=True)
    data = Path(tempfile.mkdtemp())
    fill(data, SMALL)
    (data / "instructions" / "gates.json").write_text(json.dumps(GATES))
    with serve_http(data, {"MCP_ENABLE_MUTATION": "1"}) as server, sync_playwright() as playwright:
        linked = seeded(server)
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        for scheme in ("light", "dark"):
            context = browser.new_context(
                viewport={"width": 1280, "height": 800}, color_scheme=scheme
            )  # type: ignore[arg-type]
            page = context.new_page()
            page.goto(f"http://{server.address}/console/")
            page.get_by_text("Calls per second").wait_for(timeout=60_000)
            page.wait_for_timeout(1500)
            for name, path, text in PAGES:
                if not sys.argv[1:] or name in sys.argv[1:]:
                    take(page, server.address, name, path.format(linked=linked), text, scheme)
            context.close()
        browser.close()
    return 0


def seeded(server: Served) -> str:
    """What agents would have done; the id of a memory with links."""
    ids = [str(call(server, "", tool, arguments).get("id", "")) for tool, arguments in SEED]
    memories = [one for one, (tool, _) in zip(ids, SEED, strict=True) if tool == "rekall_add"]
    call(
        server,
        "",
        "rekall_link",
        {"source_id": memories[1], "target_id": memories[0], "relation_type": "derived_from"},
    )
    call(server, "", "rekall_link", {"source_id": memories[1], "target_id": memories[2]})
    return memories[1]


def take(page: Page, address: str, name: str, path: str, text: str, scheme: str) -> None:
    page.goto(f"http://{address}{path}")
    page.get_by_text(text).first.wait_for(timeout=20_000)
    if name in ("graph", "memory-entry"):
        page.locator("iframe[data-drawn]").wait_for(timeout=60_000)
    if name == "prompt":
        page.get_by_role("button", name="Example").click()
    if name == "openapi-generate":
        page.get_by_role("button", name="Generate").click()
        page.get_by_text("Types:").first.wait_for()
    page.wait_for_timeout(6500 if name == "overview" else 1200)
    page.screenshot(path=str(IMAGES / f"{name}-{scheme}.png"))
    print(f"docs/images/{name}-{scheme}.png")


if __name__ == "__main__":
    sys.exit(main())

"""Take the pictures in docs/images: every page of the console, light and dark, from a real server with a little data."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "server")]

from conformance.program import COMMONPLACE, environment, serve_http  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402
from tests.browser.conftest import FLAGS, chromium  # noqa: E402

IMAGES = ROOT / "docs" / "images"
PAGES = (
    ("overview", "/console/", "Calls per second"),
    ("tools", "/console/tools", "health_check"),
    ("tool", "/console/tools/file_search", "file_search"),
    ("audit", "/console/audit", "Check the chains"),
)
SEED = (
    ("file_write", '{"project": "demo", "path": "/notes/locks.md", "content": "When the database is locked, retry with backoff."}'),
    ("file_write", '{"project": "demo", "path": "/notes/cache.md", "content": "Invalidate the cache after every deploy."}'),
    (
        "rekall_add",
        '{"type": "bug", "title": "Locked database", "content": "WAL mode and a busy timeout fixed it.", "context": "importer"}',
    ),
    ("instructions_add", '{"entry": {"id": "tests.first", "body": "Write a failing test before the fix."}, "lax": true}'),
)


def main() -> int:
    IMAGES.mkdir(parents=True, exist_ok=True)
    data = Path(tempfile.mkdtemp())
    for tool, arguments in SEED:
        subprocess.run(
            [str(COMMONPLACE), "call", tool, "--args", arguments], env=environment(data), cwd=data, check=True, capture_output=True
        )
    with serve_http(data, {"MCP_ENABLE_MUTATION": "1"}) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        for scheme in ("light", "dark"):
            context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme=scheme)  # type: ignore[arg-type]
            page = context.new_page()
            for name, path, text in PAGES:
                page.goto(f"http://{server.address}{path}")
                page.get_by_text(text).first.wait_for(timeout=60_000)
                page.wait_for_timeout(5000 if name == "overview" else 1500)
                page.screenshot(path=str(IMAGES / f"{name}-{scheme}.png"))
                print(f"docs/images/{name}-{scheme}.png")
            context.close()
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

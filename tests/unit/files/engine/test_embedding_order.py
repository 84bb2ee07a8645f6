"""Files that nobody asks for by meaning are embedded last."""

from __future__ import annotations

import pytest

from commonplace.files.engine.embedding_order import is_embedded_last


@pytest.mark.parametrize(
    "path",
    [
        "/package-lock.json",
        "/web/yarn.lock",
        "/Cargo.lock",
        "/go.sum",
        "/static/jquery.min.js",
        "/dist/app.js.map",
        "/django/conf/locale/de/LC_MESSAGES/django.po",
        "/src/locales/fr.json",
        "/api/user_pb2.py",
        "/src/__generated__/types.ts",
        "/node_modules/left-pad/index.js",
        "/schema.generated.ts",
    ],
)
def test_lock_files_catalogues_and_generated_files_wait(path: str) -> None:
    assert is_embedded_last(path)


@pytest.mark.parametrize(
    "path",
    ["/src/lock.py", "/docs/po.md", "/src/generate.py", "/package.json", "/locale.py",
     "/src/map.py", "/README.md", "/vendors.md"],
)  # fmt: skip
def test_files_that_people_write_do_not(path: str) -> None:
    assert not is_embedded_last(path)

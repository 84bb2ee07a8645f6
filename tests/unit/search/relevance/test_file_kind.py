"""Files are told apart by their path."""

from __future__ import annotations

import pytest

from commonplace.search.relevance.file_kind import FileKind, kind_of_path


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/src/app.ts", FileKind.CODE),
        ("/lib/contest.py", FileKind.CODE),
        ("/latest/index.go", FileKind.CODE),
        ("/pkg/server_test.go", FileKind.TEST),
        ("/tests/unit/helpers.py", FileKind.TEST),
        ("/src/__tests__/app.tsx", FileKind.TEST),
        ("/src/app.spec.ts", FileKind.TEST),
        ("/pkg/store/mocks/Catalog.go", FileKind.TEST),
        ("/src/main/java/UrlTest.java", FileKind.TEST),
        ("/README.md", FileKind.PROSE),
        ("/LICENSE", FileKind.PROSE),
        ("/docs/guide.rst", FileKind.PROSE),
        ("/docs/release.md", FileKind.PROSE),
        ("/CHANGELOG.md", FileKind.HISTORY),
        ("/CHANGES", FileKind.HISTORY),
        ("/docs/releases/4.0.txt", FileKind.HISTORY),
        ("/src/history.ts", FileKind.CODE),
        ("/package-lock.json", FileKind.GENERATED),
        ("/Cargo.lock", FileKind.GENERATED),
        ("/go.sum", FileKind.GENERATED),
        ("/static/jquery.min.js", FileKind.GENERATED),
        ("/api/service.pb.go", FileKind.GENERATED),
        ("/api/service_pb2.py", FileKind.GENERATED),
        ("/vendor/lib/a.go", FileKind.GENERATED),
        ("/locale/fr/django.po", FileKind.GENERATED),
        ("/dist/esm/index.js", FileKind.BUILT),
        ("/src/distance.ts", FileKind.CODE),
        ("/package.json", FileKind.DATA),
        ("/bin/run", FileKind.OTHER),
    ],
)
def test_the_kind_of_a_path(path: str, kind: FileKind) -> None:
    assert kind_of_path(path) is kind

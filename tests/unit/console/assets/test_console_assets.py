"""Static files: names, versions, compression, and the check of fetched packages."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import tarfile
from pathlib import Path

import pytest
from starlette.requests import Request

from commonplace.console.assets import fetch as fetching
from commonplace.console.assets.listing import LIST, Package, read_packages
from commonplace.console.assets.served import OWN, Assets, load


def request_for(name: str, query: str = "", **headers: str) -> Request:
    return Request(
        {
            "type": "http",
            "method": "GET",
            "path": f"/console/static/{name}",
            "query_string": query.encode(),
            "headers": [
                (key.replace("_", "-").encode(), value.encode()) for key, value in headers.items()
            ],
            "path_params": {"name": name},
        }
    )


def test_the_address_of_a_file_changes_with_its_content() -> None:
    address = Assets().url("console.css")
    version = address.partition("?v=")[2]
    assert hashlib.sha256((OWN / "console.css").read_bytes()).hexdigest().startswith(version)


def test_a_file_with_its_version_is_kept_by_browsers_and_compressed() -> None:
    version = Assets().url("console.css").partition("?")[2]
    answer = Assets().respond(request_for("console.css", version, accept_encoding="gzip, br"))
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert gzip.decompress(bytes(answer.body)) == (OWN / "console.css").read_bytes()
    plain = Assets().respond(request_for("console.css"))
    assert plain.headers["cache-control"] == "no-cache"
    assert bytes(plain.body) == (OWN / "console.css").read_bytes()


def test_a_known_version_is_not_sent_again() -> None:
    first = Assets().respond(request_for("console.js"))
    again = Assets().respond(request_for("console.js", if_none_match=first.headers["etag"]))
    assert again.status_code == 304
    assert again.body == b""


@pytest.mark.parametrize(
    "name", ["../page.py", "..", "/etc/passwd", "a/../../page.py", "", ".fetched", "x\0.js"]
)
def test_names_outside_the_folders_are_not_found(name: str) -> None:
    assert load(name) is None
    assert Assets().respond(request_for(name)).status_code == 404


def test_only_the_frame_may_use_inline_styles() -> None:
    frame = Assets().respond(request_for("graph-frame.html"))
    assert frame.headers["content-security-policy"].startswith("sandbox allow-scripts;")
    assert "content-security-policy" not in Assets().respond(request_for("console.css")).headers


def test_every_package_has_an_exact_version_an_integrity_and_a_licence() -> None:
    packages = read_packages()
    assert packages
    for package in packages:
        assert package.version.replace(".", "").isdigit()
        assert package.integrity.startswith("sha512-")
        assert any(name.endswith(".LICENSE") for name in package.files.values())
    assert "resolved" not in LIST.read_text()
    assert "://" not in LIST.read_text()


def make_archive(folder: Path, files: dict[str, bytes]) -> tuple[Path, str]:
    for name, content in files.items():
        path = folder / "package" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    archive = folder / "made.tgz"
    with tarfile.open(archive, "w:gz") as opened:
        opened.add(folder / "package", "package")
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    return archive, f"sha512-{digest}"


def test_an_archive_that_differs_from_the_list_is_refused(tmp_path: Path) -> None:
    archive, integrity = make_archive(tmp_path, {"dist/a.js": b"1"})
    package = Package("made", "1.0.0", integrity, {"dist/a.js": "a.js"})
    fetching.check_archive(package, archive)
    archive.write_bytes(archive.read_bytes() + b"\0")
    with pytest.raises(RuntimeError, match="not the archive in the list"):
        fetching.check_archive(package, archive)


def test_only_the_listed_files_are_taken(tmp_path: Path) -> None:
    archive, integrity = make_archive(tmp_path, {"dist/a.js": b"1", "other.js": b"2"})
    target = tmp_path / "vendor"
    target.mkdir()
    package = Package("made", "1.0.0", integrity, {"dist/a.js": "lib/a.js"})
    fetching.extract_files(package, archive, target)
    assert [path.relative_to(target).as_posix() for path in target.rglob("*.js")] == ["lib/a.js"]


def test_a_node_that_cannot_run_is_a_clear_failure(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"htmx.org@.* could not be fetched"):
        fetching.fetch(tmp_path)


def test_the_list_is_plain_json() -> None:
    assert json.loads(LIST.read_text()) == [
        {
            "name": package.name,
            "version": package.version,
            "integrity": package.integrity,
            "files": dict(package.files),
        }
        for package in read_packages()
    ]

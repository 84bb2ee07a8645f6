"""Hostile archives are refused with a typed error before anything is written."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.backup.archive import write_archive
from commonplace.storage.backup.restore import restore_archive
from commonplace.storage.backup.unpacking import UnpackLimits, unpack

Build = Callable[[tarfile.TarFile], None]


def listed(name: str, content: bytes) -> dict[str, Any]:
    return {"name": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def add(
    archive: tarfile.TarFile,
    name: str,
    content: bytes,
    kind: bytes = tarfile.REGTYPE,
    link: str = "",
) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = len(content), kind, link
    archive.addfile(info, io.BytesIO(content))


def manifest(*members: Any, **more: Any) -> bytes:
    return json.dumps({"product": "commonplace", "members": list(members), **more}).encode()


def archive_with(path: Path, *members: tuple[str, bytes], said: bytes | None = None) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members:
            add(archive, name, content)
        add(
            archive,
            "manifest.json",
            manifest(*(listed(*member) for member in members)) if said is None else said,
        )
    return path


def written_below(folder: Path) -> list[str]:
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.name != ".in-use.lock"
    )


def refused(source: Path, data: Path) -> CommonplaceError:
    with pytest.raises(CommonplaceError) as error:
        restore_archive(source, data, data / "instructions", force=False)
    assert written_below(data) == []
    return error.value


GOOD = ("data/notes.txt", b"text")


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b'{"product": "commonplace"}',
        b'{"product": "commonplace", "members": {}}',
        manifest(None),
        manifest("data/notes.txt"),
        manifest({}),
        manifest({"name": 7, "bytes": 1, "sha256": "0" * 64}),
        manifest({"name": "data/notes.txt", "bytes": "4", "sha256": "0" * 64}),
        manifest({"name": "data/notes.txt", "bytes": 4, "sha256": None}),
        manifest({"name": "data/notes.txt", "bytes": 4, "sha256": "0" * 64}),
        manifest(listed(*GOOD), listed(*GOOD)),
        manifest(listed(*GOOD), listed("data/more.txt", b"")),
        manifest(),
        b"[" * 200_000,
        b"\xff\xfe{}",
    ],
    ids=range(18),
)
def test_a_malformed_manifest_is_refused(said: bytes, tmp_path: Path) -> None:
    source = archive_with(tmp_path / "a.tar.gz", GOOD, said=said)
    assert refused(source, tmp_path / "data").code.name == "ARCHIVE_INVALID"


@pytest.mark.parametrize(
    "name",
    [
        "/etc/x",
        "../x",
        "data/../../x",
        "data/./x",
        "data//x",
        "data",
        "data/",
        "other/x",
        "data/.in-use.lock",
        "data/.reserve",
        "data/instructions/x.json",
        "data/" + "x" * 300,
        "data/" + "x/" * 3000 + "x",
        "data/a\nb",
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(name: str, tmp_path: Path) -> None:
    source = archive_with(tmp_path / "a.tar.gz", (name, b"text"))
    assert refused(source, tmp_path / "data").code.name == "ARCHIVE_INVALID"
    assert not (tmp_path / "x").exists()


def hard_link(archive: tarfile.TarFile) -> None:
    add(archive, "data/x", b"", tarfile.LNKTYPE, "/etc/passwd")


def symbolic_link(archive: tarfile.TarFile) -> None:
    add(archive, "data/x", b"", tarfile.SYMTYPE, "/etc")


def device(archive: tarfile.TarFile) -> None:
    add(archive, "data/x", b"", tarfile.CHRTYPE)


def pipe(archive: tarfile.TarFile) -> None:
    add(archive, "data/x", b"", tarfile.FIFOTYPE)


def folder(archive: tarfile.TarFile) -> None:
    add(archive, "data/x", b"", tarfile.DIRTYPE)


def twice(archive: tarfile.TarFile) -> None:
    add(archive, "data/x", b"a")
    add(archive, "data/x", b"b")


def below_a_file(archive: tarfile.TarFile) -> None:
    add(archive, "data/x", b"a")
    add(archive, "data/x/y", b"b")


def after_the_manifest(archive: tarfile.TarFile) -> None:
    add(archive, "manifest.json", manifest(listed("data/x", b"a")))
    add(archive, "data/x", b"a")


@pytest.mark.parametrize(
    "build",
    [hard_link, symbolic_link, device, pipe, folder, twice, below_a_file, after_the_manifest],
)
def test_a_member_that_backups_never_contain_is_refused(build: Build, tmp_path: Path) -> None:
    source = tmp_path / "a.tar.gz"
    with tarfile.open(source, "w:gz") as archive:
        build(archive)
        if build is below_a_file:
            add(
                archive, "manifest.json", manifest(listed("data/x", b"a"), listed("data/x/y", b"b"))
            )
        elif build is not after_the_manifest:
            add(archive, "manifest.json", manifest(listed("data/x", b"")))
    assert refused(source, tmp_path / "data").code.name == "ARCHIVE_INVALID"


@pytest.mark.parametrize(
    "content",
    [b"", b"not an archive", gzip.compress(b"not a tar"), gzip.compress(b"x" * 5000)[:-20]],
    ids=["empty", "text", "not-a-tar", "cut"],
)
def test_a_file_that_is_not_an_archive_is_refused(content: bytes, tmp_path: Path) -> None:
    source = tmp_path / "a.tar.gz"
    source.write_bytes(content)
    assert refused(source, tmp_path / "data").code.name == "ARCHIVE_INVALID"


def test_a_flipped_bit_anywhere_is_refused(tmp_path: Path) -> None:
    source = archive_with(tmp_path / "a.tar.gz", ("data/notes.bin", os.urandom(20_000)))
    whole = source.read_bytes()
    for position in range(40, len(whole) - 300, len(whole) // 25):
        source.write_bytes(
            whole[:position] + bytes([whole[position] ^ 0x10]) + whole[position + 1 :]
        )
        assert refused(source, tmp_path / f"data{position}").code.name == "ARCHIVE_INVALID"


def test_a_header_that_announces_gigabytes_takes_no_memory(tmp_path: Path) -> None:
    info = tarfile.TarInfo("data/x")
    info.type, info.size = tarfile.XHDTYPE, 8 << 30
    source = tmp_path / "a.tar.gz"
    with gzip.open(source, "wb", compresslevel=9) as plain:
        plain.write(info.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20))
    tracemalloc.start()
    try:
        assert refused(source, tmp_path / "data").code.name == "ARCHIVE_INVALID"
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()


def refused_by(limits: UnpackLimits, source: Path, folder: Path) -> str:
    with pytest.raises(CommonplaceError) as error:
        unpack(source, folder / "fresh", limits)
    assert not (folder / "fresh").exists()
    return error.value.code.name


def test_an_archive_that_unpacks_to_more_than_is_free_is_refused_before_a_byte_is_written(
    tmp_path: Path,
) -> None:
    source = archive_with(tmp_path / "a.tar.gz", ("data/a", bytes(1000)), ("data/b", bytes(50_000)))
    disk = os.statvfs(tmp_path)
    assert (
        refused_by(UnpackLimits(spare_bytes=disk.f_blocks * disk.f_frsize), source, tmp_path)
        == "STORAGE_FULL"
    )


def test_an_archive_that_unpacks_to_much_more_than_its_size_is_refused(tmp_path: Path) -> None:
    source = archive_with(tmp_path / "a.tar.gz", ("data/a", bytes(20 << 20)))
    assert refused_by(UnpackLimits(plain_bytes=1 << 20), source, tmp_path) == "ARCHIVE_INVALID"


def test_a_backup_is_restored_for_its_owner_alone(tmp_path: Path) -> None:
    data, restored = tmp_path / "data", tmp_path / "restored"
    (data / "deep" / "er").mkdir(parents=True)
    (data / "deep" / "er" / "note").write_text("text")
    write_archive(data, data / "instructions", tmp_path / "b.tar.gz")
    assert (tmp_path / "b.tar.gz").stat().st_mode & 0o777 == 0o600
    restore_archive(tmp_path / "b.tar.gz", restored, restored / "instructions", force=False)
    assert (restored / "deep" / "er" / "note").read_text() == "text"
    modes = {path.name: path.stat().st_mode & 0o777 for path in restored.rglob("*")}
    assert modes == {".in-use.lock": 0o600, "deep": 0o700, "er": 0o700, "note": 0o600}

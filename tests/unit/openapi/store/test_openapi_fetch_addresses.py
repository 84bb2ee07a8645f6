"""Rules about addresses, including IPv4 addresses embedded in IPv6 ones."""

from __future__ import annotations

import ipaddress
import json
import os
from pathlib import Path

import pytest

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.model import Spec
from commonplace.openapi.store.access import Access
from commonplace.openapi.store.documents import DocumentStore
from commonplace.openapi.store.url_rules import UrlRules

CARRIERS = {
    "6to4": lambda v4: ipaddress.IPv6Address((0x2002 << 112) | (int(v4) << 80) | 1),
    "Teredo": lambda v4: ipaddress.IPv6Address((0x20010000 << 96) | (int(v4) ^ 0xFFFFFFFF)),
    "NAT64": lambda v4: ipaddress.IPv6Address((0x64FF9B << 96) | int(v4)),
    "local NAT64": lambda v4: ipaddress.IPv6Address((0x64FF9B0001 << 80) | int(v4)),
    "mapped": lambda v4: ipaddress.IPv6Address((0xFFFF << 32) | int(v4)),
    "translated": lambda v4: ipaddress.IPv6Address((0xFFFF << 48) | int(v4)),
    "compatible": lambda v4: ipaddress.IPv6Address(int(v4)),
    "ISATAP": lambda v4: ipaddress.IPv6Address((0x2606_4700 << 96) | (0x5EFE << 32) | int(v4)),
}
PRIVATE = ("127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1", "172.16.0.1", "100.64.0.1")


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("inner", PRIVATE)
def test_a_private_address_is_refused_in_every_spelling(carrier: str, inner: str) -> None:
    address = CARRIERS[carrier](ipaddress.IPv4Address(inner))
    assert not UrlRules(local=False).admits(address), address


@pytest.mark.parametrize("carrier", CARRIERS)
def test_the_address_of_cloud_credentials_is_refused_to_the_local_user_too(carrier: str) -> None:
    assert not UrlRules(local=True).admits(
        CARRIERS[carrier](ipaddress.IPv4Address("169.254.169.254"))
    )


@pytest.mark.parametrize(
    "address",
    [
        "fec0::1",
        "fe80::1",
        "fc00::1",
        "::1",
        "::",
        "ff02::1",
        "2001:db8::1",
        "3fff::1",
        "5f00::1",
        "100::1",
        "192.88.99.1",
        "192.0.0.8",
        "0.0.0.0",
        "224.0.0.1",
        "198.18.0.1",
    ],
)
def test_networks_that_are_not_public_are_refused(address: str) -> None:
    assert not UrlRules(local=False).admits(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "2606:4700:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"]
)
def test_public_addresses_are_fetched_also_through_nat64(address: str) -> None:
    assert UrlRules(local=False).admits(ipaddress.ip_address(address))


def unreadable(path: str) -> str:
    with pytest.raises(CommonplaceError) as refused:
        DocumentStore(Access(local=True)).load(Spec(file=path))
    return refused.value.code.name


@pytest.mark.parametrize(
    "path",
    [
        "/proc/self/mem",
        "/dev/zero",
        "/dev/null",
        "/dev/tty",
        "/proc/self/fd",
        "/proc/kmsg",
        "/sys/kernel/notes",
    ],
)
def test_special_files_are_refused_with_a_code(path: str) -> None:
    assert unreadable(path) in ("SPEC_UNREADABLE", "SPEC_NOT_FOUND", "NOT_A_SPEC", "SPEC_SYNTAX")


def test_a_pipe_is_refused_without_waiting_for_its_writer(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    assert unreadable(str(pipe)) == "SPEC_UNREADABLE"


def test_a_reference_to_a_special_file_is_unresolved(tmp_path: Path) -> None:
    document = {"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {}}
    main = tmp_path / "main.json"
    os.mkfifo(tmp_path / "pipe.json")
    main.write_text(
        json.dumps({**document, "components": {"schemas": {"A": {"$ref": "pipe.json"}}}})
    )
    store = DocumentStore(Access(local=True))
    loaded = store.load(Spec(file=str(main)))
    inliner = store.inliner(loaded)
    inliner.write(loaded.data)
    assert inliner.unresolved == {"pipe.json"}

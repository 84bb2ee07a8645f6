"""Rules about which addresses may be fetched."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import SplitResult

_UNICAST = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_NAT64_LOCAL = ipaddress.IPv6Network("64:ff9b:1::/48")
_TRANSLATED = ipaddress.IPv6Network("::ffff:0:0:0/96")
_NOT_PUBLIC = tuple(
    ipaddress.ip_network(network)
    for network in (
        "192.0.0.0/24",
        "192.88.99.0/24",
        "2001::/23",
        "2002::/16",
        "3fff::/20",
    )  # newer than the tables of Python, or tunnels
)
IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class UrlRules:
    """Rules about which URLs may be fetched.

    `local`: the caller is the user of this machine and may use its networks.
    """

    local: bool = False
    # Exact host, host:port or .suffix; these skip the check of the address.
    allow_hosts: tuple[str, ...] = ()
    timeout_seconds: float = 20.0

    def allows_host(self, parts: SplitResult) -> bool:
        """Tell whether the host of a URL is in `allow_hosts`."""
        host = (parts.hostname or "").lower()
        for entry in self.allow_hosts:
            wanted = entry.lower()
            if (
                host == wanted
                or f"{host}:{parts.port}" == wanted
                or (wanted.startswith(".") and host.endswith(wanted))
            ):
                return True
        return False

    def admits(self, address: IpAddress) -> bool:
        """Tell whether an IP address may be used; link-local ones serve cloud credentials."""
        inner = _find_embedded(address)
        if inner is not None and (not self.admits(inner) or _is_translation(address)):
            return self.admits(inner)
        if address.is_link_local or address.is_multicast or address.is_unspecified:
            return False
        return self.local or _is_public(address)


def _is_public(address: IpAddress) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and address not in _UNICAST:
        return False
    return (
        address.is_global
        and not address.is_reserved
        and not any(address in network for network in _NOT_PUBLIC)
    )


def _is_translation(address: IpAddress) -> bool:
    """Tell whether an IPv6 address only embeds an IPv4 one, to which the packets go."""
    return isinstance(address, ipaddress.IPv6Address) and (
        address.ipv4_mapped is not None or address in _NAT64
    )


def _find_embedded(address: IpAddress) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address inside an IPv6 address that may lead to it.

    Covers mapped, NAT64, 6to4, Teredo, ISATAP and compatible addresses.
    """
    if not isinstance(address, ipaddress.IPv6Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    low = int(address) & 0xFFFFFFFF
    isatap = (int(address) >> 32) & 0xFCFFFFFF == 0x00005EFE
    carries = address in _NAT64 or address in _NAT64_LOCAL or address in _TRANSLATED or isatap
    compatible = int(address) >> 32 == 0 and low > 0xFFFF  # not ::1 and ::
    return ipaddress.IPv4Address(low) if carries or compatible else None

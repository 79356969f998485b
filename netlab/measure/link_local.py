"""Link-local addresses of IPv6, each with an interface of the host that uses it as its scope."""

from __future__ import annotations

import ipaddress


def without_scope(address: str) -> str:
    return address.partition("%")[0]


def is_link_local(address: str) -> bool:
    at = ipaddress.ip_address(without_scope(address))
    return at.version == 6 and at.is_link_local


def scoped(address: str, interface: str) -> str:
    """A link-local address with an interface of the host that uses it; any other as it is.

    Both ends name an address by a scope of their own: the cable of two hosts may be `eth1` of one
    and `enp3s0` of the other.
    """
    return f"{without_scope(address)}%{interface}" if is_link_local(address) else address

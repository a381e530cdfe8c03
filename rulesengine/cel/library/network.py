"""IP addresses and CIDR blocks of Kubernetes' and cel-go's network libraries."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address
from typing import Any, ClassVar, TypeAlias

from rulesengine.cel.library.registry import bad, enter, function, want
from rulesengine.core.errors import EvaluationError

Address: TypeAlias = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True)
class IP:
    type_name: ClassVar[str] = "net.IP"
    address: Address

    def __str__(self) -> str:
        return str(self.address)


@dataclass(frozen=True, slots=True)
class CIDR:
    """An address and how many of its bits name the network."""

    type_name: ClassVar[str] = "net.CIDR"
    address: Address
    bits: int

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"

    def __len__(self) -> int:
        """In bytes, what comparing costs."""
        return math.ceil(self.bits / 8)

    def network(self, bits: int, address: Address) -> int:
        return int(address) >> (address.max_prefixlen - bits)

    def holds(self, address: Address) -> bool:
        same = address.version == self.address.version
        return same and self.network(self.bits, address) == self.network(self.bits, self.address)


def _address(text: str, what: str) -> Address:
    if "%" in text:
        raise bad(f"{what} with zone value is not allowed")
    if ":" in text and "." in text and text.lower().startswith("::ffff:"):
        raise bad("IPv4-mapped IPv6 address is not allowed")
    try:
        found = ip_address(text)
    except (AddressValueError, ValueError):
        raise bad(f"{what} parse error during conversion from string") from None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped if mapped is not None else found


def _cidr(text: str) -> CIDR:
    address, slash, bits = text.rpartition("/")
    found = _address(address, "CIDR") if slash else None
    if found is None or not bits.isascii() or not bits.isdigit() or (bits[0] == "0" and bits != "0"):
        raise bad("network address parse error during conversion from string")
    if len(bits) > 3 or int(bits) > found.max_prefixlen:
        raise bad("network address parse error during conversion from string")
    return CIDR(found, int(bits))


def _recognized(value: Any, parse: Callable[[str], object]) -> bool:
    try:
        parse(want(value, str))
    except EvaluationError as error:
        if error.reason == "type":
            raise
        return False
    return True


@function("ip")
@function(".ip")
def ip(value: Any) -> IP:
    """Of a text, or the address of a CIDR."""
    if type(value) is CIDR:
        return IP(value.address)
    return IP(_address(want(value, str), "IP Address"))


@function("cidr")
def cidr(value: Any) -> CIDR:
    return _cidr(want(value, str))


@function("ip.isCanonical", "bool")
def is_canonical(value: Any) -> bool:
    return bool(str(_address(want(value, str), "IP Address")) == value)


@function(".containsIP", "bool")
def contains_ip(value: Any, other: Any) -> bool:
    inner = other.address if type(other) is IP else _address(want(other, str), "IP Address")
    return want(value, CIDR).holds(inner)  # type: ignore[no-any-return]


@function(".containsCIDR", "bool")
def contains_cidr(value: Any, other: Any) -> bool:
    inner = other if type(other) is CIDR else _cidr(want(other, str))
    return bool(want(value, CIDR).bits <= inner.bits and value.holds(inner.address))


@function(".masked")
def masked(value: Any) -> CIDR:
    kind = type(want(value, CIDR).address)
    free = value.address.max_prefixlen - value.bits
    return CIDR(kind(int(value.address) >> free << free), value.bits)


def _is_local_multicast(address: Address) -> bool:
    packed = address.packed
    if address.version == 4:
        return packed[:3] == bytes([224, 0, 0])
    return packed[0] == 0xFF and packed[1] & 0x0F == 0x02


def _is_global_unicast(address: Address) -> bool:
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not special and address.packed != b"\xff" * 4


enter("isIP", lambda value: _recognized(value, lambda text: _address(text, "IP Address")), "bool")
enter("isCIDR", lambda value: _recognized(value, _cidr), "bool")
enter(".isMask", lambda value: masked(value).address == value.address, "bool")
enter(".prefixLength", lambda value: want(value, CIDR).bits, "int")
enter(".family", lambda value: want(value, IP).address.version, "int")
enter(".isUnspecified", lambda value: want(value, IP).address.is_unspecified, "bool")
enter(".isLoopback", lambda value: want(value, IP).address.is_loopback, "bool")
enter(".isLinkLocalUnicast", lambda value: want(value, IP).address.is_link_local, "bool")
enter(".isLinkLocalMulticast", lambda value: _is_local_multicast(want(value, IP).address), "bool")
enter(".isGlobalUnicast", lambda value: _is_global_unicast(want(value, IP).address), "bool")

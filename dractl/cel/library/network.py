"""IP addresses and CIDRs: Kubernetes' ``ip`` and ``cidr`` libraries.

Declarations: ``decl_kubernetes.IP`` and ``CIDR``. Source: ``k8s.io/apiserver/pkg/cel/library/ip.go`` and ``cidr.go``;
Go ``net/netip``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address

from dractl.cel.gotext import go_quote
from dractl.cel.values import NO_OVERLOAD, Cidr, EvalError, IpAddress, Value, text_of

Address = IPv4Address | IPv6Address
_HEX = "0123456789abcdefABCDEF"


class _BadAddress(Exception):
    """The text is no address; the message is Go's."""


def _bad(text: str, message: str, at: str = "") -> _BadAddress:
    place = f" (at {go_quote(at)})" if at else ""
    return _BadAddress(f"ParseAddr({go_quote(text)}): {message}{place}")


def _parse(text: str) -> tuple[Address, str]:
    """The address and the zone in a text, as ``netip.ParseAddr`` reads them."""
    for char in text:
        if char == ".":
            return IPv4Address(_parse_v4(text, text)), ""
        if char == ":":
            return _parse_v6(text)
        if char == "%":
            raise _bad(text, "missing IPv6 address")
    raise _bad(text, "unable to parse IP")


def _parse_v4(whole: str, part: str) -> bytes:
    fields: list[int] = []
    value = digits = 0
    for index, char in enumerate(part):
        if char in "0123456789":
            if digits == 1 and value == 0:
                raise _bad(whole, "IPv4 field has octet with leading zero")
            value = value * 10 + int(char)
            digits += 1
            if value > 255:
                raise _bad(whole, "IPv4 field has value >255")
        elif char == ".":
            if index == 0 or index == len(part) - 1 or part[index - 1] == ".":
                raise _bad(whole, "IPv4 field must have at least one digit", part[index:])
            if len(fields) == 3:
                raise _bad(whole, "IPv4 address too long")
            fields.append(value)
            value = digits = 0
        else:
            raise _bad(whole, "unexpected character", part[index:])
    if len(fields) < 3:
        raise _bad(whole, "IPv4 address too short")
    return bytes([*fields, value])


def _parse_v6(whole: str) -> tuple[Address, str]:
    rest, percent, zone = whole.partition("%")
    if percent and not zone:
        raise _bad(whole, "zone must be a non-empty string")
    data = bytearray()
    ellipsis = -1
    if rest.startswith("::"):
        ellipsis = 0
        rest = rest[2:]
        if not rest:
            return IPv6Address(0), zone
    while len(data) < 16:
        digits = _hex_digits(whole, rest)
        if rest[digits : digits + 1] == ".":
            if ellipsis < 0 and len(data) != 12:
                raise _bad(whole, "embedded IPv4 address must replace the final 2 fields of the address", rest)
            if len(data) + 4 > 16:
                raise _bad(whole, "too many hex fields to fit an embedded IPv4 at the end of the address", rest)
            data += _parse_v4(whole, rest)
            rest = ""
            break
        data += int(rest[:digits], 16).to_bytes(2, "big")
        rest = rest[digits:]
        if not rest:
            break
        if rest[0] != ":":
            raise _bad(whole, "unexpected character, want colon", rest)
        if len(rest) == 1:
            raise _bad(whole, "colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest[0] == ":":
            if ellipsis >= 0:
                raise _bad(whole, "multiple :: in address", rest)
            ellipsis = len(data)
            rest = rest[1:]
            if not rest:
                break
    if rest:
        raise _bad(whole, "trailing garbage after address", rest)
    return _expanded(whole, data, ellipsis), zone


def _hex_digits(whole: str, rest: str) -> int:
    count = 0
    while count < len(rest) and rest[count] in _HEX:
        if count > 3:
            raise _bad(whole, "each group must have 4 or less digits", rest)
        count += 1
    if count == 0:
        raise _bad(whole, "each colon-separated field must have at least one digit", rest)
    return count


def _expanded(whole: str, data: bytearray, ellipsis: int) -> Address:
    if len(data) < 16:
        if ellipsis < 0:
            raise _bad(whole, "address string too short")
        data[ellipsis:ellipsis] = bytes(16 - len(data))
    elif ellipsis >= 0:
        raise _bad(whole, "the :: must expand to at least one field of zeros")
    return IPv6Address(bytes(data))


def _mapped(address: Address) -> bool:
    return isinstance(address, IPv6Address) and address.ipv4_mapped is not None


def _parse_ip(text: str) -> Address:
    try:
        address, zone = _parse(text)
    except _BadAddress as error:
        raise EvalError(f"IP Address {go_quote(text)} parse error during conversion from string: {error}") from None
    if zone:
        raise EvalError(f"IP address {go_quote(text)} with zone value is not allowed")
    if _mapped(address):
        raise EvalError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return address


def is_address(text: str) -> str | None:
    """None for what Go takes for an address with or without a zone, else Go's message."""
    try:
        _parse(text)
    except _BadAddress as error:
        return str(error)
    return None


def string_to_ip(text: str) -> IpAddress:
    return IpAddress(_parse_ip(text))


def _holds(function: Callable[[str], object]) -> Callable[[str], bool]:
    def test(text: str) -> bool:
        try:
            function(text)
        except EvalError:
            return False
        return True

    return test


def ip_is_canonical(text: str) -> bool:
    return str(_parse_ip(text)) == text


def ip_family(value: IpAddress) -> int:
    return value.address.version


def ip_is_unspecified(value: IpAddress) -> bool:
    return int(value.address) == 0


def ip_is_loopback(value: IpAddress) -> bool:
    address = value.address
    return int(address) >> 24 == 127 if address.version == 4 else int(address) == 1


def ip_is_multicast(value: IpAddress) -> bool:
    number = int(value.address)
    return number >> 28 == 0xE if value.address.version == 4 else number >> 120 == 0xFF


def ip_is_link_local_multicast(value: IpAddress) -> bool:
    number = int(value.address)
    return number >> 8 == 0xE00000 if value.address.version == 4 else number >> 112 & 0xFF0F == 0xFF02


def ip_is_link_local_unicast(value: IpAddress) -> bool:
    number = int(value.address)
    return number >> 16 == 0xA9FE if value.address.version == 4 else number >> 118 == 0x3FA


def ip_is_global_unicast(value: IpAddress) -> bool:
    if value.address.version == 4 and int(value.address) in (0, 0xFFFFFFFF):
        return False
    return not (
        ip_is_unspecified(value) or ip_is_loopback(value) or ip_is_multicast(value) or ip_is_link_local_unicast(value)
    )


def _parse_cidr(text: str) -> Cidr:
    def bad(message: str) -> EvalError:
        return EvalError(
            f"network address parse error during conversion from string: netip.ParsePrefix({go_quote(text)}): {message}"
        )

    head, slash, bits = text.rpartition("/")
    if not slash:
        raise bad("no '/'")
    try:
        address, zone = _parse(head)
    except _BadAddress as error:
        raise bad(str(error)) from None
    if zone:
        raise bad("IPv6 zones cannot be present in a prefix")
    if re.fullmatch(r"0|[1-9][0-9]*|[0-9]", bits) is None or int(bits) > 2**63 - 1:
        raise bad(f"bad bits after slash: {go_quote(bits)}")
    if int(bits) > address.max_prefixlen:
        raise bad("prefix length out of range")
    if _mapped(address):
        raise EvalError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return Cidr(address, int(bits))


def string_to_cidr(text: str) -> Cidr:
    try:
        return _parse_cidr(text)
    except EvalError as error:
        raise EvalError(f"network address parse error during conversion from string: {error.text}") from None


def _network(address: Address, bits: int) -> int:
    shift = address.max_prefixlen - bits
    return int(address) >> shift << shift


def _contains(cidr: Cidr, address: Address) -> bool:
    return cidr.address.version == address.version and _network(address, cidr.bits) == _network(cidr.address, cidr.bits)


def cidr_contains_ip(cidr: Cidr, other: IpAddress) -> bool:
    return _contains(cidr, other.address)


def cidr_contains_ip_string(cidr: Cidr, text: str) -> bool:
    try:
        address = _parse_ip(text)
    except EvalError:
        # Kubernetes loses the parser's message here
        raise EvalError(NO_OVERLOAD) from None
    return _contains(cidr, address)


def cidr_contains_cidr(cidr: Cidr, other: Cidr) -> bool:
    return cidr.bits <= other.bits and _contains(cidr, other.address)


def cidr_contains_cidr_string(cidr: Cidr, text: str) -> bool:
    return cidr_contains_cidr(cidr, string_to_cidr(text))


def cidr_ip(cidr: Cidr) -> IpAddress:
    return IpAddress(cidr.address)


def cidr_prefix_length(cidr: Cidr) -> int:
    return cidr.bits


def cidr_masked(cidr: Cidr) -> Cidr:
    return Cidr(type(cidr.address)(_network(cidr.address, cidr.bits)), cidr.bits)


OVERLOADS: dict[str, Callable[..., Value]] = {
    "string_to_ip": string_to_ip,
    "ip_family": ip_family,
    "ip_is_canonical": ip_is_canonical,
    "ip_is_unspecified": ip_is_unspecified,
    "ip_is_loopback": ip_is_loopback,
    "ip_is_link_local_multicast": ip_is_link_local_multicast,
    "ip_is_link_local_unicast": ip_is_link_local_unicast,
    "ip_is_global_unicast": ip_is_global_unicast,
    "is_ip": _holds(_parse_ip),
    "ip_to_string": text_of,
    "string_to_cidr": string_to_cidr,
    "cidr_contains_ip_string": cidr_contains_ip_string,
    "cidr_contains_ip_ip": cidr_contains_ip,
    "cidr_contains_cidr_string": cidr_contains_cidr_string,
    "cidr_contains_cidr": cidr_contains_cidr,
    "cidr_ip": cidr_ip,
    "cidr_prefix_length": cidr_prefix_length,
    "cidr_masked": cidr_masked,
    "is_cidr": _holds(_parse_cidr),
    "cidr_to_string": text_of,
}

"""URLs as Go's ``net/url`` reads and writes them: Kubernetes' ``url`` library.

Inside this module a URL is bytes: escapes may stand for bytes that are no UTF-8.
Declarations: ``decl_kubernetes.URLS``. Source: ``k8s.io/apiserver/pkg/cel/library/urls.go``; Go ``net/url``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dractl.cel.gotext import go_quote
from dractl.cel.library.network import is_address
from dractl.cel.values import CelMap, EvalError, Url, Value

_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"
_HOST = _UNRESERVED + b"!$&'()*+,;=:[]<>\""
_PATH = _UNRESERVED + b"$&+,/:;=@"
_USER = _UNRESERVED + b"$&+,;="
_FRAGMENT = _UNRESERVED + b"$&+,/:;=?@!()*"
_VALID_EXTRA = b"!$&'()*+,;=:@[]%"
_USERINFO = frozenset(_UNRESERVED + b":!$&'()*+,;=%@")
_HEX = b"0123456789abcdefABCDEF"


class UrlError(Exception):
    """The text is no URL; the message is Go's."""


@dataclass(slots=True)
class _Parts:
    scheme: bytes = b""
    opaque: bytes = b""
    user: bytes | None = None
    """Written again, with escapes."""
    host: bytes = b""
    path: bytes = b""
    raw_path: bytes = b""
    raw_query: bytes = b""
    fragment: bytes = b""
    raw_fragment: bytes = b""
    force_query: bool = False
    omit_host: bool = False


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _escape(data: bytes, allowed: bytes) -> bytes:
    return b"".join(bytes([byte]) if byte in allowed else b"%%%02X" % byte for byte in data)


def _unescape(data: bytes, *, host: bool = False, zone: bool = False, query: bool = False) -> bytes:
    found = bytearray()
    place = 0
    while place < len(data):
        byte = data[place]
        if byte == 0x25:
            code = data[place : place + 3]
            if len(code) < 3 or code[1] not in _HEX or code[2] not in _HEX:
                raise UrlError(f"invalid URL escape {go_quote(_text(code))}")
            value = int(code[1:], 16)
            if host and value < 0x80 and code != b"%25":
                raise UrlError(f"invalid URL escape {go_quote(_text(code))}")
            if zone and code != b"%25" and value != 0x20 and value not in _HOST:
                raise UrlError(f"invalid URL escape {go_quote(_text(code))}")
            found.append(value)
            place += 3
            continue
        if (host or zone) and byte < 0x80 and byte not in _HOST:
            raise UrlError(f"invalid character {go_quote(chr(byte))} in host name")
        found.append(0x20 if query and byte == 0x2B else byte)
        place += 1
    return bytes(found)


def _split_scheme(data: bytes) -> tuple[bytes, bytes]:
    for index, byte in enumerate(data):
        char = chr(byte)
        if char.isascii() and char.isalpha():
            continue
        if char in "0123456789+-.":
            if index == 0:
                return b"", data
            continue
        if char == ":":
            if index == 0:
                raise UrlError("missing protocol scheme")
            return data[:index], data[index + 1 :]
        break
    return b"", data


def _parse(data: bytes, via_request: bool) -> _Parts:
    if any(byte < 0x20 or byte == 0x7F for byte in data):
        raise UrlError("net/url: invalid control character in URL")
    if not data and via_request:
        raise UrlError("empty url")
    url = _Parts()
    if data == b"*":
        url.path = data
        return url
    scheme, rest = _split_scheme(data)
    url.scheme = scheme.lower()
    if rest.endswith(b"?") and rest.count(b"?") == 1:
        url.force_query = True
        rest = rest[:-1]
    else:
        rest, _, url.raw_query = rest.partition(b"?")
    if not rest.startswith(b"/"):
        if url.scheme:
            url.opaque = rest
            return url
        if via_request:
            raise UrlError("invalid URI for request")
        if b":" in rest.partition(b"/")[0]:
            raise UrlError("first path segment in URL cannot contain colon")
    with_authority = url.scheme or (not via_request and not rest.startswith(b"///"))
    if with_authority and rest.startswith(b"//"):
        authority, slash, path = rest[2:].partition(b"/")
        rest = slash + path
        url.user, url.host = _parse_authority(url.scheme, authority)
    elif url.scheme and rest.startswith(b"/"):
        url.omit_host = True
    url.path = _unescape(rest)
    url.raw_path = b"" if _escape(url.path, _PATH) == rest else rest
    return url


def _parse_authority(scheme: bytes, authority: bytes) -> tuple[bytes | None, bytes]:
    userinfo, at, host = authority.rpartition(b"@")
    parsed = _parse_host(scheme, host)
    if not at:
        return None, parsed
    if any(byte not in _USERINFO for byte in userinfo):
        raise UrlError("net/url: invalid userinfo")
    name, colon, password = userinfo.partition(b":")
    user = _escape(_unescape(name), _USER)
    if colon:
        user += b":" + _escape(_unescape(password), _USER)
    return user, parsed


def _parse_host(scheme: bytes, host: bytes) -> bytes:
    bracket = host.rfind(b"[")
    if bracket > 0:
        raise UrlError("invalid IP-literal")
    if bracket == 0:
        return _parse_literal(host)
    colon = host.find(b":")
    if colon >= 0:
        if scheme not in (b"http", b"https"):
            colon = host.rfind(b":")
        _check_port(host[colon:])
    return _unescape(host, host=True)


def _parse_literal(host: bytes) -> bytes:
    end = host.rfind(b"]")
    if end < 0:
        raise UrlError("missing ']' in host")
    port = host[end + 1 :]
    _check_port(port)
    name = host[1:end]
    zone = name.find(b"%25")
    if zone >= 0:
        unescaped = _unescape(name[:zone], host=True) + _unescape(name[zone:], zone=True)
    else:
        unescaped = _unescape(name, host=True)
    error = is_address(_text(unescaped))
    if error is not None:
        raise UrlError(f"invalid host: {error}")
    if b":" not in unescaped:
        raise UrlError("invalid IP-literal")
    return b"[" + unescaped + b"]" + port


def _valid_port(port: bytes) -> bool:
    return not port or (port[:1] == b":" and all(0x30 <= byte <= 0x39 for byte in port[1:]))


def _check_port(port: bytes) -> None:
    if not _valid_port(port):
        raise UrlError(f"invalid port {go_quote(_text(port))} after host")


def _valid_encoded(data: bytes, allowed: bytes) -> bool:
    return all(byte in _VALID_EXTRA or byte in allowed for byte in data)


def _escaped(value: bytes, raw: bytes, allowed: bytes) -> bytes:
    """The hint if it fits the value, else the value with escapes."""
    if raw and _valid_encoded(raw, allowed):
        try:
            if _unescape(raw) == value:
                return raw
        except UrlError:
            pass
    return b"*" if value == b"*" else _escape(value, allowed)


def _written(url: _Parts, path: bytes) -> bytes:
    text = url.scheme + b":" if url.scheme else b""
    if url.opaque:
        text += url.opaque
    else:
        present = url.host or url.user is not None
        if (url.scheme or present) and not (url.omit_host and not present):
            if url.host or url.path or url.user is not None:
                text += b"//"
            if url.user is not None:
                text += url.user + b"@"
            text += _escape(url.host, _HOST)
        if path and not path.startswith(b"/") and url.host:
            text += b"/"
        if not text and b":" in path.partition(b"/")[0]:
            text += b"./"
        text += path
    if url.force_query or url.raw_query:
        text += b"?" + url.raw_query
    if url.fragment:
        text += b"#" + _escaped(url.fragment, url.raw_fragment, _FRAGMENT)
    return text


def request_error(text: str) -> str | None:
    """None for what Go's ``ParseRequestURI`` takes, else its message."""
    try:
        _parse(_bytes(text), via_request=True)
    except UrlError as error:
        return f"parse {go_quote(text)}: {error}"
    return None


def string_to_url(text: str) -> Url:
    error = request_error(text)
    if error is not None:
        raise EvalError(f"URL parse error during conversion from string: {error}")
    head, _, fragment = _bytes(text).partition(b"#")
    shown = _text(head)
    try:
        url = _parse(head, via_request=False)
        if fragment:
            shown = text
            url.fragment = _unescape(fragment)
            url.raw_fragment = b"" if _escape(url.fragment, _FRAGMENT) == fragment else fragment
    except UrlError as fault:
        raise EvalError(f"URL parse error during conversion from string: parse {go_quote(shown)}: {fault}") from None
    path = _escaped(url.path, url.raw_path, _PATH)
    return Url(
        scheme=_text(url.scheme),
        host=_text(url.host),
        path=_text(path),
        raw_query=_text(url.raw_query),
        text=_text(_written(url, path)),
    )


def is_url(text: str) -> bool:
    return request_error(text) is None


def get_scheme(url: Url) -> str:
    return url.scheme


def get_host(url: Url) -> str:
    return url.host


def _split_port(host: str) -> tuple[str, str]:
    colon = host.rfind(":")
    port = ""
    if colon >= 0 and _valid_port(_bytes(host[colon:])):
        host, port = host[:colon], host[colon + 1 :]
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    return host, port


def get_hostname(url: Url) -> str:
    return _split_port(url.host)[0]


def get_port(url: Url) -> str:
    return _split_port(url.host)[1]


def get_escaped_path(url: Url) -> str:
    return url.path


def get_query(url: Url) -> CelMap:
    found: dict[str, list[Value]] = {}
    for part in _bytes(url.raw_query).split(b"&"):
        if not part or b";" in part:
            continue
        key, _, value = part.partition(b"=")
        try:
            name, text = _text(_unescape(key, query=True)), _text(_unescape(value, query=True))
        except UrlError:
            continue
        found.setdefault(name, []).append(text)
    return CelMap.of(found.items())


OVERLOADS: dict[str, Callable[..., Value]] = {
    "string_to_url": string_to_url,
    "is_url_string": is_url,
    "url_get_scheme": get_scheme,
    "url_get_host": get_host,
    "url_get_hostname": get_hostname,
    "url_get_port": get_port,
    "url_get_escaped_path": get_escaped_path,
    "url_get_query": get_query,
}

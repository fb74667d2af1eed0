"""Random texts for the functions that read quantities, versions, times, addresses, URLs, names, patterns, numbers.

A text is a well-formed one or nearly so. ``expressions(kind, source, count)`` hands it to a function of the library
and shows the value in a run-time error (``{"k": 1}[VALUE]`` gives ``no such key: VALUE``).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence

NUMBERS = (
    "0", "1", "7", "10", "40", "100", "1024", "1500", "0001", "999", "1000000", "9223372036854775807",
    "123456789012345678", "1234567890123456789", "12345678901234567890123",
)  # fmt: skip
SUFFIXES = (
    "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-5", "e+12", "e-12",
    "e18", "e20",
)  # fmt: skip
TAILS = (
    "", "", "-alpha", "-alpha.1", "-01", "-0a", "-1.2.3", "+b", "+b.01", "-rc.1+b.2", "-", "+",
)  # fmt: skip
UNITS = ("h", "m", "s", "ms", "us", "µs", "ns", "d", "")
ZONES = (
    "", "'UTC'", "'America/New_York'", "'+02:00'", "'-08:30'", "'2:00'", "'+24:00'", "'Local'", "''", "'bad/zone'",
    "'Europe/Zurich'", "'02:60'",
)  # fmt: skip
PARTS = (
    "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getHours", "getMinutes",
    "getSeconds", "getMilliseconds",
)  # fmt: skip
ADDRESSES = (
    "1.2.3.4", "255.255.255.255", "0.0.0.0", "127.0.0.1", "10.0.0.01", "::", "::1", "fe80::1", "fe80::1%eth0",
    "2001:DB8::1", "::ffff:1.2.3.4", "ff02::1", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:1.2.3.4", "0:0:0:0:0:0:0:1",
)  # fmt: skip
HOSTS = (
    "example.com", "[::1]", "[fe80::1%25eth0]", "1.2.3.4", "ex%41mple", "a_b", "日本", "", "EXAMPLE.com",
)  # fmt: skip
FORMATS = (
    "dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix",
    "dns1123SubdomainPrefix", "dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date", "datetime",
)  # fmt: skip
NAMES = (
    "abc", "a-b", "a.b.c", "example.com/name", "A_b.c", "1abc", "-a", "a-", "x" * 63, "x" * 64, "a.b/" + "y" * 63,
    "a." * 126 + "b", "2021-02-29", "2024-02-29", "12:00:00", "https://a.b/c", "550e8400-e29b-41d4-a716-446655440000",
    "aGVsbG8=", "aGVs",
)  # fmt: skip
LITERALS = (
    "1.5", "1e10", "-0", "+5", "0x1p4", "Inf", "-inf", "NaN", "infinity", "1_000", "0x10", "0b1", "007", ".5", "5.",
    "1e400", "1e-400", "true", "TRUE", "True", "t", "F", "0", "1", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "18446744073709551615", "18446744073709551616", "-1",
)  # fmt: skip
PATTERNS = (
    "a", "b", ".", "[a-c]", "[^a]", r"\d", r"\w", r"\s", r"\b", "^", "$", "(a|b)", "(?:ab)", "(?i)a", "(?P<n>a)", "a*",
    "a+?", "a{2}", "a{1,3}", "[[:alpha:]]", r"\pL", r"\p{Greek}", r"\x41", r"\Q.\E", "(?s).", "(?m)^a$", r"\z", r"\A",
    "[", "(", ")", "*", "+", "?", "{", "\\", "x{1001}", "(?=a)", r"\1", "a**", "[b-a]", r"\p{Nope}",
    "(?P<n>a)(?P<n>b)", r"\C", "ü", "日", "|", "(?<n>a)", r"[\d-z]", "{2}", "a{,2}", "a{2,1}", r"\8", r"\0", r"\07",
    r"\q", "[]a]", "[a", "(?z)", "(?", "(?i", r"\x{110000}", r"\pN", r"\PL", r"[^\n]",
)  # fmt: skip
WORDS = (
    "", "a", "ab", "abc", "aab", "gpu.example.com", "A B  C", "  x\t\n", "héllo", "日本語", "😀a", "e\u0301", "a,b,,c",
    ",", "%", "\\", '"q"', "'", "\u00a0x\u2003", "\ufeff", "ß", "İ", "ÀÉ", "\u0000", "\u007f", "a\u2028b", "x" * 40,
    "12", "-3",
)  # fmt: skip


class Texts:
    """The texts of one random source, as CEL literals."""

    def __init__(self, source: random.Random) -> None:
        self.source = source

    def any(self, choices: Sequence[str]) -> str:
        return self.source.choice(choices)

    def damaged(self, text: str, alphabet: str) -> str:
        """The text with up to two characters put in, taken out or replaced, as a literal."""
        letters = list(text)
        for _ in range(self.source.choice((0, 0, 0, 1, 2))):
            place = self.source.randint(0, len(letters))
            put = self.source.choice(("", *alphabet))
            letters[place : place + self.source.randint(0, 1)] = put
        return json.dumps("".join(letters))

    def quantity(self) -> str:
        whole, part = self.any(NUMBERS), self.any(NUMBERS)
        number = self.any((whole, whole, f"{whole}.{part}", f".{part}", f"{whole}.", ""))
        return self.damaged(self.any(("", "+", "-")) + number + self.any(SUFFIXES), "0123456789.+-eEinumkKMGTP")

    def version(self) -> str:
        parts = [self.any((self.any(NUMBERS), "0", "1", "2")) for _ in range(self.source.choice((1, 2, 3, 3, 3, 4)))]
        return self.damaged(self.any(("", "", "", "v", "V")) + ".".join(parts) + self.any(TAILS), "0123456789.-+vabA_ ")

    def duration(self) -> str:
        amounts = (self.any(NUMBERS), "1", "1.5", ".5", "0.000000001", "292", "300")
        parts = (self.any(amounts) + self.any(UNITS) for _ in range(self.source.randint(1, 3)))
        return self.damaged("".join(parts), "0123456789.hmsnuµ+- ")

    def timestamp(self) -> str:
        pick = self.source.choice
        day = f"{pick((0, 1, 1970, 2023, 2024, 9999)):04}-{pick((0, 1, 2, 12, 13)):02}-{pick((1, 15, 28, 29, 31)):02}"
        clock = f"{pick((0, 12, 23, 24)):02}:{pick((0, 59, 60)):02}:{pick((0, 30, 59, 60)):02}"
        fraction = self.any(("", "", ".1", ".123456789", ".1234567891", ".", ",5"))
        zone = self.any(("Z", "Z", "z", "+00:00", "-08:00", "+24:00", "+02:99", "+0200", ""))
        return self.damaged(f"{day}T{clock}{fraction}{zone}", "0123456789-:TZ.+ ")

    def address(self) -> str:
        return self.damaged(self.any(ADDRESSES), "0123456789abcdefF:.%/")

    def prefix(self) -> str:
        bits = self.any(("0", "8", "16", "24", "32", "33", "64", "128", "129", "-1", "08", "", "+8"))
        return self.damaged(f"{self.any(ADDRESSES)}/{bits}", "0123456789/:.")

    def url(self) -> str:
        scheme = self.any(("http", "https", "HTTP", "ftp", "mailto", "", "1a", "a+b"))
        host = self.any(("", "u:p@", "u@")) + self.any(HOSTS) + self.any(("", ":80", ":", ":a", ":99999"))
        path = self.any(("", "/", "/a b", "/a%20b", "/a%2fb", "/%zz", "/a/../b"))
        query = self.any(("", "?", "?a=1&a=2", "?a", "?=b", "?a=%20&b=+", "?a;b=1", "?%zz"))
        text = scheme + self.any(("://", ":", "//", "/", "")) + host + path + query
        return self.damaged(text + self.any(("", "#f", "#", "#%zz")), "abz:/?#[]@%20&=;+ .\\\"'<>")

    def name(self) -> str:
        return self.damaged(self.any(NAMES), "abcxyzABC019-._/ =")

    def literal(self) -> str:
        return self.damaged(self.any(LITERALS), "0123456789.eE+-xXpP_ infatrue")

    def pattern(self) -> str:
        return json.dumps("".join(self.any(PATTERNS) for _ in range(self.source.randint(1, 4))))

    def word(self) -> str:
        return json.dumps(self.any(WORDS) + self.any(("", "", self.any(WORDS))), ensure_ascii=False)


def _shown(value: str) -> str:
    return f'{{"k": 1}}[dyn({value})] == 1'


def _quantity(t: Texts) -> list[str]:
    one, other = t.quantity(), t.quantity()
    return [
        f"isQuantity({one})",
        _shown(f"string(quantity({one}).asApproximateFloat())"),
        _shown(f"quantity({one}).asInteger()"),
        f"quantity(dyn({one})).isInteger()",
        f"quantity({one}).compareTo(quantity({other})) == 1",
        f"quantity({one}).add(quantity({other})) == quantity({one})",
        f"quantity({one}).isGreaterThan(quantity({other}))",
        _shown(f"quantity({one}).sub(quantity({other})).asInteger()"),
        _shown(f"string(quantity({one}).add(quantity({other})).sub(7).asApproximateFloat())"),
    ]


def _version(t: Texts) -> list[str]:
    one, other, lenient = t.version(), t.version(), t.any(("", ", true", ", false"))
    return [
        f"isSemver({one}{lenient})",
        *(_shown(f"semver({one}{lenient}).{part}()") for part in ("major", "minor", "patch")),
        _shown(f"semver({one}{lenient}).compareTo(semver({other}, true))"),
        f"semver({one}{lenient}) == semver({other}, true)",
        f"semver({one}{lenient}).isLessThan(semver({other}{lenient}))",
    ]


def _time(t: Texts) -> list[str]:
    length, moment = t.duration(), t.timestamp()
    return [
        _shown(f"string(duration({length}))"),
        _shown(f"string(timestamp({moment}))"),
        _shown(f"timestamp({moment}).{t.any(PARTS)}({t.any(ZONES)})"),
        _shown(f"duration({length}).{t.any(('getHours', 'getMinutes', 'getSeconds', 'getMilliseconds'))}()"),
        _shown(f"string(timestamp({moment}) + duration({length}))"),
        _shown(f"string(timestamp({moment}) - timestamp({t.timestamp()}))"),
        _shown(f"int(timestamp({moment}))"),
        _shown(f"'%s %s'.format([timestamp({moment}), duration({length})])"),
        _shown(f"string(duration({length}) - duration({t.duration()}))"),
    ]


def _network(t: Texts) -> list[str]:
    address, prefix = t.address(), t.prefix()
    kinds = ("isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast")
    return [
        f"isIP({address})",
        _shown(f"string(ip({address}))"),
        _shown(f"ip({address}).family()"),
        f"ip({address}).{t.any(kinds)}()",
        f"ip.isCanonical({address})",
        f"isCIDR({prefix})",
        *(_shown(f"string(cidr({prefix}){part})") for part in ("", ".ip()", ".masked()", ".prefixLength()")),
        f"cidr({prefix}).containsIP({address})",
        f"cidr({prefix}).containsCIDR({t.prefix()})",
        f"ip({address}) == ip({t.address()})",
    ]


def _url(t: Texts) -> list[str]:
    url = t.url()
    parts = ("getScheme", "getHost", "getHostname", "getPort", "getEscapedPath")
    query = f"url({url}).getQuery()"
    return [
        f"isURL({url})",
        *(_shown(f"url({url}).{part}()") for part in parts),
        _shown(f"{query}.map(k, k).sort().join('|')"),
        _shown(f"{query}.map(k, {query}[k].join(',')).sort().join('|')"),
    ]


def _named(t: Texts) -> list[str]:
    name = t.any(FORMATS)
    text = t.timestamp() if name == "datetime" else t.name()
    return [
        f"format.{name}().validate({text}).hasValue()",
        _shown(f"format.{name}().validate({text}).orValue([]).join('|')"),
        _shown(f"format.named('{name}').value().validate({text}).orValue(['-'])[0]"),
    ]


def _conversion(t: Texts) -> list[str]:
    text = t.literal()
    value = t.any((f"double({text})", f"int({text})", text, f"uint({text})", f"bool({text})", f"bytes({text})"))
    return [
        *(_shown(f"{kind}({text})") for kind in ("int", "uint", "double", "bool", "string")),
        _shown(f"string(double({text}))"),
        _shown(f"'%{t.any(('s', 'd', 'f', 'e', 'x', 'X', 'b', 'o', '.3f', '.0e', '.10f', '.20e'))}'.format([{value}])"),
        *(_shown(f"{kind}(double({text}))") for kind in ("int", "uint")),
    ]


def _regex(t: Texts) -> list[str]:
    pattern, word = t.pattern(), t.word()
    found = f"findAll({pattern}, {t.any(('-1', '0', '1', '2'))})"
    return [
        f"{word}.matches({pattern})",
        f"{word}.matches(dyn({pattern}))",
        f"device.driver.matches({pattern})",
        _shown(f"{word}.find({pattern})"),
        _shown(f"device.driver.find({pattern})"),
        _shown(f"{word}.findAll({pattern}).join('|')"),
        _shown(f"device.driver.{found}.join('|')"),
    ]


def _string(t: Texts) -> list[str]:
    one, two, three = t.word(), t.word(), t.word()
    places = ("-1", "0", "0", "1", "1", "2", "3", "5", "40", "9223372036854775807")
    start, end = t.any(places), t.any(places)
    calls = (
        f"charAt({start})", f"indexOf({two})", f"indexOf({two}, {start})", f"lastIndexOf({two})",
        f"lastIndexOf({two}, {start})", f"substring({start})", f"substring({start}, {end})", f"replace({two}, {three})",
        f"replace({two}, {three}, {start})", f"split({two}).join('|')", f"split({two}, {start}).join('|')", "trim()",
        "lowerAscii()", "upperAscii()", "reverse()", "size()", f"format([{two}, {three}])", f"contains({two})",
        f"startsWith({two})", f"endsWith({two})",
    )  # fmt: skip
    return [
        *(_shown(f"{one}.{call}") for call in calls),
        _shown(f"strings.quote({one})"),
        _shown(f"size(bytes({one}))"),
        f"{one} < {two}",
        _shown(f"'%s|%s'.format([{one}, [{two}, {three}]])"),
        _shown(f"'%s'.format([{{{one}: {two}}}])"),
        _shown(f"'%x %X'.format([{one}, {two}])"),
        _shown(f"string(bytes({one}) + b'\\xff')"),
        _shown(f"'%s'.format([bytes({one})])"),
        _shown(f"[{one}, {two}, {three}].sort().join('|')"),
        _shown(f"[{one}, {two}, {three}].max()"),
    ]


KINDS: dict[str, Callable[[Texts], list[str]]] = {
    "quantity": _quantity,
    "version": _version,
    "time": _time,
    "network": _network,
    "url": _url,
    "named": _named,
    "conversion": _conversion,
    "regex": _regex,
    "string": _string,
}


def expressions(kind: str, source: random.Random, count: int) -> Iterator[str]:
    """Random expressions over the functions of a kind."""
    texts = Texts(source)
    for _ in range(count):
        yield source.choice(KINDS[kind](texts))

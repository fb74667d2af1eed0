"""Random CEL expressions for device selectors: typed ones over every declared function, and mutations.

``expressions(seed, count, env)`` is the mix for differential runs: the same seed gives the same expressions. The
generator reads the declarations of ``dractl.cel.environment``, so that a function that is declared is also generated.

As a program it prints requests for Kubernetes' own code, one JSON line for 50 expressions:
``python tests/cel/generate.py --seed 1 --count 2000 --release 1.36 [--list]``.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dractl.cel import types as t
from dractl.cel.environment import Environment, declarations
from dractl.cel.signatures import Overload
from dractl.cel.types import Kind, Type

HERE = Path(__file__).resolve().parent
SELECTORS = [line for line in (HERE / "selectors.txt").read_text().splitlines() if line and not line.startswith("#")]
DRIVER = "gpu.example.com"
DEVICES: list[dict[str, Any]] = json.loads((HERE / "devices.json").read_text())
LIST_DEVICES: list[dict[str, Any]] = json.loads((HERE / "devices-lists.json").read_text())

BINARY = {
    "_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=", "_+_": "+", "_-_": "-", "_*_": "*",
    "_/_": "/", "_%_": "%", "_&&_": "&&", "_||_": "||", "@in": "in",
}  # fmt: skip
INTERNAL = ("@not_strictly_false", "@sortByAssociatedKeys", "cel.@mapInsert", "_?._")
COMPARABLE = (t.INT, t.UINT, t.DOUBLE, t.BOOL, t.DURATION, t.TIMESTAMP, t.STRING, t.BYTES)
PRIMITIVES = (t.INT, t.STRING, t.BOOL, t.UINT, t.DOUBLE, t.BYTES)
KEYS = (t.STRING, t.INT, t.BOOL, t.UINT)

INTS = (
    "0",
    "1",
    "2",
    "3",
    "-1",
    "7",
    "42",
    "-7",
    "100",
    "1000000",
    "9223372036854775807",
    "-9223372036854775808",
    "0x1f",
)
UINTS = ("0u", "1u", "2u", "7u", "18446744073709551615u", "0xffu")
DOUBLES = ("0.0", "1.0", "-1.5", "2.5", "3.14", "1e3", "1e-7", "1.7976931348623157e308", "-0.0", ".5", "0.1")
WORDS = (
    "", "a", "b", "mig", "A100", "l40s", "gpu.example.com", "full", "1g.10gb", "zürich", "日本", "a,b,c", "Hello World",
    "  trim me ", "x=y", "true", "12", "-3", "1.5", "aGVsbG8=", "UPPER", "aaaa", "%d items", "\\\\",
    "tab\\tnew\\nline", "😀",
)  # fmt: skip
TEXTS: dict[str, tuple[str, ...]] = {
    "quantity": (
        "1", "1Gi", "80Gi", "500m", "1.5", "-2k", "0", "1e3", "1E", "16Mi", "bad",
        "", "1.1.1", "100000000000000000000",
    ),
    "semver": ("1.2.3", "0.9.0", "2.0.0-rc.1+build.5", "v1.2.3", "1.2", "01.2.3", "bad", "", "1.0.0-alpha", "10.20.30"),
    "url": (
        "https://example.com:8080/p?q=1", "/path", "http://[::1]/x?a=b&a=c",
        "not a url", "", "ftp://u@h/%41", "https://a.b/c d",
    ),
    "ip": (
        "127.0.0.1", "::1", "10.0.0.1", "fe80::1", "192.168.1.1", "224.0.0.1",
        "300.1.1.1", "::ffff:1.2.3.4", "", "2001:DB8::1",
    ),
    "cidr": ("10.0.0.0/8", "192.168.0.0/16", "::1/128", "192.168.1.7/24", "2001:db8::/32", "10.0.0.0/33", "bad"),
    "duration": ("1h", "1.5s", "-2m", "0", "1h30m", "10ns", "bad", "300000h", "1d", ""),
    "timestamp": (
        "2024-01-01T00:00:00Z", "1970-01-01T00:00:00.5+02:00",
        "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "bad",
    ),
    "regex": (
        "^A", "[0-9]+", "a|b", "(a+)+$", ".*", "\\\\d{2,3}", "(?i)mig", "[",
        "(?P<n>x)", "\\\\pL+", "a{1001}", "^$",
    ),
    "format": ("%d", "%s", "%s and %s", "%.2f", "%x", "%X", "%b", "%o", "%e", "%%", "%", "%q", "plain", "%.3e %d"),
    "named": ("dns1123Label", "uuid", "date", "uri", "none", "byte", "qualifiedName", "labelValue", "datetime"),
    "zone": ("UTC", "Europe/Berlin", "-08:00", "02:30", "bad/zone", "America/New_York"),
    "number": (
        "1", "-5", "0x10", "1.5", "abc", "", "9223372036854775808",
        "18446744073709551615", "1e400", "NaN", "Infinity",
    ),
}  # fmt: skip
TEXT_OF_FUNCTION = {
    "quantity": "quantity", "isQuantity": "quantity", "semver": "semver", "isSemver": "semver", "url": "url",
    "isURL": "url",
    "ip": "ip", "isIP": "ip", "ip.isCanonical": "ip", "cidr": "cidr", "isCIDR": "cidr", "containsIP": "ip",
    "containsCIDR": "cidr", "duration": "duration", "timestamp": "timestamp", "format.named": "named", "int": "number",
    "uint": "number", "double": "number",
}  # fmt: skip
ATTRIBUTES = (
    "model",
    "index",
    "healthy",
    "ver",
    "cc",
    "profile",
    "neg",
    "big",
    "empty",
    "uni",
    "pre",
    "missing",
    "links",
    "lanes",
)
CAPACITIES = ("memory", "cores", "bw", "missing")
DOMAINS = ("gpu.example.com", "gpu.example.com", "gpu.example.com", "other.example.io", "unknown.domain")


class Generator:
    """Typed random expressions for one environment."""

    def __init__(self, rng: random.Random, env: Environment) -> None:
        self.rng = rng
        self.env = env
        self._declared = declarations(env)
        self._overloads = [
            overload
            for name, function in sorted(self._declared.functions.items())
            if name not in INTERNAL
            for overload in function.overloads
        ]
        self._methods: dict[str, list[Overload]] = {}
        self._names = 0
        self._scope: list[tuple[str, Type]] = []
        self._macros: list[Callable[[Type, int], str | None]] = [
            self._ternary, self._bind, self._index, self._filter, self._map, self._quantifier, self._two_variables,
            self._optional, self._optional_map, self._first_or_last, self._selection, self._sort_by, self._has,
            self._transform_map, self._optional_index, self._chain,
        ]  # fmt: skip

    def expression(self) -> str:
        """An expression that could select devices: of type bool, now and then of another."""
        self._scope.clear()
        self._names = 0
        wanted = t.BOOL if self.rng.random() < 0.93 else self._any_type(1)
        return self._make(wanted, self.rng.choice((1, 2, 2, 3, 3, 4, 5)))

    # -- types

    def _any_type(self, depth: int) -> Type:
        roll = self.rng.random()
        if depth <= 0 or roll < 0.6:
            return self.rng.choice((*PRIMITIVES, t.INT, t.STRING, t.BOOL))
        if roll < 0.72:
            return t.list_of(self._any_type(depth - 1))
        if roll < 0.8:
            return t.map_of(self.rng.choice(KEYS), self._any_type(depth - 1))
        if roll < 0.85:
            return t.optional_of(self._any_type(depth - 1))
        return self.rng.choice(
            (t.DURATION, t.TIMESTAMP, t.QUANTITY, t.SEMVER, t.URL, t.IP, t.CIDR, t.NAMED_FORMAT, t.DYN)
        )

    def _fill(self, pattern: Type, bound: dict[str, Type]) -> Type:
        if pattern.kind is Kind.PARAM:
            return bound.setdefault(pattern.name, self._any_type(1))
        if not pattern.params:
            return pattern
        return Type(pattern.kind, pattern.name, tuple(self._fill(each, bound) for each in pattern.params))

    def _fits(self, pattern: Type, wanted: Type, bound: dict[str, Type]) -> bool:
        if pattern.kind is Kind.PARAM:
            return bound.setdefault(pattern.name, wanted) == wanted
        if pattern.kind is not wanted.kind or pattern.name != wanted.name or len(pattern.params) != len(wanted.params):
            return False
        return all(self._fits(a, b, bound) for a, b in zip(pattern.params, wanted.params, strict=True))

    # -- expressions

    def _make(self, wanted: Type, depth: int) -> str:
        rng = self.rng
        if rng.random() < 0.015:
            wanted = self._any_type(1)
        if wanted == t.DYN:
            inner = self._make(self._any_type(1), depth - 1)
            return f"dyn({inner})" if rng.random() < 0.6 else inner
        named = [name for name, each in self._scope if each == wanted or each in (t.DYN, t.ANY)]
        if named and rng.random() < 0.35:
            return rng.choice(named)
        if depth <= 0 or rng.random() < 0.12:
            return self._leaf(wanted)
        if rng.random() < 0.4:
            for _ in range(6):
                made = rng.choice(self._macros)(wanted, depth)
                if made is not None:
                    return made
        return self._call(wanted, depth)

    def _leaf(self, wanted: Type) -> str:
        rng = self.rng
        if rng.random() < 0.25:
            return self._attribute()
        match wanted.kind:
            case Kind.BOOL:
                return rng.choice(("true", "false", "device.allowMultipleAllocations", self._attribute()))
            case Kind.INT:
                return rng.choice(INTS)
            case Kind.UINT:
                return rng.choice(UINTS)
            case Kind.DOUBLE:
                return rng.choice(DOUBLES)
            case Kind.STRING:
                return rng.choice(("device.driver", self._text("")))
            case Kind.BYTES:
                return rng.choice(('b"abc"', 'b""', "b'\\xff\\x00'", 'b"ü"', 'bytes("x")'))
            case Kind.NULL:
                return "null"
            case Kind.DURATION:
                return f"duration({self._text('duration')})"
            case Kind.TIMESTAMP:
                return f"timestamp({self._text('timestamp')})"
            case Kind.LIST:
                return self._list(wanted, 0)
            case Kind.MAP:
                return self._map_literal(wanted, 0)
            case Kind.TYPE:
                return rng.choice(("int", "string", "bool", "type", "google.protobuf.Timestamp", "list", "net.IP"))
        return self._special_leaf(wanted)

    def _special_leaf(self, wanted: Type) -> str:
        rng = self.rng
        made = {
            t.QUANTITY: lambda: rng.choice((f"quantity({self._text('quantity')})", self._capacity())),
            t.SEMVER: lambda: rng.choice((f"semver({self._text('semver')})", self._attribute("ver"))),
            t.URL: lambda: f"url({self._text('url')})",
            t.IP: lambda: f"ip({self._text('ip')})",
            t.CIDR: lambda: f"cidr({self._text('cidr')})",
            t.NAMED_FORMAT: lambda: rng.choice(("format.dns1123Label()", "format.uuid()", "format.date()")),
        }.get(wanted)
        if made:
            return made()
        if wanted.is_optional and wanted.params:
            inner = self._leaf(wanted.params[0])
            return rng.choice((f"optional.of({inner})", "optional.none()", f"optional.ofNonZeroValue({inner})"))
        return self._attribute()

    def _text(self, kind: str) -> str:
        pool = TEXTS[kind] if kind in TEXTS and self.rng.random() < 0.9 else WORDS
        text = self.rng.choice(pool)
        return f"'{text}'" if self.rng.random() < 0.3 and "'" not in text else f'"{text}"'

    def _attribute(self, name: str = "") -> str:
        rng = self.rng
        name = name or rng.choice(ATTRIBUTES)
        domain = rng.choice(DOMAINS)
        return rng.choice(
            (
                f'device.attributes["{domain}"].{name}',
                f'device.attributes["{domain}"]["{name}"]',
                f'device.attributes["{domain}"].?{name}.orValue({rng.choice(INTS)})',
                f"device.attributes['{domain}'].{name}",
            )
        )

    def _capacity(self) -> str:
        return f'device.capacity["{self.rng.choice(DOMAINS)}"].{self.rng.choice(CAPACITIES)}'

    def _call(self, wanted: Type, depth: int) -> str:
        rng = self.rng
        for _ in range(40):
            overload = rng.choice(self._overloads)
            bound: dict[str, Type] = {}
            if self._fits(overload.result, wanted, bound):
                return self._render(overload, bound, depth)
        return self._leaf(wanted)

    def _render(self, overload: Overload, bound: dict[str, Type], depth: int) -> str:
        args = []
        for number, pattern in enumerate(overload.args):
            args.append(self._argument(overload, number, self._fill(pattern, bound), depth - 1))
        name = overload.function
        if name in BINARY:
            return f"{_enclosed(args[0])} {BINARY[name]} {_enclosed(args[1])}"
        if name in ("!_", "-_"):
            return f"{name[0]}{_enclosed(args[0])}"
        if name == "_?_:_":
            return f"{_enclosed(args[0])} ? {_enclosed(args[1])} : {args[2]}"
        if name in ("_[_]", "_[?_]"):
            return f"{_enclosed(args[0])}[{'?' if '?' in name else ''}{args[1]}]"
        if overload.is_method:
            return f"{_enclosed(args[0])}.{name}({', '.join(args[1:])})"
        return f"{name}({', '.join(args)})"

    def _argument(self, overload: Overload, number: int, wanted: Type, depth: int) -> str:
        """An argument; texts are of the kind that the function reads."""
        if wanted == t.STRING and self.rng.random() < 0.7:
            kind = TEXT_OF_FUNCTION.get(overload.function, "")
            if overload.function in ("matches", "find", "findAll") and number == 1:
                kind = "regex"
            elif overload.function == "format" and number == 0:
                kind = "format"
            elif overload.id.endswith(("_with_tz", "_tz")):
                kind = "zone"
            if kind or self.rng.random() < 0.4:
                return self._text(kind)
        if wanted == t.list_of(t.DYN):
            count = self.rng.randrange(3)
            return "[" + ", ".join(self._make(self._any_type(0), depth - 1) for _ in range(count)) + "]"
        return self._make(wanted, depth)

    def _list(self, wanted: Type, depth: int) -> str:
        element = wanted.params[0] if wanted.params else t.INT
        items = [self._make(element, depth - 1) for _ in range(self.rng.randrange(4))]
        if items and self.rng.random() < 0.08:
            items[0] = f"?optional.of({items[0]})"
        return "[" + ", ".join(items) + "]"

    def _map_literal(self, wanted: Type, depth: int) -> str:
        key, value = wanted.params
        entries = []
        for _ in range(self.rng.randrange(3)):
            made = self._make(value, depth - 1)
            entry = f"{self._leaf(key)}: {made}"
            if self.rng.random() < 0.08:
                entry = f"?{self._leaf(key)}: optional.of({made})"
            entries.append(entry)
        return "{" + ", ".join(entries) + "}"

    # -- macros and other forms

    def _with(self, variables: list[tuple[str, Type]], wanted: Type, depth: int) -> str:
        self._scope += variables
        made = self._make(wanted, depth)
        del self._scope[len(self._scope) - len(variables) :]
        return made

    def _variable(self) -> str:
        self._names += 1
        return self.rng.choice(("x", "y", "k", "v", "i", "device2", "cel")) + (
            str(self._names) if self._names > 2 else ""
        )

    def _ternary(self, wanted: Type, depth: int) -> str:
        condition = self._make(t.BOOL, depth - 1)
        return f"({_enclosed(condition)} ? {self._make(wanted, depth - 1)} : {self._make(wanted, depth - 1)})"

    def _bind(self, wanted: Type, depth: int) -> str:
        each, name = self._any_type(1), self._variable()
        value = self._make(each, depth - 1)
        if self.rng.random() < 0.3:
            each = t.map_of(t.STRING, t.ANY)
            value = f'device.attributes["{self.rng.choice(DOMAINS)}"]'
        return f"cel.bind({name}, {value}, {self._with([(name, each)], wanted, depth - 1)})"

    def _index(self, wanted: Type, depth: int) -> str:
        if self.rng.random() < 0.5:
            return f"{self._make(t.list_of(wanted), depth - 1)}[{self.rng.choice(INTS[:4])}]"
        key = self.rng.choice(KEYS)
        return f"{self._make(t.map_of(key, wanted), depth - 1)}[{self._leaf(key)}]"

    def _range(self, depth: int) -> tuple[str, Type, Type]:
        """A list or map to fold over, with the types of its (index or key) and elements."""
        roll = self.rng.random()
        if roll < 0.6:
            element = self._any_type(1)
            return _enclosed(self._make(t.list_of(element), depth - 1)), t.INT, element
        if roll < 0.75:
            return f'device.attributes["{self.rng.choice(DOMAINS)}"]', t.STRING, t.ANY
        if roll < 0.85:
            return f'device.capacity["{self.rng.choice(DOMAINS)}"]', t.STRING, t.QUANTITY
        key, value = self.rng.choice(KEYS), self._any_type(0)
        return _enclosed(self._make(t.map_of(key, value), depth - 1)), key, value

    def _quantifier(self, wanted: Type, depth: int) -> str | None:
        if wanted != t.BOOL:
            return None
        source, key, element = self._range(depth)
        name = self._variable()
        each = element if key == t.INT else key
        macro = self.rng.choice(("all", "exists", "exists_one"))
        return f"{source}.{macro}({name}, {self._with([(name, each)], t.BOOL, depth - 1)})"

    def _two_variables(self, wanted: Type, depth: int) -> str | None:
        source, key, element = self._range(depth)
        first, second = self._variable(), self._variable()
        scope = [(first, key), (second, element)]
        if wanted == t.BOOL:
            macro = self.rng.choice(("all", "exists", "exists_one", "existsOne"))
            return f"{source}.{macro}({first}, {second}, {self._with(scope, t.BOOL, depth - 1)})"
        if wanted.kind is Kind.LIST:
            body = self._with(scope, wanted.params[0], depth - 1)
            if self.rng.random() < 0.4:
                body = f"{self._with(scope, t.BOOL, depth - 2)}, {body}"
            return f"{source}.transformList({first}, {second}, {body})"
        return None

    def _transform_map(self, wanted: Type, depth: int) -> str | None:
        if wanted.kind is not Kind.MAP:
            return None
        source, key, element = self._range(depth)
        first, second = self._variable(), self._variable()
        scope = [(first, key), (second, element)]
        if self.rng.random() < 0.5:
            return f"{source}.transformMap({first}, {second}, {self._with(scope, wanted.params[1], depth - 1)})"
        return f"{source}.transformMapEntry({first}, {second}, {self._with(scope, wanted, depth - 1)})"

    def _filter(self, wanted: Type, depth: int) -> str | None:
        if wanted.kind is not Kind.LIST:
            return None
        name = self._variable()
        source = _enclosed(self._make(wanted, depth - 1))
        return f"{source}.filter({name}, {self._with([(name, wanted.params[0])], t.BOOL, depth - 1)})"

    def _map(self, wanted: Type, depth: int) -> str | None:
        if wanted.kind is not Kind.LIST:
            return None
        source, key, element = self._range(depth)
        name = self._variable()
        scope = [(name, element if key == t.INT else key)]
        body = self._with(scope, wanted.params[0], depth - 1)
        if self.rng.random() < 0.3:
            body = f"{self._with(scope, t.BOOL, depth - 2)}, {body}"
        return f"{source}.map({name}, {body})"

    def _optional(self, wanted: Type, depth: int) -> str:
        inner = self._make(t.optional_of(wanted), depth - 1)
        if self.rng.random() < 0.5:
            return f"{_enclosed(inner)}.value()"
        return f"{_enclosed(inner)}.orValue({self._make(wanted, depth - 2)})"

    def _optional_map(self, wanted: Type, depth: int) -> str | None:
        if not wanted.is_optional:
            return None
        each, name = self._any_type(0), self._variable()
        source = _enclosed(self._make(t.optional_of(each), depth - 1))
        if self.rng.random() < 0.5:
            return f"{source}.optMap({name}, {self._with([(name, each)], wanted.params[0], depth - 1)})"
        return f"{source}.optFlatMap({name}, {self._with([(name, each)], wanted, depth - 1)})"

    def _optional_index(self, wanted: Type, depth: int) -> str | None:
        if not wanted.is_optional:
            return None
        if self.rng.random() < 0.5:
            return f"{_enclosed(self._make(t.list_of(wanted.params[0]), depth - 1))}[?{self.rng.choice(INTS[:4])}]"
        source = self._make(t.map_of(t.STRING, wanted.params[0]), depth - 1)
        return f"{_enclosed(source)}.?{self.rng.choice(('a', 'b', 'mig'))}"

    def _first_or_last(self, wanted: Type, depth: int) -> str | None:
        if not wanted.is_optional:
            return None
        return f"{_enclosed(self._make(t.list_of(wanted.params[0]), depth - 1))}.{self.rng.choice(('first', 'last'))}()"

    def _selection(self, wanted: Type, depth: int) -> str | None:
        source = self._make(t.map_of(t.STRING, wanted), depth - 1)
        return f"{_enclosed(source)}.{self.rng.choice(('a', 'b', 'mig'))}" if self.rng.random() < 0.5 else None

    def _sort_by(self, wanted: Type, depth: int) -> str | None:
        if wanted.kind is not Kind.LIST:
            return None
        name = self._variable()
        key = self._with([(name, wanted.params[0])], self.rng.choice(COMPARABLE), depth - 1)
        return f"{_enclosed(self._make(wanted, depth - 1))}.sortBy({name}, {key})"

    def _has(self, wanted: Type, depth: int) -> str | None:
        if wanted != t.BOOL:
            return None
        domain, name = self.rng.choice(DOMAINS), self.rng.choice(ATTRIBUTES)
        return self.rng.choice(
            (
                f'has(device.attributes["{domain}"].{name})',
                f'"{domain}" in device.attributes',
                f'"{name}" in device.attributes["{domain}"]',
                f'has(device.capacity["{domain}"].{self.rng.choice(CAPACITIES)})',
                f'device.attributes[?"{domain}"].hasValue()',
                f'has({{"{name}": 1}}.{name})',
            )
        )

    def _chain(self, wanted: Type, depth: int) -> str | None:
        if wanted != t.BOOL:
            return None
        op = self.rng.choice((" && ", " || "))
        return op.join(_enclosed(self._make(t.BOOL, depth - 1)) for _ in range(self.rng.randrange(2, 5)))


_SIMPLE = re.compile(r"""[\w.]+|"[^"\\]*"|\w[\w.]*\([^()]*\)|\[[^\[\]]*\]""")


def _enclosed(text: str) -> str:
    return text if _SIMPLE.fullmatch(text) and not text.lstrip("-")[:1].isdigit() else f"({text})"


_TOKEN = re.compile(r"""\s+|\w+|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|&&|\|\||[=!<>]=|.""", re.DOTALL)
FRAGMENTS = (
    "(", ")", "[", "]", "{", "}", ".", ",", "?", ":", "==", "!=", "<", ">=", "&&", "||", "!", "-", "+", "*", "/",
    "%", "in",
    "1", "1u", "2.5", '"x"', "'y'", "b'z'", "true", "null", "device", "x", "size", ".?", "[?", "has", "for", "`a`",
    "#", "=", "&",
    "|", '"', "'", "\\", "\n", "\t", "//", "é", "😀", ";", "@", "$", "all", "cel.bind(x, 1, x)", "0x", "1.", "..",
    "-1", "{}", "[]",
)  # fmt: skip


def mutate(rng: random.Random, expression: str) -> str:
    """The expression with a few tokens or characters changed; often no longer well formed."""
    tokens = _TOKEN.findall(expression)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(tokens) + 1)
        match rng.randrange(8):
            case 0:
                del tokens[at : at + 1]
            case 1:
                tokens.insert(at, rng.choice(FRAGMENTS))
            case 2 if at < len(tokens):
                tokens[at] = rng.choice(FRAGMENTS)
            case 3 if at < len(tokens):
                tokens.insert(at, tokens[at])
            case 4 if at + 1 < len(tokens):
                tokens[at], tokens[at + 1] = tokens[at + 1], tokens[at]
            case 5:
                del tokens[at:]
            case 6 if at < len(tokens) and tokens[at]:
                place = rng.randrange(len(tokens[at]))
                tokens[at] = tokens[at][:place] + rng.choice(FRAGMENTS) + tokens[at][place + 1 :]
            case _:
                tokens[at:at] = rng.choice(SELECTORS).split(" ")[: rng.randrange(4)]
    return "".join(tokens)


def expressions(seed: int, count: int, env: Environment) -> Iterator[str]:
    """``count`` expressions: two thirds typed, the rest mutations of selectors and of typed ones."""
    rng = random.Random(seed)
    generator = Generator(rng, env)
    for _ in range(count):
        roll = rng.random()
        if roll < 0.66:
            yield generator.expression()
        elif roll < 0.85:
            yield mutate(rng, rng.choice(SELECTORS))
        else:
            yield mutate(rng, generator.expression())


def request(number: int, batch: list[str], env: Environment) -> dict[str, Any]:
    """A request to Kubernetes' own code to compile and evaluate expressions."""
    devices = DEVICES + (LIST_DEVICES if env.list_attributes else [])
    return {
        "id": str(number),
        "cel": {
            "expressions": batch,
            "driver": DRIVER,
            "devices": devices,
            "list": env.list_attributes,
            "consumable": env.consumable_capacity,
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Print requests with random CEL expressions, one JSON line each.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--release", default="1.36")
    parser.add_argument("--list", action="store_true", help="with the gate DRAListTypeAttributes")
    options = parser.parse_args()
    major, minor = options.release.split(".")
    env = Environment((int(major), int(minor)), list_attributes=options.list)
    batch: list[str] = []
    number = 0
    for expression in expressions(options.seed, options.count, env):
        batch.append(expression)
        if len(batch) == 50:
            print(json.dumps(request(number, batch, env)))
            batch, number = [], number + 1
    if batch:
        print(json.dumps(request(number, batch, env)))


if __name__ == "__main__":
    main()

"""Random expressions that type-check, mostly: every declared function, operator and macro over every type.

``expression(random, environment)`` gives one device selector. About one in ten leaves has another type than its place
wants, behind ``dyn()``, so that run-time type errors are met as well.
"""

from __future__ import annotations

import random as random_module
from collections.abc import Callable

from dractl.cel import types as t
from dractl.cel.environment import Environment, declarations
from dractl.cel.signatures import Overload

DRIVER = "gpu.example.com"
SCALARS = (t.BOOL, t.INT, t.UINT, t.DOUBLE, t.STRING, t.BYTES, t.DURATION, t.TIMESTAMP)
OTHERS = (t.QUANTITY, t.SEMVER, t.IP, t.CIDR, t.URL, t.NAMED_FORMAT, t.NULL)
COMPARABLE = (t.BOOL, t.INT, t.UINT, t.DOUBLE, t.STRING, t.BYTES, t.DURATION, t.TIMESTAMP)

LITERALS: dict[t.Type, tuple[str, ...]] = {
    t.BOOL: ("true", "false"),
    t.INT: ("0", "1", "-1", "2", "3", "7", "10", "100", "-9223372036854775808", "9223372036854775807", "0x1F"),
    t.UINT: ("0u", "1u", "2u", "18446744073709551615u", "9223372036854775808u", "7u"),
    t.DOUBLE: ("0.0", "1.0", "-1.5", "2.5", "1e300", "1e-7", "123456789.0", "3.0", "9223372036854775807.0", "0.1"),
    t.STRING: (
        '""',
        '"a"',
        '"abc"',
        '"A100-SXM4-80GB"',
        '"ünï-日本"',
        '"1"',
        '"1.5"',
        '"true"',
        '"10Gi"',
        '"1.2.3"',
        '"192.168.0.1"',
        '"10.0.0.0/8"',
        '"https://example.com:80/p?q=1"',
        '"my-label"',
        '"2023-01-02T03:04:05Z"',
        '"1h30m"',
        '"%s-%d"',
        '"a.b.c"',
        '"a,b,c"',
        '"  x "',
        '"[a-z]+"',
        "'q\"uo'",
        '"::1"',
        '"v1.2"',
        '"model"',
    ),
    t.BYTES: ('b""', 'b"abc"', "b'\\xff\\x00'", 'b"ü"'),
    t.DURATION: ('duration("1h")', 'duration("1.5s")', 'duration("-10m")', 'duration("0")', 'duration("1ns")'),
    t.TIMESTAMP: (
        'timestamp("2023-01-02T03:04:05Z")',
        'timestamp("2024-02-29T23:59:59.123456789+02:00")',
        "timestamp(0)",
        'timestamp("9999-12-31T23:59:59Z")',
        'timestamp("0001-01-01T00:00:00Z")',
    ),
    t.QUANTITY: (
        'quantity("1")',
        'quantity("10Gi")',
        'quantity("1500m")',
        'quantity("-2k")',
        'quantity("0")',
        'quantity("1e3")',
        'quantity("1.5Gi")',
        'quantity("80Gi")',
        'quantity("99999999999999999999")',
        'quantity("1n")',
    ),
    t.SEMVER: ('semver("1.2.3")', 'semver("2.0.0-rc.1+b")', 'semver("0.0.0")', 'semver("v1.2", true)'),
    t.IP: ('ip("10.1.2.3")', 'ip("::1")', 'ip("fe80::1")', 'ip("127.0.0.1")'),
    t.CIDR: ('cidr("10.0.0.0/8")', 'cidr("2001:db8::/32")', 'cidr("192.168.1.7/24")'),
    t.URL: ('url("https://example.com:80/p%20q?a=1&a=2#f")', 'url("/path")', 'url("http://[::1]/x")'),
    t.NAMED_FORMAT: ("format.dns1123Label()", "format.uuid()", "format.date()", "format.labelValue()"),
    t.NULL: ("null",),
}

ATTRIBUTES: dict[t.Type, tuple[str, ...]] = {
    t.STRING: ("model", "profile", "empty", "uni"),
    t.INT: ("index", "neg", "big"),
    t.BOOL: ("healthy",),
    t.SEMVER: ("ver", "cc", "pre"),
}
# Kubernetes itself panics on a map with such keys
UNHASHABLE = frozenset((t.BYTES, t.SEMVER, t.NAMED_FORMAT))
DEVICE_TYPES = frozenset((t.BOOL, t.STRING, t.INT, t.QUANTITY))
METHOD_ONLY_OPERATORS = {
    "_+_": "+",
    "_-_": "-",
    "_*_": "*",
    "_/_": "/",
    "_%_": "%",
    "_<_": "<",
    "_<=_": "<=",
    "_>_": ">",
    "_>=_": ">=",
    "_==_": "==",
    "_!=_": "!=",
    "_&&_": "&&",
    "_||_": "||",
    "@in": "in",
}
HIDDEN = frozenset(
    ("@not_strictly_false", "@sortByAssociatedKeys", "cel.@mapInsert", "select_optional_field", "_?._", "_[_]", "_[?_]")
)


class Generator:
    """Makes expressions of a wanted type."""

    def __init__(self, random: random_module.Random, env: Environment) -> None:
        self.random = random
        self.env = env
        self.by_result: dict[tuple[t.Kind, str], list[Overload]] = {}
        self.generic: list[Overload] = []
        for function in declarations(env).functions.values():
            for overload in function.overloads:
                if function.name in HIDDEN or "authorization" in str(overload.args):
                    continue
                if overload.result.kind is t.Kind.PARAM:
                    self.generic.append(overload)
                else:
                    self.by_result.setdefault((overload.result.kind, overload.result.name), []).append(overload)
        self.scope: list[tuple[str, t.Type]] = []
        self.names = 0

    # --- entry ------------------------------------------------------------------------------------------------------

    def expression(self, wanted: t.Type, depth: int) -> str:
        """An expression of a type."""
        roll = self.random.random()
        if depth <= 0 or roll < 0.08:
            return self.leaf(wanted)
        if roll < 0.12:
            return f"dyn({self.expression(self.any_type(), depth - 1)})"
        if roll < 0.20:
            return self.ternary(wanted, depth)
        if roll < 0.26:
            return self.bound(wanted, depth)
        if roll < 0.32:
            return self.picked(wanted, depth)
        special = self.special(wanted, depth)
        if special is not None and roll < 0.62:
            return special
        return self.call(wanted, depth)

    def any_type(self) -> t.Type:
        """A random type."""
        roll = self.random.random()
        if roll < 0.6:
            return self.random.choice(SCALARS)
        if roll < 0.75:
            return self.random.choice(OTHERS)
        if roll < 0.88:
            return t.list_of(self.random.choice(SCALARS))
        if roll < 0.95:
            return t.map_of(self.random.choice((t.STRING, t.INT, t.BOOL)), self.random.choice(SCALARS))
        return t.optional_of(self.random.choice(SCALARS))

    # --- leaves -----------------------------------------------------------------------------------------------------

    def leaf(self, wanted: t.Type) -> str:
        roll = self.random.random()
        named = [name for name, kind in self.scope if kind == wanted]
        if named and roll < 0.5:
            return self.random.choice(named)
        if wanted in DEVICE_TYPES and roll < 0.75:
            return self.device(wanted)
        if wanted.kind is t.Kind.LIST:
            return "[" + ", ".join(self.leaf(wanted.params[0]) for _ in range(self.random.randrange(4))) + "]"
        if wanted.kind is t.Kind.MAP:
            return self.map_literal(wanted, 0)
        if wanted.is_optional:
            return f"optional.of({self.leaf(wanted.params[0])})" if roll < 0.8 else "optional.none()"
        if wanted.kind is t.Kind.TYPE:
            return self.random.choice(("int", "string", "type(1)", "bool", "list", "map", "duration"))
        literals = LITERALS.get(wanted)
        if literals is None:
            return self.leaf(self.random.choice(SCALARS))
        return self.random.choice(literals)

    def device(self, wanted: t.Type) -> str:
        r = self.random
        if wanted == t.QUANTITY:
            name = r.choice(("memory", "cores", "bw", "nope"))
            return f'device.capacity["{DRIVER}"].{name}'
        if wanted == t.STRING and r.random() < 0.2:
            return "device.driver"
        if wanted == t.BOOL and r.random() < 0.3:
            return r.choice(
                (
                    "device.allowMultipleAllocations",
                    f'has(device.attributes["{DRIVER}"].model)',
                    f'"model" in device.attributes["{DRIVER}"]',
                    '"x" in device.attributes',
                    f'device.attributes["{DRIVER}"].?index.hasValue()',
                    f'has(device.capacity["{DRIVER}"].memory)',
                )
            )
        names = ATTRIBUTES[wanted] if r.random() < 0.85 else r.choice(list(ATTRIBUTES.values()))
        name = r.choice((*names, "nope")) if r.random() < 0.9 else "nope"
        domain = DRIVER if r.random() < 0.95 else "unknown.example"
        return (
            f'device.attributes["{domain}"].{name}' if r.random() < 0.8 else f'device.attributes["{domain}"]["{name}"]'
        )

    # --- composed ---------------------------------------------------------------------------------------------------

    def ternary(self, wanted: t.Type, depth: int) -> str:
        condition = self.expression(t.BOOL, depth - 1)
        return f"({condition} ? {self.expression(wanted, depth - 1)} : {self.expression(wanted, depth - 1)})"

    def variable(self, kind: t.Type) -> str:
        self.names += 1
        name = self.random.choice("xyzv") + str(self.names % 10)
        self.scope.append((name, kind))
        return name

    def bound(self, wanted: t.Type, depth: int) -> str:
        kind = self.any_type()
        value = self.expression(kind, depth - 1)
        name = self.variable(kind)
        body = self.expression(wanted, depth - 1)
        self.scope.pop()
        return f"cel.bind({name}, {value}, {body})"

    def picked(self, wanted: t.Type, depth: int) -> str:
        """An element of a list or map, or what an optional holds."""
        roll = self.random.randrange(5)
        if roll == 0:
            return f"{self.operand(t.list_of(wanted), depth)}[{self.expression(t.INT, depth - 2)}]"
        if roll == 1:
            key = self.random.choice((t.STRING, t.INT))
            return f"{self.operand(t.map_of(key, wanted), depth)}[{self.expression(key, depth - 2)}]"
        if roll == 2:
            return f"{self.operand(t.optional_of(wanted), depth)}.orValue({self.expression(wanted, depth - 1)})"
        if roll == 3:
            return f"{self.operand(t.optional_of(wanted), depth)}.value()"
        return f"{self.map_literal(t.map_of(t.STRING, wanted), depth - 1)}.k{self.random.randrange(3)}"

    def operand(self, wanted: t.Type, depth: int) -> str:
        text = self.expression(wanted, depth - 1)
        return f"({text})" if text[:1] in "-!" or " " in text or text[:1].isdigit() else text

    def map_literal(self, wanted: t.Type, depth: int) -> str:
        key, item = wanted.params
        if key in UNHASHABLE:
            key = t.STRING
        entries = []
        for index in range(self.random.randrange(4)):
            name = f'"k{index}"' if key == t.STRING and self.random.random() < 0.7 else self.leaf(key)
            entries.append(f"{name}: {self.expression(item, depth)}")
        return "{" + ", ".join(entries) + "}"

    def special(self, wanted: t.Type, depth: int) -> str | None:
        """What is no plain function: macros, literals of lists and maps, optional steps."""
        r = self.random
        if wanted == t.BOOL:
            return self.quantified(depth)
        if wanted.kind is t.Kind.LIST:
            return self.list_of(wanted.params[0], depth)
        if wanted.kind is t.Kind.MAP:
            return self.map_of(wanted, depth)
        if wanted.is_optional:
            return self.optional(wanted.params[0], depth)
        if wanted.kind is t.Kind.TYPE:
            return f"type({self.expression(self.any_type(), depth - 1)})"
        if wanted == t.INT and r.random() < 0.3:
            return f"size({self.expression(r.choice((t.STRING, t.BYTES, t.list_of(t.INT))), depth - 1)})"
        return None

    def range_of(self, depth: int) -> tuple[str, t.Type, t.Type]:
        """Something to loop over, with the types of its keys and its elements."""
        r = self.random
        item = r.choice(SCALARS)
        if r.random() < 0.75:
            return self.operand(t.list_of(item), depth - 1), t.INT, item
        key = r.choice((t.STRING, t.INT))
        single = "{" + f"{self.leaf(key)}: {self.leaf(item)}" + "}"
        return single, key, item

    def quantified(self, depth: int) -> str:
        r = self.random
        items, key, item = self.range_of(depth)
        is_map = items.startswith("{")
        macro = r.choice(("all", "exists", "exists_one"))
        if r.random() < 0.6:
            name = self.variable(key if is_map else item)
            body = self.expression(t.BOOL, depth - 2)
            self.scope.pop()
            return f"{items}.{macro}({name}, {body})"
        first, second = self.variable(key), self.variable(item)
        body = self.expression(t.BOOL, depth - 2)
        self.scope.pop()
        self.scope.pop()
        if first == second:
            return "true"
        return f"{items}.{macro}({first}, {second}, {body})"

    def list_of(self, item: t.Type, depth: int) -> str:
        r = self.random
        roll = r.randrange(6)
        if roll <= 1:
            parts = []
            for _ in range(r.randrange(4)):
                if r.random() < 0.1:
                    parts.append(f"?{self.expression(t.optional_of(item), depth - 2)}")
                else:
                    parts.append(self.expression(item, depth - 2))
            return "[" + ", ".join(parts) + "]"
        items, key, element = self.range_of(depth)
        is_map = items.startswith("{")
        if roll == 2:
            first, second = self.variable(key), self.variable(element)
            body = self.expression(item, depth - 2)
            condition = self.expression(t.BOOL, depth - 2) + ", " if r.random() < 0.5 else ""
            self.scope.pop()
            self.scope.pop()
            return f"{items}.transformList({first}, {second}, {condition}{body})" if first != second else "[]"
        name = self.variable(key if is_map else element)
        try:
            if roll == 3:
                return f"{items}.map({name}, {self.expression(item, depth - 2)})"
            if roll == 4:
                condition = self.expression(t.BOOL, depth - 2)
                return f"{items}.map({name}, {condition}, {self.expression(item, depth - 2)})"
            same = self.operand(t.list_of(item), depth - 1)
            self.scope.pop()
            self.scope.append((name, item))
            macro = r.choice(("filter", "sortBy"))
            body = self.expression(t.BOOL if macro == "filter" else r.choice(COMPARABLE), depth - 2)
            return f"{same}.{macro}({name}, {body})"
        finally:
            self.scope.pop()

    def map_of(self, wanted: t.Type, depth: int) -> str:
        r = self.random
        if r.random() < 0.6:
            return self.map_literal(wanted, depth - 1)
        key, item = wanted.params
        items = self.map_literal(t.map_of(key, t.INT), 0)
        first, second = self.variable(key), self.variable(t.INT)
        body = self.expression(item, depth - 2)
        self.scope.pop()
        self.scope.pop()
        return f"{items}.transformMap({first}, {second}, {body})" if first != second else "{}"

    def optional(self, item: t.Type, depth: int) -> str:
        r = self.random
        roll = r.randrange(6)
        if roll == 0:
            return f"{self.operand(t.list_of(item), depth)}[?{self.expression(t.INT, depth - 2)}]"
        if roll == 1:
            return f"{self.map_literal(t.map_of(t.STRING, item), depth - 1)}[?{self.leaf(t.STRING)}]"
        if roll == 2:
            return f"{self.map_literal(t.map_of(t.STRING, item), depth - 1)}.?k{r.randrange(3)}"
        if roll == 3:
            return f"{self.operand(t.optional_of(item), depth)}.or({self.expression(t.optional_of(item), depth - 1)})"
        source = r.choice(SCALARS)
        target = self.operand(t.optional_of(source), depth)
        name = self.variable(source)
        if roll == 4:
            body = self.expression(item, depth - 2)
            self.scope.pop()
            return f"{target}.optMap({name}, {body})"
        body = self.expression(t.optional_of(item), depth - 2)
        self.scope.pop()
        return f"{target}.optFlatMap({name}, {body})"

    # --- functions --------------------------------------------------------------------------------------------------

    def call(self, wanted: t.Type, depth: int) -> str:
        options = list(self.by_result.get((wanted.kind, wanted.name), ()))
        if self.generic and self.random.random() < 0.1:
            options = self.generic
        if not options:
            return self.leaf(wanted)
        overload = self.random.choice(options)
        bindings: dict[str, t.Type] = {}
        _match(overload.result, wanted, bindings)
        for name in overload.params:
            bindings.setdefault(name, self.random.choice(SCALARS))
        args = [self.argument(_bound(each, bindings), depth) for each in overload.args]
        if overload.function == "lists.range":
            # up to 1.36 Kubernetes makes lists of any length
            args = [str(self.random.randrange(-2, 9))]
        return self.written(overload, args)

    def argument(self, wanted: t.Type, depth: int) -> str:
        if wanted.kind in (t.Kind.DYN, t.Kind.ANY):
            return self.expression(self.any_type(), depth - 1)
        if self.random.random() < 0.03:
            return f"dyn({self.expression(self.any_type(), depth - 2)})"
        return self.expression(wanted, depth - 1)

    def written(self, overload: Overload, args: list[str]) -> str:
        name = overload.function
        if name in METHOD_ONLY_OPERATORS:
            return f"({args[0]} {METHOD_ONLY_OPERATORS[name]} {args[1]})"
        if name == "!_":
            return f"!({args[0]})"
        if name == "-_":
            return f"-({args[0]})"
        if name == "_?_:_":
            return f"({args[0]} ? {args[1]} : {args[2]})"
        if overload.is_method:
            target = args[0] if not (" " in args[0] or args[0][:1] in "-!") else f"({args[0]})"
            return f"{target}.{name}({', '.join(args[1:])})"
        return f"{name}({', '.join(args)})"


def _match(declared: t.Type, wanted: t.Type, bindings: dict[str, t.Type]) -> None:
    if declared.kind is t.Kind.PARAM:
        bindings.setdefault(declared.name, wanted)
    for inner, inner_wanted in zip(declared.params, wanted.params, strict=False):
        _match(inner, inner_wanted, bindings)


def _bound(declared: t.Type, bindings: dict[str, t.Type]) -> t.Type:
    if declared.kind is t.Kind.PARAM:
        return bindings.get(declared.name, t.INT)
    if not declared.params:
        return declared
    return t.Type(declared.kind, declared.name, tuple(_bound(each, bindings) for each in declared.params))


Maker = Callable[[random_module.Random], str]


def expression(random: random_module.Random, env: Environment, depth: int = 4) -> str:
    """One selector."""
    generator = Generator(random, env)
    if random.random() < 0.5:
        return generator.expression(t.BOOL, depth)
    kind = generator.any_type()
    left, right = generator.expression(kind, depth), generator.expression(kind, depth)
    return f"{left} {random.choice(('==', '!='))} {right}"

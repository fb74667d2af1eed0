"""Every overload, macro and form of an environment in turn, with arguments that suit: most of them have a value.

``expressions(source, env, count)`` goes through them all again and again. The value is shown in a run-time error
(``{"k": 1}[TEXT]`` gives ``no such key: TEXT``) where it is not itself the answer.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from grammar import ATTRIBUTES, DRIVER, HIDDEN, LITERALS, METHOD_ONLY_OPERATORS
from texts import FORMATS, PATTERNS, ZONES, Texts

from dractl.cel import types as t
from dractl.cel.environment import Environment, declarations
from dractl.cel.signatures import Overload

SCALARS = (t.BOOL, t.INT, t.UINT, t.DOUBLE, t.STRING, t.BYTES, t.DURATION, t.TIMESTAMP)
KEYS = (t.STRING, t.STRING, t.INT, t.UINT, t.BOOL)
SMALL = ("0", "0", "1", "1", "2", "3", "-1", "5")
DOMAIN = f'device.attributes["{DRIVER}"]'
LISTS = {t.STRING: "links", t.INT: "lanes", t.BOOL: "flags", t.SEMVER: "vers"}
TEXTS: dict[str, tuple[str, ...]] = {
    "duration": ("1h", "1.5s", "-2m", "90m", "1h30m15s", "10ns", "2540400h", "100us"),
    "timestamp": ("2024-02-29T12:34:56.789Z", "1970-01-01T00:00:00+05:30", "0001-01-01T00:00:00Z", "bad"),
    "quantity": ("1", "80Gi", "1500m", "-2k", "1e3", "0.5", "100n", "12E", "bad"),
    "isQuantity": ("1", "80Gi", "1.1.1", "", "1 Gi"),
    "semver": ("1.2.3", "2.0.0-rc.1+b", "10.20.30", "v1.2", "01.2.3"),
    "isSemver": ("1.2.3", "v1.2", "", "1.2.3-a.01"),
    "url": ("https://u@example.com:80/p%20q?a=1&a=2&b#f", "/path?x=", "http://[::1]:8080/", "bad"),
    "isURL": ("https://example.com", "bad", "", "a:b"),
    "ip": ("10.1.2.3", "::1", "fe80::1", "224.0.0.251", "ff02::1", "0.0.0.0", "2001:db8::8", "1.2.3"),
    "isIP": ("10.1.2.3", "::1", "::ffff:1.2.3.4", "x"),
    "ip.isCanonical": ("10.1.2.3", "::1", "2001:DB8::1", "0:0::1"),
    "containsIP": ("10.1.2.3", "2001:db8::1", "192.168.1.7", "bad"),
    "cidr": ("10.0.0.0/8", "2001:db8::/32", "192.168.1.7/24", "0.0.0.0/0", "10.0.0.0/33"),
    "isCIDR": ("10.0.0.0/8", "10.0.0.0", "::/0"),
    "containsCIDR": ("10.1.0.0/16", "10.0.0.0/7", "2001:db8:1::/48", "bad"),
    "format.named": (*FORMATS, "none"),
    "int": ("7", "-9223372036854775808", "1.5", "0x1f", "+3"),
    "uint": ("7", "18446744073709551615", "-1"),
    "double": ("1.5", "-1e-7", "NaN", "-Infinity", "1e400", "0x1p3"),
    "bool": ("true", "FALSE", "t", "1", "yes"),
    "matches": PATTERNS,
    "find": PATTERNS,
    "findAll": PATTERNS,
    "validate": ("abc", "a.b", "A_b", "2024-02-30", "12:00:00", "aGVsbG8=", "https://a/b", "a/b", "x" * 64, ""),
    "format": (
        "%s", "%d", "%f", "%.2f", "%e", "%.0e", "%b", "%o", "%x", "%X", "%s|%s", "%%%s", "%d%%", "%.3f %s", "plain",
        "%", "%q", "%.f", "%s %d %x", "%.25f", "%.1001f", "%-5s",
    ),
}  # fmt: skip
STRUCTS = (
    "google.protobuf.Int64Value{value: @i}", "google.protobuf.Int32Value{value: @i}",
    "google.protobuf.UInt64Value{value: @u}", "google.protobuf.UInt32Value{value: @u}",
    "google.protobuf.BoolValue{value: @b}", "google.protobuf.StringValue{value: @s}",
    "google.protobuf.BytesValue{value: @y}", "google.protobuf.DoubleValue{value: @d}",
    "google.protobuf.FloatValue{value: @d}", "google.protobuf.Value{number_value: @d}",
    "google.protobuf.Value{string_value: @s}", "google.protobuf.Value{bool_value: @b}", "google.protobuf.Value{}",
    "google.protobuf.ListValue{values: [@s, @d, @b]}", "google.protobuf.Struct{fields: {@s: @d, @s: @s}}",
    "google.protobuf.Value{struct_value: {@s: @d}}", "google.protobuf.Value{list_value: [@s]}",
    "google.protobuf.Timestamp{seconds: @i, nanos: 5}", "google.protobuf.Duration{seconds: @i, nanos: @i}",
    "google.protobuf.Int64Value{}", "google.protobuf.StringValue{}", "google.protobuf.Struct{}",
    "google.protobuf.Empty{}", "google.protobuf.NullValue.NULL_VALUE",
    "google.protobuf.Int64Value{?value: optional.of(@i)}", "google.protobuf.StringValue{?value: optional.none()}",
)  # fmt: skip
PARTS = {"@i": t.INT, "@u": t.UINT, "@b": t.BOOL, "@s": t.STRING, "@y": t.BYTES, "@d": t.DOUBLE}

Made = tuple[str, t.Type]


class Calls:
    """Makes calls with suitable arguments for one environment."""

    def __init__(self, source: random.Random, env: Environment) -> None:
        self.random = source
        self.env = env
        self.texts = Texts(source)
        self.scope: list[Made] = []
        self.names = 0
        declared = declarations(env)
        self.overloads = [
            overload
            for name, function in sorted(declared.functions.items())
            for overload in function.overloads
            if name not in HIDDEN and not any("authorization" in str(each) for each in overload.args)
        ]
        macros = {name for name, _, _ in declared.macros}
        self.makers: list[Callable[[], Made]] = [self._caller(each) for each in self.overloads]
        self.makers += [self._macro(name, form) for name, form in FORMS if name in macros]
        self.makers += [self._struct(form) for form in STRUCTS]
        self.makers += [self._other(form) for form in OTHERS]

    # --- values -----------------------------------------------------------------------------------------------------

    def simple(self) -> t.Type:
        return self.random.choice(SCALARS)

    def value(self, wanted: t.Type, depth: int = 1) -> str:
        """A value of a type; now and then of another behind ``dyn``."""
        r = self.random
        named = [name for name, kind in self.scope if kind == wanted]
        if named and r.random() < 0.7:
            return r.choice(named)
        roll = r.random()
        if roll < 0.01:
            return f"dyn({self.value(self.simple(), 0)})"
        if roll < 0.08:
            return f"dyn({self.value(wanted, depth - 1)})"
        if depth > 0 and roll < 0.3:
            fitting = [each for each in self.overloads if each.result == wanted and not each.params]
            if fitting:
                return self.call(r.choice(fitting), {}, depth - 1)
        return self.plain(wanted, depth)

    def plain(self, wanted: t.Type, depth: int) -> str:
        r = self.random
        if wanted.kind in (t.Kind.DYN, t.Kind.ANY, t.Kind.PARAM):
            return self.value(self.simple(), depth - 1)
        if wanted.kind is t.Kind.LIST:
            item = wanted.params[0]
            if item in LISTS and self.env.list_attributes and r.random() < 0.2:
                return f"{DOMAIN}.{LISTS[item]}"
            return "[" + ", ".join(self.value(item, depth - 1) for _ in range(r.randrange(5))) + "]"
        if wanted.kind is t.Kind.MAP:
            key, item = wanted.params
            entries = (f"{self.value(key, 0)}: {self.value(item, depth - 1)}" for _ in range(r.randrange(4)))
            return "{" + ", ".join(entries) + "}"
        if wanted.is_optional:
            inner = self.value(wanted.params[0], depth - 1)
            return r.choice((f"optional.of({inner})", f"optional.of({inner})", "optional.none()"))
        if wanted.kind is t.Kind.TYPE:
            return r.choice(("int", "string", "bytes", "list", "map", "type", "duration", "timestamp", "net.IP"))
        if wanted == t.STRING and r.random() < 0.3:
            return self.texts.word()
        if wanted in ATTRIBUTES and r.random() < 0.25:
            return f"{DOMAIN}.{r.choice(ATTRIBUTES[wanted])}"
        if wanted == t.QUANTITY and r.random() < 0.3:
            return f'device.capacity["{DRIVER}"].{r.choice(("memory", "cores", "bw"))}'
        if wanted in (t.INT, t.DOUBLE) and r.random() < 0.3:
            number = r.choice((r.randrange(-20, 200), r.randrange(2**40), r.randrange(-(2**63), 2**63)))
            return str(number) if wanted == t.INT else repr(number / r.choice((1, 8, 1000, 3)))
        return r.choice(LITERALS.get(wanted, ("null",)))

    def word(self, function: str) -> str:
        """A text that a function reads."""
        text = self.random.choice(TEXTS[function])
        quoted = self.texts.damaged(text, "0123456789.:/-+%aZ ") if self.random.random() < 0.2 else None
        return quoted or '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    # --- calls ------------------------------------------------------------------------------------------------------

    def call(self, overload: Overload, bound: dict[str, t.Type], depth: int) -> str:
        function = overload.function
        args = []
        for number, declared in enumerate(overload.args):
            wanted = filled(declared, bound)
            last = number == len(overload.args) - 1
            if wanted == t.STRING and overload.id.endswith(("_with_tz", "_tz")):
                zone = self.random.choice([each for each in ZONES if each])
                args.append(zone)
            elif wanted == t.STRING and self._reads(overload, number) and self.random.random() < 0.85:
                args.append(self.word(function))
            elif wanted == t.INT and (last or function == "slice") and function in PLACED:
                args.append(self.random.choice(SMALL))
            else:
                args.append(self.value(wanted, depth))
        return written(overload, args)

    @staticmethod
    def _reads(overload: Overload, number: int) -> bool:
        """Whether the text is the one that the function reads, not the one that it is called on."""
        function = overload.function
        if function not in TEXTS:
            return False
        if function == "format":
            return number == 0
        return number == len(overload.args) - 1 or not overload.is_method or function == "semver"

    def _caller(self, overload: Overload) -> Callable[[], Made]:
        def make() -> Made:
            bound: dict[str, t.Type] = {}
            for name in overload.params:
                bound[name] = self.random.choice(KEYS) if name == "K" or "map" in overload.id else self.simple()
            return self.call(overload, bound, 1), filled(overload.result, bound)

        return make

    def _struct(self, form: str) -> Callable[[], Made]:
        def make() -> Made:
            text = form
            for mark, kind in PARTS.items():
                while mark in text:
                    text = text.replace(mark, self.value(kind, 0), 1)
            return text, t.DYN

        return make

    # --- macros and other forms -------------------------------------------------------------------------------------

    def variable(self, kind: t.Type) -> str:
        self.names += 1
        name = self.random.choice("xyz") + str(self.names)
        self.scope.append((name, kind))
        return name

    def filled_form(self, form: str) -> str:
        """A form with its marks replaced: ``L`` a list of A, ``M`` a map of K to A, ``a`` a value of A, ``p`` a truth
        value, ``b`` a value of B, ``k`` a key, ``o`` an optional A, ``O`` an optional B, ``x``, ``y`` variables."""
        one, other, key = self.simple(), self.simple(), self.random.choice(KEYS)
        kinds = {
            "L": t.list_of(one), "M": t.map_of(key, one), "a": one, "b": other, "p": t.BOOL, "k": key,
            "o": t.optional_of(one), "O": t.optional_of(other), "c": t.INT, "s": t.STRING,
        }  # fmt: skip
        overs = {"x": one, "k": key, "i": t.INT}
        parts = []
        names: dict[str, str] = {}
        before = len(self.scope)
        for part in form.split("@"):
            mark, rest = part[:1], part[1:]
            if not parts:
                parts.append(part)
            elif mark == "=":
                # a variable comes into scope: @=xi is "variable x over the index"
                name = names.setdefault(rest[0], self.variable(overs[rest[1]]))
                parts.append(name + rest[2:])
            else:
                parts.append(self.value(kinds[mark], 1) + rest)
        del self.scope[before:]
        self.form_types = kinds
        return "".join(parts)

    def _macro(self, _name: str, form: tuple[str, str]) -> Callable[[], Made]:
        return self._other(form)

    def _other(self, form: tuple[str, str]) -> Callable[[], Made]:
        def make() -> Made:
            text = self.filled_form(form[0])
            kinds = self.form_types
            results = {
                "bool": t.BOOL, "a": kinds["a"], "b": kinds["b"], "list a": kinds["L"], "list b": t.list_of(kinds["b"]),
                "map b": t.map_of(kinds["k"], kinds["b"]), "map ib": t.map_of(t.INT, kinds["b"]), "map": kinds["M"],
                "opt a": kinds["o"], "opt b": kinds["O"], "int": t.INT, "string": t.STRING, "dyn": t.DYN,
                "quantity": t.QUANTITY, "semver": t.SEMVER,
            }  # fmt: skip
            return text, results[form[1]]

        return make

    # --- what is shown ----------------------------------------------------------------------------------------------

    def shown(self, text: str, kind: t.Type) -> str:
        """A text that shows a value."""
        if kind in (t.IP, t.CIDR):
            return f"string({text})"
        self.names += 1
        name = f"w{self.names}"
        if kind.is_optional:
            return f'({text}).optMap({name}, {self.shown(name, kind.params[0])}).orValue("nothing")'
        if kind.kind is t.Kind.LIST and kind.params[0] in VIEWS:
            return f'({text}).map({name}, {self.shown(name, kind.params[0])}).join("|")'
        if kind in VIEWS:
            return f"cel.bind({name}, {text}, {VIEWS[kind].replace('@', name)})"
        if kind in SCALARS and kind != t.BYTES and self.random.random() < 0.4:
            return f"string({text})"
        return f'"%s".format([{text}])'

    def expression(self, number: int) -> str:
        """The expression of a turn."""
        self.scope.clear()
        self.names = 0
        text, kind = self.makers[number % len(self.makers)]()
        roll = self.random.random()
        if kind == t.BOOL and roll < 0.6:
            return text
        if roll < 0.15:
            return f"({text}) {self.random.choice(('==', '!='))} {self.value(kind)}"
        if roll < 0.2:
            return f"{self.value(t.BOOL)} {self.random.choice(('&&', '||'))} ({text}) == {self.value(kind)}"
        return f'{{"k": 1}}[{self.shown(text, kind)}] == 1'


VIEWS = {
    t.QUANTITY: '"%s %s".format([@.asApproximateFloat(), @.isInteger()])',
    t.SEMVER: '"%d.%d.%d".format([@.major(), @.minor(), @.patch()])',
    t.URL: '"%s %s %s %s".format([@.getScheme(), @.getHost(), @.getPort(), @.getEscapedPath()])',
    t.NAMED_FORMAT: '@.validate("A b").orValue(["valid"]).join("|")',
}
PLACED = ("charAt", "indexOf", "lastIndexOf", "substring", "slice", "lists.range", "flatten", "findAll", "_[_]",
          "_[?_]", "split", "replace")  # fmt: skip
FORMS = (
    ("has", ("has(@M.s)", "bool")),
    ("has", (f"has({DOMAIN}.model)", "bool")),
    ("all", ("@L.all(@=xx, @p)", "bool")),
    ("all", ("@M.all(@=xk, @p)", "bool")),
    ("all", ("@L.all(@=xi, @=yx, @p)", "bool")),
    ("all", ("@M.all(@=xk, @=yx, @p)", "bool")),
    ("exists", ("@L.exists(@=xx, @p)", "bool")),
    ("exists", ("@M.exists(@=xk, @p)", "bool")),
    ("exists", ("@L.exists(@=xi, @=yx, @p)", "bool")),
    ("exists_one", ("@L.exists_one(@=xx, @p)", "bool")),
    ("exists_one", ("@M.exists_one(@=xk, @p)", "bool")),
    ("exists_one", ("@L.exists_one(@=xi, @=yx, @p)", "bool")),
    ("existsOne", ("@L.existsOne(@=xi, @=yx, @p)", "bool")),
    ("existsOne", ("@M.existsOne(@=xk, @=yx, @p)", "bool")),
    ("map", ("@L.map(@=xx, @b)", "list b")),
    ("map", ("@M.map(@=xk, @b)", "list b")),
    ("map", ("@L.map(@=xx, @p, @b)", "list b")),
    ("filter", ("@L.filter(@=xx, @p)", "list a")),
    ("filter", ("@M.filter(@=xk, @p).size()", "int")),
    ("transformList", ("@L.transformList(@=xi, @=yx, @b)", "list b")),
    ("transformList", ("@L.transformList(@=xi, @=yx, @p, @b)", "list b")),
    ("transformList", ("@M.transformList(@=xk, @=yx, @p, @b)", "list b")),
    ("transformMap", ("@M.transformMap(@=xk, @=yx, @b)", "map b")),
    ("transformMap", ("@M.transformMap(@=xk, @=yx, @p, @b)", "map b")),
    ("transformMap", ("@L.transformMap(@=xi, @=yx, @b)", "map ib")),
    ("transformMapEntry", ("@M.transformMapEntry(@=xk, @=yx, {@k: @b})", "map b")),
    ("transformMapEntry", ("@L.transformMapEntry(@=xi, @=yx, @p, {@k: @b})", "map b")),
    ("transformMapEntry", ("@L.transformMapEntry(x, y, {x: @b})", "map ib")),
    ("sortBy", ("@L.sortBy(@=xx, @b)", "list a")),
    ("sortBy", ("@L.sortBy(@=xx, @=xx)", "list a")),
    ("bind", ("cel.bind(x, @a, x)", "a")),
    ("bind", ("cel.bind(x, @L, cel.bind(y, @L, x + y))", "list a")),
    ("optMap", ("@o.optMap(@=xx, @b)", "opt b")),
    ("optFlatMap", ("@o.optFlatMap(@=xx, @O)", "opt b")),
)
OTHERS = (
    ("@L[@c]", "a"),
    ("@L[?@c]", "opt a"),
    ("@M[@k]", "a"),
    ("@M[?@k]", "opt a"),
    ('{"m": @a, "n": @a}.m', "a"),
    ('{"m": @a, "n": @a}.?n', "opt a"),
    ('{"m": @a}.?q', "opt a"),
    ("[?optional.of(@a), @a, ?@o]", "list a"),
    ("{@k: @a, ?@k: optional.of(@a)}", "map"),
    ('{"m": {"n": @a}}.?m.n', "opt a"),
    ('{"m": {"n": @a}}.?m.?n.orValue(@a)', "a"),
    ('optional.of({"m": [@a]}).m[?0]', "opt a"),
    ("(@p ? @a : @a)", "a"),
    ("(@p && @p || !@p)", "bool"),
    (f'device.attributes[?"{DRIVER}"].?model.orValue(@s)', "dyn"),
    (f'{DOMAIN}.?flags.hasValue()', "bool"),
    (f'{DOMAIN}.?index.orValue(@c)', "dyn"),
    (f'{DOMAIN}.map(k, k).size()', "int"),
    (f'{DOMAIN}.exists(k, k == @s)', "bool"),
    (f'device.capacity["{DRIVER}"].?bw.orValue(quantity("1"))', "quantity"),
    (f'device.capacity["{DRIVER}"].all(k, k != @s)', "bool"),
    (f'{DOMAIN}.ver', "semver"),
    ("device.allowMultipleAllocations", "bool"),
    ("device.driver + @s", "string"),
    ("@s in device.attributes", "bool"),
    ("type(@a)", "dyn"),
    ("[@a, @a] == [@a, @a]", "bool"),
    ("@M == @M", "bool"),
    ("@o == @o", "bool"),
    (f"{DOMAIN}.lanes.exists(x, x == @c)", "bool"),
    (f"{DOMAIN}.links.map(x, x + @s)", "dyn"),
    (f"{DOMAIN}.links.includes(@s)", "bool"),
    (f"{DOMAIN}.model.includes(@s)", "bool"),
    (f"@c in {DOMAIN}.lanes", "bool"),
    (f"{DOMAIN}.vers[@c]", "dyn"),
    (f"{DOMAIN}.flags == [@p, @p]", "bool"),
    (f"sets.contains({DOMAIN}.lanes, [@c])", "bool"),
)  # fmt: skip


def filled(declared: t.Type, bound: dict[str, t.Type]) -> t.Type:
    """A declared type with its parameters bound."""
    if declared.kind is t.Kind.PARAM:
        return bound.get(declared.name, t.INT)
    if not declared.params:
        return declared
    return t.Type(declared.kind, declared.name, tuple(filled(each, bound) for each in declared.params))


def written(overload: Overload, args: list[str]) -> str:
    """A call in the syntax of its function."""
    name = overload.function
    if name in METHOD_ONLY_OPERATORS:
        return f"({args[0]}) {METHOD_ONLY_OPERATORS[name]} ({args[1]})"
    if name in ("!_", "-_"):
        return f"{name[0]}({args[0]})"
    if name == "_?_:_":
        return f"({args[0]} ? {args[1]} : {args[2]})"
    if overload.is_method:
        target = args[0] if args[0][:1] not in "-!" and args[0][:1].isdigit() is False else f"({args[0]})"
        return f"{target}.{name}({', '.join(args[1:])})"
    return f"{name}({', '.join(args)})"


def expressions(source: random.Random, env: Environment, count: int) -> Iterator[str]:
    """``count`` expressions, each form in turn."""
    made = Calls(source, env)
    for number in range(count):
        yield made.expression(number)

"""Words of a wish -> conditions in CEL on what a driver really publishes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from dractl.convert.parameters import VENDORS, cel_text
from dractl.errors import DractlError
from dractl.explain.words import listing, near
from dractl.generate.catalog import PRODUCT_NAMES, Field, Name, Source
from dractl.generate.wish import Wish, Word
from dractl.kube.drivers import DRIVERS, PRODUCT_MEMORY, STANDARD
from dractl.kube.quantity import Quantity, QuantityError
from dractl.kube.semver import Semver, SemverError

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = frozenset({"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in"})
_RESERVED |= {"let", "loop", "namespace", "null", "package", "return", "true", "var", "void", "while"}
_ALIASES = {
    "numa": ("numaNode", "numa", "numaNodeID"),
    "pcie": ("pcieRoot", "pciRoot"),
    "pcieroot": ("pcieRoot", "pciRoot"),
    "product": PRODUCT_NAMES,
    "model": PRODUCT_NAMES,
    "arch": ("architecture", "family"),
    "compute": ("cudaComputeCapability",),
    "cores": ("numCPUs",),
}
"""Words people use, and the names that drivers use for it."""
_VALUED = ("architecture", "family", "brand", "coreType", "partitionProfile", "accelerator", "tpuGen")
"""Attributes whose values may stand alone as a word (``hopper``)."""
_KNOWN_VALUES = {
    ("gpu.nvidia.com", "architecture"): ("Turing", "Ampere", "Ada Lovelace", "Hopper", "Blackwell"),
}
_PROFILE = re.compile(r"\d+g\.\d+gb(?:[+-][a-z.]+)*")
_OPERATORS = {"=": "==", "!=": "!=", ">=": ">=", "<=": "<=", ">": ">", "<": "<"}


class Unknown(DractlError):
    """A word that means nothing for one driver; another one may know it."""


@dataclass(slots=True)
class Terms:
    """Conditions of a conjunction, what they are for, and remarks for the reader."""

    expressions: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    label: str = ""
    """A word for the devices, usable in names."""

    def add(self, expression: str, reason: str) -> None:
        """One more condition."""
        if expression not in self.expressions:
            self.expressions.append(expression)
            self.reasons.append(reason)

    @property
    def cel(self) -> str | None:
        """All conditions as one expression, a line each where they are long; None without any."""
        if not self.expressions:
            return None
        plain = " && ".join(self.expressions)
        return plain if len(plain) <= 90 else " &&\n".join(self.expressions)


def terms_of(wish: Wish, source: Source, in_fleet: bool) -> Terms:
    """The conditions for a wish.

    Raises:
        Unknown: for a word that this driver's devices have no meaning for.
        DractlError: for a value that is none of its type.
    """
    out = Terms()
    if source.needs_type:
        out.add(f"{attribute_text((source.driver, 'type'))} == {cel_text(source.type)}", f"type {source.type} only")
    for word in wish.words:
        if word.operator:
            _condition(word, wish, source, out, in_fleet)
        elif wish.kind == "mig":
            _profile(word, wish, source, out, in_fleet)
        else:
            _bare(word, wish, source, out, in_fleet)
    return out


def attribute_text(name: Name, where: str = "attributes") -> str:
    """How CEL names an attribute or capacity."""
    domain, last = name
    plain = _IDENTIFIER.fullmatch(last) and last not in _RESERVED
    return f"device.{where}[{cel_text(domain)}]" + (f".{last}" if plain else f"[{cel_text(last)}]")


def find(word: str, names: Iterable[Name], driver: str) -> Name | None:
    """The attribute or capacity that a word means: its full name, or its last part in any letter case."""
    known = list(names)
    if "/" in word:
        domain, _, last = word.rpartition("/")
        return (domain, last) if (domain, last) in known else None
    wanted = [one.lower() for one in _ALIASES.get(word.lower(), (word,))]
    ranked = sorted(
        (wanted.index(name.lower()), domain != STANDARD, domain != driver, domain, name)
        for domain, name in known
        if name.lower() in wanted
    )
    return (ranked[0][3], ranked[0][4]) if ranked else None


# --- NAME OP VALUE --------------------------------------------------------------------------------------------------


def _condition(word: Word, wish: Wish, source: Source, out: Terms, in_fleet: bool) -> None:
    if word.name.lower() in ("driver", "class"):
        return  # has been used to choose the source
    if word.name.lower() in ("product", "model") and word.operator == "=" and source.product:
        _product(word.value, source, out)
        return
    capacity = find(word.name, source.capacities, source.driver)
    attribute = find(word.name, source.attributes, source.driver)
    if capacity is not None:
        _amount(word, wish, capacity, source, out, in_fleet)
    elif attribute is not None:
        _value(word, wish, attribute, source.attributes[attribute], source, out)
    else:
        names = [name for _, name in (*source.capacities, *source.attributes)]
        raise Unknown(f"{wish.flag}: {source.title} publishes no {word.name}", _instead(word.name, names))


def _instead(word: str, names: list[str]) -> str:
    alike = near(word, names)
    if alike:
        return f"Did you mean {listing(alike, 3, 'or')}?"
    return f"It publishes {listing(sorted(dict.fromkeys(names)), 12)}."


def _amount(word: Word, wish: Wish, name: Name, source: Source, out: Terms, in_fleet: bool) -> None:
    value = word.value
    try:
        wanted = Quantity.parse(value)
    except QuantityError:
        suffixes = {"GB": "Gi", "GiB": "Gi", "MB": "Mi", "MiB": "Mi", "TB": "Ti", "g": "Gi", "m": "Mi"}
        fixed = next((value[: -len(end)] + right for end, right in suffixes.items() if value.endswith(end)), "")
        hint = f"Write {word.name}{word.operator}{fixed}." if fixed else f"Write it as {word.name}>=40Gi."
        raise DractlError(f"{wish.flag}: {value} is no quantity", hint) from None
    if name[1] == "memory" and value.isdigit() and wanted.value() < 2**20:
        raise DractlError(f"{wish.flag}: {value} means {value} bytes", f"Write {word.name}{word.operator}{value}Gi.")
    text = attribute_text(name, "capacity")
    guard = f"has({text}) && " if source.capacities[name].optional else ""
    out.add(
        f"{guard}{text}.compareTo(quantity({cel_text(value)})) {_OPERATORS[word.operator]} 0",
        f"{name[1]} {word.operator} {value}",
    )
    if word.operator in (">=", ">"):
        out.remarks += _near_misses(word, name, wanted, source, in_fleet)


def _near_misses(word: Word, name: Name, wanted: Quantity, source: Source, in_fleet: bool) -> list[str]:
    """Products that have nearly as much: vendors' gigabytes are not what the driver publishes."""
    if name[1] != "memory":
        return []
    published: dict[str, Quantity] = {}
    if in_fleet:
        published = {text: Quantity.parse(text) for text in source.capacities[name].values}
    else:
        for product, mebi in PRODUCT_MEMORY.get(source.driver, {}).items():
            published[f"{product} {mebi}Mi"] = Quantity.parse(f"{mebi}Mi")
    close = [text for text, amount in published.items() if wanted.nano * 96 // 100 <= amount.nano < wanted.nano]
    if not close:
        return []
    verb = "is" if len(close) == 1 else "are"
    return [f"just below {word.value} and not taken {verb} {listing(close, 4)}; ask for a little less to have them"]


def _value(word: Word, wish: Wish, name: Name, entry: Field, source: Source, out: Terms) -> None:
    text, kind = attribute_text(name), entry.kind
    operator = _OPERATORS[word.operator]
    guard = f"has({text}) && " if entry.optional else ""
    reason = f"{name[1]} {word.operator} {word.value}"
    if kind == "version":
        out.add(f"{guard}{_version(word, wish, text, operator, out)}", reason)
        return
    if kind == "bool":
        if word.value.lower() not in ("true", "false") or operator not in ("==", "!="):
            raise DractlError(f"{wish.flag}: {name[1]} is true or false", f"Write {name[1]}=true.")
        out.add(f"{guard}{text} {operator} {word.value.lower()}", reason)
        return
    if kind == "int":
        if not re.fullmatch(r"-?\d{1,18}", word.value, re.ASCII):
            raise DractlError(f"{wish.flag}: {name[1]} is a whole number", f"Write {name[1]}{word.operator}1.")
        out.add(f"{guard}{text} {operator} {int(word.value)}", reason)
        return
    if kind != "string":
        raise DractlError(
            f"{wish.flag}: {name[1]} is a list", f"Write the condition in CEL: --where '{cel_text('x')} in {text}'."
        )
    if operator not in ("==", "!="):
        raise DractlError(f"{wish.flag}: {name[1]} is a text", f"Compare it with = or !=: {name[1]}={word.value}.")
    value = next((one for one in entry.values if one.lower() == word.value.lower()), word.value)
    out.add(f"{guard}{text} {operator} {cel_text(value)}", reason)
    if entry.values and value not in entry.values and operator == "==":
        seen = [one for one, _ in entry.values.most_common()]
        out.remarks.append(f"no device of the fleet has {name[1]} {value}; there are {listing(seen, 6)}")


def _version(word: Word, wish: Wish, text: str, operator: str, out: Terms) -> str:
    parts = word.value.split(".")
    if 1 <= len(parts) <= 3 and all(part.isdigit() and part.isascii() for part in parts):
        value = ".".join([*(str(int(part)) for part in parts), "0", "0"][:3]) if len(parts) < 3 else ""
        value = value or ".".join(str(int(part)) for part in parts)
    else:
        value = word.value
    try:
        Semver.parse(value)
    except SemverError:
        raise DractlError(f"{wish.flag}: {word.value} is no version", "Write it as 9.0 or 580.105.8.") from None
    if value.count(".") == word.value.count(".") and value != word.value:
        out.remarks.append(f"{word.value} is published as {value}: versions have no leading zeros")
    return f"{text}.compareTo(semver({cel_text(value)})) {operator} 0"


# --- words alone ----------------------------------------------------------------------------------------------------


def _bare(word: Word, wish: Wish, source: Source, out: Terms, in_fleet: bool) -> None:
    text = word.name
    if wish.kind == "cpu" and text.isdigit():
        return  # their number
    if text.lower() in VENDORS or text in DRIVERS or text == source.driver:
        return  # has been used to choose the source
    flag = find(text, source.attributes, source.driver)
    if flag is not None and source.attributes[flag].kind == "bool":
        entry = source.attributes[flag]
        guard = f"has({attribute_text(flag)}) && " if entry.optional else ""
        out.add(f"{guard}{attribute_text(flag)} == true", f"{flag[1]} only")
        out.label = out.label or text.lower()
        return
    for name in _VALUED:
        entry_of = source.attributes.get((source.driver, name))
        values = [*entry_of.values, *_KNOWN_VALUES.get((source.driver, name), ())] if entry_of else []
        value = next((one for one in values if one.lower() == text.lower()), None)
        if value is not None:
            key = (source.driver, name)
            out.add(f"{attribute_text(key)} == {cel_text(value)}", f"{name} {value}")
            out.label = out.label or value.lower()
            return
    if source.product is not None and _of_products(text, known_products(source)):
        _product(text, source, out)
        if in_fleet and not _of_products(text, source.products):
            out.remarks.append(f"the fleet has no {text}; there are {listing(source.products, 6)}")
        return
    known = [*known_products(source), *(name for (_, name), entry in source.attributes.items() if entry.kind == "bool")]
    alike = near(text, [token for name in known for token in re.split(r"[\s_-]+", name)])
    if alike:
        hint = f"Did you mean {listing([one.lower() for one in alike], 3, 'or')}?"
    elif known:
        hint = f"Known are {listing(known, 8)}; for another product write product={text}."
    else:
        hint = "Write a condition as NAME=VALUE."
    raise Unknown(f"{wish.flag}: {source.title} has nothing called {text}", hint)


def known_products(source: Source) -> list[str]:
    """Products of the fleet and those that are known of the driver."""
    return list(dict.fromkeys([*source.products, *PRODUCT_MEMORY.get(source.driver, ())]))


def _of_products(text: str, products: list[str]) -> list[str]:
    pattern = re.compile(_boundaries(text), re.ASCII)
    return [one for one in products if pattern.search(one.lower())]


def _boundaries(text: str) -> str:
    return f"(^|[^a-z0-9]){re.escape(text.lower())}([^a-z0-9]|$)"


def _product(text: str, source: Source, out: Terms) -> None:
    """The product by its name: whole words, so that ``a10`` does not take an A100."""
    assert source.product is not None
    lowered = f"{attribute_text(source.product)}.lowerAscii()"
    products = known_products(source)
    wanted, loose = _of_products(text, products), [one for one in products if text.lower() in one.lower()]
    if wanted == loose or not wanted:
        out.add(f"{lowered}.contains({cel_text(text.lower())})", f"product {text}")
    else:
        others = [one for one in loose if one not in wanted]
        pattern = f"(^|[^a-z0-9]){_pattern(text.lower())}([^a-z0-9]|$)"
        out.add(f"{lowered}.matches({cel_text(pattern)})", f"product {text}, not {listing(others, 2, 'or')}")
    out.label = out.label or text.lower()


def _pattern(text: str) -> str:
    """The text for RE2, where only letters, digits and a few signs are in it."""
    return re.sub(r"([.+])", r"[\1]", text)


def _profile(word: Word, wish: Wish, source: Source, out: Terms, in_fleet: bool) -> None:
    """``1g.5gb``, also as device plugins spell it: ``mig-1g.5gb``, ``1g.5gb.me``."""
    text = word.name.lower().removeprefix("mig-")
    text = text[:-3] + "+me" if text.endswith(".me") and "+" not in text else text
    name = (source.driver, "profile")
    seen = list(source.attributes[name].values) if name in source.attributes else []
    if not _PROFILE.fullmatch(text):
        hint = f"The fleet has {listing(sorted(seen), 8)}." if in_fleet and seen else "Write it as 1g.5gb or 3g.40gb."
        raise Unknown(f"{wish.flag}: {word.name} is no MIG profile", hint)
    out.add(f"{attribute_text(name)} == {cel_text(text)}", f"MIG profile {text}")
    out.label = out.label or "mig"
    if in_fleet and text not in seen:
        out.remarks.append(f"the fleet has no MIG device {text}; there are {listing(sorted(seen), 8) or 'none'}")

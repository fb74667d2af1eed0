"""Asking for what is wanted, with what the fleet has (or what is known of drivers) as the choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dractl.errors import DractlError
from dractl.explain.words import count as counted
from dractl.explain.words import listing
from dractl.generate.catalog import DRIVERS_OF, Catalog, Source
from dractl.generate.claim import Asked, choose
from dractl.generate.wish import Wish, parse_wish
from dractl.kube import names

Ask = Callable[[str], str | None]
"""Puts a question and gives the answer; None at the end of the input."""

_NOUNS = {"gpu": "GPUs", "mig": "MIG devices (parts of GPUs)", "nic": "NICs", "cpu": "exclusive CPUs"}
_TRIES = 5


@dataclass(frozen=True, slots=True)
class _Option:
    label: str
    value: str


def interview(catalog: Catalog, what: str, name: str | None, ask: Ask) -> tuple[Asked, str]:
    """Ask until enough is known; what is wanted and the name.

    Raises:
        DractlError: when the input ends before a question without a default, or answers stay unusable.
    """
    chosen = name or _text(ask, f"Name of the new {what}", _name_error)
    wishes: list[Wish] = []
    while True:
        wishes.append(_wish(catalog, ask, what, [one.kind for one in wishes]))
        if what == "class" or len(wishes) >= len(DRIVERS_OF):
            break
        if not _yes(ask, "Another kind of device in the same claim?"):
            break
    if what == "class":
        return Asked(tuple(wishes)), chosen
    return _relations(tuple(wishes), catalog, ask), chosen


def _wish(catalog: Catalog, ask: Ask, what: str, taken: list[str]) -> Wish:
    options = []
    for kind, noun in _NOUNS.items():
        if kind in taken or (what == "class" and kind == "cpu"):
            continue
        sources, in_fleet = catalog.sources(kind)
        if catalog.inventory is not None and not in_fleet:
            continue
        devices = counted(sum(one.devices for one in sources), "device")
        label = f"{noun}: {devices} of {listing([one.driver for one in sources])}" if in_fleet else noun
        options.append(_Option(label, kind))
    if not options:
        raise DractlError("the fleet publishes no device that can be asked for here", "Give the flags instead of -i.")
    kind = _choose(ask, "Which kind of device?", options)
    if kind == "cpu":
        return parse_wish("cpu", _text(ask, "How many CPUs", _parses("cpu", "")))
    source = _source(catalog, kind, ask)
    words = [f"driver={source.driver}", *_words(kind, source, ask)]
    text = " ".join(words)
    if what == "class":
        return parse_wish(kind, text)
    number = _text(ask, "How many ('all' for all of a node)", _parses(kind, f"{text}*"), "1")
    return parse_wish(kind, f"{text}*{number}")


def _source(catalog: Catalog, kind: str, ask: Ask) -> Source:
    sources, _ = catalog.sources(kind)
    options = [_Option(f"{one.title}: {counted(one.devices, 'device')}", str(n)) for n, one in enumerate(sources)]
    return sources[0] if len(sources) == 1 else sources[int(_choose(ask, "Of which driver?", options))]


def _words(kind: str, source: Source, ask: Ask) -> list[str]:
    """Conditions by what devices really have: product or profile, memory, flags."""
    out = []
    name = (source.driver, "profile") if kind == "mig" else source.product
    entry = source.attributes.get(name) if name else None
    seen = list(entry.values.items()) if entry and entry.values else [(one, 0) for one in source.products]
    if kind == "mig" and not (entry and entry.values):
        seen = []
    if name and seen:
        options = [_Option("any", "")] if kind != "mig" else []
        options += [
            _Option(f"{value}" + (f": {counted(n, 'device')}" if n else ""), value) for value, n in sorted(seen)
        ]
        value = _choose(ask, f"Which {name[1]}?", options)
        if value:
            out.append(value if kind == "mig" else f'product="{value}"')
    elif kind == "mig":
        out.append(_text(ask, "Which profile (1g.5gb)", _parses("mig", "")))
    memory = source.capacities.get((source.driver, "memory"))
    if kind == "gpu" and memory is not None:
        there = f" (there are {listing(sorted(memory.values), 6)})" if memory.values else " (40Gi)"
        amount = _text(ask, f"At least how much memory?{there}, empty for any", _parses("gpu", "memory>="), "")
        out += [f"memory>={amount}"] if amount else []
    if (source.driver, "rdma") in source.attributes and kind == "nic" and _yes(ask, "RDMA only?"):
        out.append("rdma")
    return out


def _relations(wishes: tuple[Wish, ...], catalog: Catalog, ask: Ask) -> Asked:
    kinds = [one.kind for one in wishes if one.kind != "cpu"]
    if not any(one.kind != "cpu" for one in wishes) or (len(wishes) == 1 and wishes[0].count == 1):
        return Asked(wishes)
    sources = [choose(one, catalog).source for one in wishes]
    common = {name for name in sources[0].attributes if all(name in one.attributes for one in sources[1:])}
    options = [_Option("nothing", "")]
    if any(last == "pcieRoot" for _, last in common) and len(kinds) > 1:
        options.append(_Option("each with one of the other kind on one PCIe root", "align"))
    for word, last, text in (
        ("numa", "numaNode", "all on one NUMA node"),
        ("pcie", "pcieRoot", "all on one PCIe root"),
    ):
        if any(name == last for _, name in common):
            options.append(_Option(text, word))
    if len(options) == 1:
        return Asked(wishes)
    answer = _choose(ask, "What do the devices have to share?", options)
    if answer == "align":
        return Asked(wishes, align="pcie")
    return Asked(wishes, same=(answer,) if answer else ())


# --- questions ------------------------------------------------------------------------------------------------------


def _name_error(text: str) -> str:
    errors = names.dns_subdomain_errors(text)
    return errors[0] if errors else ""


def _parses(kind: str, before: str) -> Callable[[str], str]:
    def error(text: str) -> str:
        try:
            wish = parse_wish(kind, before + text)
            if before == "memory>=":
                choose(Wish(kind, wish.words, None, text), Catalog())
        except DractlError as problem:
            return f"{problem.message}. {problem.hint}"
        return ""

    return error


def _text(ask: Ask, question: str, error_of: Callable[[str], str], default: str | None = None) -> str:
    shown = f"{question} [{default}]: " if default else f"{question}: "
    for _ in range(_TRIES):
        answer = ask(shown)
        if answer is None and default is None:
            raise DractlError(
                f"the input ended at the question {question!r}", "Answer it, or give flags instead of -i."
            )
        text = (answer or "").strip() or (default or "")
        if not text and default is not None:
            return ""
        problem = error_of(text)
        if not problem:
            return text
        if answer is None:
            break
        shown = f"  {problem}\n{question}: "
    raise DractlError(f"no usable answer to {question!r}", "Give flags instead of -i.")


def _choose(ask: Ask, question: str, options: Sequence[_Option]) -> str:
    """One of several by number, or by a part of its text; the first by an empty line."""
    lines = [question, *(f"  {number}) {one.label}" for number, one in enumerate(options, 1)), "Number [1]: "]
    shown = "\n".join(lines)
    for _ in range(_TRIES):
        answer = (ask(shown) or "").strip()
        if not answer:
            return options[0].value
        if answer.isdigit() and 1 <= int(answer) <= len(options):
            return options[int(answer) - 1].value
        for fits in (str.startswith, str.__contains__):
            alike = [one for one in options if fits(one.label.lower(), answer.lower())]
            if len(alike) == 1:
                return alike[0].value
        shown = f"  {answer} is none of them, or several.\nNumber from 1 to {len(options)}: "
    raise DractlError(f"no usable answer to {question!r}", "Give flags instead of -i.")


def _yes(ask: Ask, question: str) -> bool:
    return (ask(f"{question} [y/N]: ") or "").strip().lower() in ("y", "yes")

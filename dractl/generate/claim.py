"""ResourceClaims and templates from wishes: requests, alternatives, constraints."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dractl.convert.parameters import VENDORS
from dractl.errors import DractlError
from dractl.explain.words import count as counted
from dractl.explain.words import listing, sentence
from dractl.generate.catalog import Catalog, Field, Name, Source, largest
from dractl.generate.manifest import Json, Manifest, Said, manifest, metadata
from dractl.generate.terms import Terms, Unknown, find, terms_of
from dractl.generate.wish import ALL, MAX_DEVICES, Wish
from dractl.kube.drivers import CLASSES, DRIVERS
from dractl.kube.quantity import Quantity, QuantityError

API = "resource.k8s.io/v1"
ADMIN_LABEL = "resource.kubernetes.io/admin-access"
_MAX_ALTERNATIVES = 8
_CPU = ("dra.cpu", "cpu")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is wanted.

    ``same`` are attributes that all devices share, ``align`` one that each group of devices of different kinds shares,
    ``distinct`` one in which all devices differ. ``share`` is a part of a device: an amount, or ``name=amount``.
    """

    wishes: tuple[Wish, ...]
    fallback: tuple[Wish, ...] = ()
    count: int | None = None
    same: tuple[str, ...] = ()
    align: str | None = None
    distinct: str | None = None
    share: str | None = None
    where: str | None = None
    tolerate: tuple[str, ...] = ()
    admin: bool = False


@dataclass(slots=True)
class Choice:
    """One wish with the source that serves it."""

    wish: Wish
    source: Source
    terms: Terms
    count: int
    in_fleet: bool


@dataclass(slots=True)
class Spec:
    """``devices`` of a claim with reasons, remarks for its head, and what each request asks for."""

    devices: Json
    remarks: list[str] = field(default_factory=list)
    summary: str = ""
    requests: list[str] = field(default_factory=list)


def claim_spec(asked: Asked, catalog: Catalog) -> Spec:
    """The claim's spec.

    Raises:
        DractlError: where the flags contradict each other or mean nothing; the hint is the next step.
    """
    choices = _choices(asked, catalog)
    alternatives = [choose(wish, catalog) for wish in asked.fallback]
    if len(alternatives) >= _MAX_ALTERNATIVES:
        raise DractlError(
            f"--fallback: a request may have {_MAX_ALTERNATIVES} alternatives, the first choice included",
            "Leave the least wanted out.",
        )
    groups = _groups(choices, asked.align)
    remarks = [text for one in (*choices, *alternatives) for text in _remarks(one)]
    builder = _Builder(asked, choices, alternatives, groups, remarks)
    devices: Json = {"requests": builder.requests(), "constraints": builder.constraints() or None}
    _check_size(builder)
    summary = listing([_summary(one, builder) for one in choices])
    remarks = [sentence(text) for text in dict.fromkeys(builder.remarks)]
    return Spec(devices, remarks, summary, builder.names)


def claim(name: str, namespace: str | None, spec: Spec) -> Manifest:
    """A ResourceClaim: one set of devices that all pods naming it share."""
    head = [f"A claim for {spec.summary}: allocated when the first pod that names it is scheduled.", *spec.remarks]
    tree = {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": metadata(name, namespace),
        "spec": {"devices": spec.devices},
    }
    return manifest(tree, head)


def template(name: str, namespace: str | None, spec: Spec) -> Manifest:
    """A ResourceClaimTemplate: each pod naming it gets a claim of its own."""
    head = [f"A template for {spec.summary}: each pod that names it gets devices of its own.", *spec.remarks]
    tree = {
        "apiVersion": API,
        "kind": "ResourceClaimTemplate",
        "metadata": metadata(name, namespace),
        "spec": {"spec": {"devices": spec.devices}},
    }
    return manifest(tree, head)


# --- which driver ---------------------------------------------------------------------------------------------------


def choose(wish: Wish, catalog: Catalog) -> Choice:
    """The source that knows all words of a wish.

    Raises:
        DractlError: if none does, or several do.
    """
    driver, class_name = _named(wish)
    if wish.kind == "device" and not driver:
        raise DractlError(
            f"{wish.flag}: has to begin with the driver's name", f"Drivers are {listing(sorted(DRIVERS), 20)}."
        )
    sources, in_fleet = catalog.sources(wish.kind, driver)
    if driver:
        sources = [one for one in sources if one.driver == driver]
    if not sources:
        there = sorted(
            {one.driver for one in catalog.sources(wish.kind, driver)[0]} | {one.driver for one in catalog.fleet}
        )
        raise DractlError(
            f"{wish.flag}: nothing is known of {'driver ' + driver if driver else 'such devices'}",
            f"There are {listing(there or sorted(DRIVERS), 20)}.",
        )
    fitting: list[tuple[Source, Terms]] = []
    failure: Unknown | None = None
    for source in sources:
        try:
            fitting.append((source, terms_of(wish, source, in_fleet)))
        except Unknown as error:
            failure = failure or error
    if not fitting:
        assert failure is not None
        raise failure
    if len(fitting) > 1:
        # what the fleet has goes before what is only known of
        good = [pair for pair in fitting if not any("the fleet has no" in text for text in pair[1].remarks)]
        fitting = good or fitting
    if len(fitting) > 1 and in_fleet:
        names = [f"driver={one.driver}" + (f" type={one.type}" if one.type else "") for one, _ in fitting]
        raise DractlError(f"{wish.flag}: several drivers serve this", f"Add one of {listing(names, 6, 'or')} to it.")
    source, terms = fitting[0]
    if class_name:
        source = replace(source, device_class=class_name, class_known=_has_class(catalog, class_name))
    return Choice(wish, source, terms, wish.count or 1, in_fleet)


def _named(wish: Wish) -> tuple[str, str]:
    """Driver and class that a wish names."""
    driver = class_name = ""
    for word in wish.words:
        if word.operator == "=" and word.name.lower() == "driver":
            driver = word.value
        elif word.operator == "=" and word.name.lower() == "class":
            class_name = word.value
        elif not word.operator and wish.kind == "gpu" and word.name.lower() in VENDORS:
            driver = VENDORS[word.name.lower()]
        elif not word.operator and (word.name in DRIVERS or (wish.kind == "device" and not driver)):
            driver = word.name
    return driver, class_name


def _has_class(catalog: Catalog, name: str) -> bool | None:
    return name in catalog.inventory.classes if catalog.inventory is not None else None


def _choices(asked: Asked, catalog: Catalog) -> list[Choice]:
    if not asked.wishes:
        raise DractlError(
            "nothing is asked for", "Say what is wanted: --gpu 'h100*8', --nic rdma, --mig 1g.5gb, --cpu 16."
        )
    choices = [choose(wish, catalog) for wish in asked.wishes]
    if asked.count is not None:
        first = next((one for one in choices if one.wish.kind != "cpu"), None)
        if first is None or first.wish.count is not None:
            why = "CPUs are counted by --cpu" if first is None else f"{first.wish.flag} has a count"
            raise DractlError(f"--count {asked.count}: {why} already", "Give the count in one place.")
        if asked.count > MAX_DEVICES:
            raise DractlError(
                f"--count {asked.count}: a claim may hold {MAX_DEVICES} devices",
                "Divide the workload into several pods.",
            )
        first.count = asked.count
    return choices


def _remarks(choice: Choice) -> list[str]:
    source = choice.source
    out = list(choice.terms.remarks)
    if source.class_known is False:
        out.append(
            f"the fleet has no DeviceClass {source.device_class} for {source.title}: install the driver's, or make one"
        )
    elif source.class_known is None and not choice.in_fleet and source.device_class not in CLASSES:
        out.append(
            f"{source.driver} installs no DeviceClass: make {source.device_class} with dractl generate deviceclass"
        )
    if source.class_known is not None and not choice.in_fleet:
        out.append(
            f"no driver in the fleet publishes what {choice.wish.flag} asks for; names are those of {source.driver}"
        )
    return out


def _summary(choice: Choice, builder: _Builder) -> str:
    words = " ".join(str(word) for word in choice.wish.words)
    if choice.wish.kind == "cpu":
        return f"{words} CPUs" if words else "CPUs"
    number = "all" if choice.count == ALL else str(choice.count)
    noun = {"gpu": "GPU", "nic": "NIC", "mig": "MIG device", "device": "device"}[choice.wish.kind]
    share = f" (a share of {builder.asked.share})" if builder.shares(choice) else ""
    return f"{number} {noun}{'s' if choice.count != 1 else ''}{' ' + words if words else ''}{share}"


# --- groups ---------------------------------------------------------------------------------------------------------


def _groups(choices: Sequence[Choice], align: str | None) -> int:
    """Into how many groups the devices are divided so that each can be aligned for itself."""
    if align is None:
        return 1
    devices = [one for one in choices if one.wish.kind != "cpu"]
    if len(devices) < 2:
        raise DractlError(
            f"--align {align}: needs two kinds of devices", f"Add the other kind (--nic), or use --same {align}."
        )
    if any(one.count == ALL for one in devices):
        raise DractlError(f"--align {align}: does not go with *all", "Give counts: --gpu 'h100*8' --nic 'rdma*8'.")
    return math.gcd(*(one.count for one in devices))


@dataclass(slots=True)
class _Builder:
    """Requests and constraints of one claim."""

    asked: Asked
    choices: list[Choice]
    alternatives: list[Choice]
    groups: int
    remarks: list[str]
    names: list[str] = field(default_factory=list)
    members: list[list[str]] = field(default_factory=list)
    """Names of the requests of each group."""

    def requests(self) -> list[Any]:
        """All requests, group by group."""
        bases = _unique([_base_name(one) for one in self.choices])
        out: list[Any] = []
        grouped = [(one, base) for one, base in zip(self.choices, bases, strict=True) if self._grouped(one)]
        for number in range(self.groups):
            self.members.append([])
            for one, base in grouped:
                name = f"{base}-{number}" if self.groups > 1 else base
                out.append(self._request(one, name, one.count if one.count == ALL else one.count // self.groups))
                self.members[-1].append(name)
        for one, base in zip(self.choices, bases, strict=True):
            if not self._grouped(one):
                out.append(self._request(one, base, one.count))
        return out

    def _grouped(self, choice: Choice) -> bool:
        return self.asked.align is not None and choice.wish.kind != "cpu"

    def shares(self, choice: Choice) -> bool:
        """Whether --share is about this wish."""
        return self.asked.share is not None and choice.wish.kind != "cpu" and choice is self._first

    @property
    def _first(self) -> Choice:
        return next((one for one in self.choices if one.wish.kind != "cpu"), self.choices[0])

    def _request(self, choice: Choice, name: str, number: int) -> Json:
        self.names.append(name)
        if choice is not self._first or not self.alternatives:
            return {"name": name, "exactly": self._exactly(choice, number)}
        ways = [choice, *self.alternatives]
        subs = _unique([_label(one) for one in ways])
        counts = [number, *(one.wish.count or number for one in self.alternatives)]
        first = [
            {"name": sub, **self._exactly(one, amount)} for one, sub, amount in zip(ways, subs, counts, strict=True)
        ]
        return {"name": name, "firstAvailable": Said(first, "the first that a node can serve is taken")}

    def _exactly(self, choice: Choice, number: int) -> Json:
        source, cel = choice.source, choice.terms.cel
        selectors = [self._selector(cel, "; ".join(choice.terms.reasons))] if cel else []
        if self.asked.where and (choice is self._first or choice in self.alternatives):
            selectors.append(self._selector(self.asked.where, "as given by --where"))
        out: Json = {
            "deviceClassName": Said(source.device_class, f"devices of {source.title}"),
            "selectors": selectors or None,
        }
        if number == ALL:
            out["allocationMode"] = Said("All", "all of the node that match; none may be in use")
        elif choice.wish.kind == "cpu":
            self._cpus(choice, out)
        else:
            out["allocationMode"] = "ExactCount"
            out["count"] = number
            if self.shares(choice) or (self.asked.share and choice in self.alternatives):
                out["capacity"] = {"requests": self._share(choice)}
        if self.asked.admin and choice.wish.kind != "cpu":
            out["adminAccess"] = Said(True, f"also devices in use; the namespace needs the label {ADMIN_LABEL}=true")
        if self.asked.tolerate:
            out["tolerations"] = [
                Said({"key": key, "operator": "Exists"}, "takes devices with this taint too")
                for key in self.asked.tolerate
            ]
        return out

    @staticmethod
    def _selector(expression: str, reason: str) -> Json:
        return {"cel": {"expression": Said(expression, reason)}}

    # --- amounts ---

    def _cpus(self, choice: Choice, out: Json) -> None:
        number = _cpu_count(choice)
        entry = choice.source.capacities.get(_CPU)
        out["allocationMode"] = "ExactCount"
        if entry is None:
            out["count"] = Said(number, "this driver publishes each CPU as a device")
            return
        out["count"] = Said(1, "one group of CPUs (a NUMA node or socket); all CPUs come from it")
        out["capacity"] = {"requests": {"dra.cpu/cpu": Said(str(number), "without it the whole group would be taken")}}
        most = largest(entry)
        if most is not None and Quantity.of(number) > most:
            self.remarks.append(f"no group of CPUs in the fleet has {number}: the largest has {most}")

    def _share(self, choice: Choice) -> Json:
        assert self.asked.share is not None
        name, given, amount = self.asked.share.rpartition("=")
        wanted = name if given else "memory"
        key = find(wanted, choice.source.capacities, choice.source.driver)
        if key is None:
            names = [last for _, last in choice.source.capacities]
            raise DractlError(
                f"--share {self.asked.share}: {choice.source.title} publishes no capacity {wanted}",
                f"It publishes {listing(names, 8)}." if names else "Its devices can only be had whole.",
            )
        try:
            if Quantity.parse(amount).nano <= 0:
                raise QuantityError(amount)
        except QuantityError:
            raise DractlError(
                f"--share {self.asked.share}: {amount} is no amount", "Write it as 10Gi or memory=10Gi."
            ) from None
        if choice.source.shared is False:
            self.remarks.append(
                f"no device of {choice.source.title} in the fleet allows more than one allocation, so each claim takes "
                "a whole one (the driver has to publish allowMultipleAllocations)"
            )
        elif choice.source.shared is None and choice.source.driver == "gpu.nvidia.com":
            self.remarks.append(
                "NVIDIA's driver shares GPUs only from release 0.5 on with its gate ConsumableShares; without it the "
                "claim takes a whole GPU"
            )
        text = "/".join(key) if key[0] != choice.source.driver else key[1]
        return {text: Said(amount, "only this much of the device is taken")}

    # --- constraints ---

    def constraints(self) -> list[Any]:
        """Alignment group by group, then what all devices have in common or differ in."""
        out: list[Any] = []
        everything = [*self.choices, *self.alternatives]
        if self.asked.align is not None:
            aligned = [one for one in everything if one.wish.kind != "cpu"]
            name = self._common("--align", self.asked.align, aligned)
            for members in self.members:
                why = f"{' and '.join(members)} share one {name[1]}"
                out.append({"requests": members, "matchAttribute": Said("/".join(name), why)})
            if self.groups == 1 and sum(one.count for one in self.choices) > len(self.choices):
                self.remarks.append(
                    f"the counts have no common divisor, so all devices have to share one {name[1]}, not pairs"
                )
        for word in self.asked.same:
            if self._alone:
                self.remarks.append(f"--same {word} needs no constraint: only one device is asked for")
                continue
            name = self._common("--same", word, everything)
            out.append({"requests": self.names, "matchAttribute": Said("/".join(name), f"all on one {name[1]}")})
        if self.asked.distinct is not None:
            name = self._common("--distinct", self.asked.distinct, everything)
            why = f"no two devices with the same {name[1]}"
            out.append({"requests": self.names, "distinctAttribute": Said("/".join(name), why)})
        return out

    @property
    def _alone(self) -> bool:
        if len(self.choices) > 1:
            return False
        one = self.choices[0]
        if one.wish.kind == "cpu":
            return _CPU in one.source.capacities or _cpu_count(one) == 1
        return one.count == 1 and all((way.wish.count or 1) == 1 for way in self.alternatives)

    def _common(self, flag: str, word: str, choices: Sequence[Choice]) -> Name:
        """The attribute that all drivers of the claim publish for a word."""
        first = choices[0].source
        names = [name for name in first.attributes if all(_has(one.source, name) for one in choices[1:])]
        found = find(word, names, first.driver)
        if found is None:
            each = []
            for one in choices:
                own = find(word, one.source.attributes, one.source.driver)
                each.append(f"{one.source.title} {'/'.join(own) if own else 'none'}")
            raise DractlError(
                f"{flag} {word}: the devices have no such attribute in common ({listing(dict.fromkeys(each), 4)})",
                f"All have {listing(sorted('/'.join(name) for name in names), 12)}." if names else "Leave it out.",
            )
        entries = [one.source.attributes[found] for one in choices]
        self._warn(found, choices, entries)
        return found

    def _warn(self, name: Name, choices: Sequence[Choice], entries: Sequence[Field]) -> None:
        for one, entry in zip(choices, entries, strict=True):
            if entry.since and not one.in_fleet:
                text = f"{one.source.driver} publishes {'/'.join(name)} from its release {entry.since} on"
                self.remarks.append(f"{text}; devices without it never fit")
            elif entry.optional and one.in_fleet:
                self.remarks.append(f"some devices of {one.source.title} lack {'/'.join(name)}; they never fit")


def _has(source: Source, name: Name) -> bool:
    return name in source.attributes


def _cpu_count(choice: Choice) -> int:
    bare = [word for word in choice.wish.words if not word.operator and word.name.isdigit()]
    return int(bare[0].name) if bare else 1


def _check_size(builder: _Builder) -> None:
    total = sum(0 if one.count == ALL else one.count for one in builder.choices)
    if total > MAX_DEVICES:
        raise DractlError(
            f"a claim may hold {MAX_DEVICES} devices, these are {total}", "Divide the workload into several pods."
        )


def _base_name(choice: Choice) -> str:
    if choice.wish.kind != "device":
        return choice.wish.kind
    return re.sub(r"[^a-z0-9]+", "-", choice.source.driver.partition(".")[0].lower()).strip("-") or "device"


def _label(choice: Choice) -> str:
    text = choice.terms.label or choice.wish.kind
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-") or "device"


def _unique(names: Sequence[str]) -> list[str]:
    out: list[str] = []
    for name in names:
        number = next(n for n in range(1, 99) if (name if n == 1 else f"{name}-{n}") not in out)
        out.append(name if number == 1 else f"{name}-{number}")
    return out


def how_many(number: int) -> str:
    """``all devices``, ``1 device``, ``3 devices``."""
    return "all devices" if number == ALL else counted(number, "device")

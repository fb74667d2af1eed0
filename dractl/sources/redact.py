"""A recorded state without what identifies its owner, that still gives the same answers.

Nothing is kept that is not named in ``dractl.sources.redact_shapes``. Names become numbered pseudonyms that keep the
byte order within their category (nodes and pools share one): the allocator goes by the order of names. Pseudonyms are
the same wherever a name occurs in the snapshot; they are not the same in another snapshot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from dractl.allocator.extended import IMPLICIT_PREFIX
from dractl.sources.cluster import RawState

_HEX = "[0-9A-Fa-f]"
_IDENTIFIER = re.compile(
    rf"(?P<uuid>{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}})"
    rf"|(?P<mac>(?<![0-9A-Fa-f:])(?:{_HEX}{{2}}[:-]){{5,7}}{_HEX}{{2}}(?![0-9A-Fa-f:]))"
    r"|(?P<ipv4>(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.]))"
    rf"|(?P<ipv6>(?<![0-9A-Za-z:.])(?=[0-9A-Fa-f:]*{_HEX})(?:{_HEX}{{0,4}}:){{3,7}}{_HEX}{{0,4}}(?![0-9A-Za-z:.]))"
)
_CEL = re.compile(
    r"""(?P<text>[rRbB]{0,2}(?:\"\"\".*?\"\"\"|'''.*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))|(?P<comment>//[^\n]*)""",
    re.DOTALL,
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_SHARED = ("node", "namespace", "pod", "claim", "template")
"""Categories whose names are looked for in attributes that expressions read, and in those expressions."""
PUBLIC_ATTRIBUTES = frozenset((
    "productName", "product", "brand", "model", "architecture", "family", "vendor", "vendorName", "type", "deviceType",
    "profile", "pcieRoot", "pciRoot", "pciBusID", "pciBusId", "pciAddress", "pciVendor", "pciDevice", "driverVersion",
    "cudaDriverVersion", "cudaComputeCapability", "firmwareVersion", "linkType", "encapsulation", "rdma",
))  # fmt: skip
"""Attributes whose values are said of a kind of device, not of one installation."""

LEFT_OUT = "left out, the snapshot was redacted"


@dataclass(slots=True)
class Redactor:
    """What a shape is given: the first walk collects names, the second one replaces them."""

    drivers: frozenset[str] = frozenset()
    read_attributes: frozenset[str] = frozenset()
    numeric_keys: frozenset[str] = frozenset()
    """Label keys that are compared as numbers somewhere."""
    seen: dict[str, set[str]] = field(default_factory=dict)
    final: dict[str, dict[str, str]] | None = None
    shared: dict[str, str] = field(default_factory=dict)

    def name(self, category: str, text: str) -> str:
        """The pseudonym of a name."""
        if not text:
            return text
        if self.final is None:
            self.seen.setdefault(category, set()).add(text)
            return text
        return self.final[category][text]

    def freeze(self) -> None:
        """Give out the pseudonyms: numbers in the byte order of the names."""
        self.final = {}
        for category, names in self.seen.items():
            ordered = sorted(names, key=str.encode)
            width = max(4, len(str(len(ordered))))
            form = _FORMS.get(category, category + "-{}")
            self.final[category] = {name: form.format(f"{number:0{width}d}") for number, name in enumerate(ordered, 1)}
        for category in reversed(_SHARED):
            self.shared.update(self.final.get(category, {}))

    def tokens(self, text: str) -> str:
        """A text with its UUIDs, MAC and IP addresses replaced by others of the same form."""
        return _IDENTIFIER.sub(self._token, text)

    def _token(self, found: re.Match[str]) -> str:
        return self.name(str(found.lastgroup), found[0])

    def attribute(self, name: str, value: str) -> str:
        """A device's attribute of type string."""
        local = name.rpartition("/")[2]
        if local in self.read_attributes or local in PUBLIC_ATTRIBUTES:
            return self.shared.get(value) or self.tokens(value)
        return self.name("text", value)

    def expression(self, text: str) -> str:
        """A CEL expression: without comments, literals as the attributes they are compared with."""

        def part(found: re.Match[str]) -> str:
            if found["comment"] is not None:
                return ""
            literal = found["text"]
            quoted = re.fullmatch(r"([rRbB]{0,2}(?:\"\"\"|'''|\"|'))(.*?)(\"\"\"|'''|\"|')", literal, re.DOTALL)
            if quoted is None or quoted[2] in self.drivers:
                return literal
            return quoted[1] + (self.shared.get(quoted[2]) or self.tokens(quoted[2])) + quoted[3]

        return _CEL.sub(part, text)

    def label_key(self, text: str) -> str:
        """A key of labels and taints; those of Kubernetes and of drivers are known to everybody."""
        domain = text.rpartition("/")[0]
        if self.public(domain):
            return text
        return self.name("key", text)

    def public(self, domain: str) -> bool:
        """Whether a domain is Kubernetes' or that of a driver that publishes slices."""
        if domain.endswith(("kubernetes.io", "k8s.io")):
            return True
        return bool(domain) and any(driver == domain or driver.endswith(f".{domain}") for driver in self.drivers)

    def label_value(self, key: str, text: str) -> str:
        """A value of a label or taint."""
        if text in ("", "true", "false") or (key in self.numeric_keys and text.isdigit()):
            return text
        if key in ("kubernetes.io/arch", "kubernetes.io/os"):
            return text
        if key == "kubernetes.io/hostname":
            return self.name("node", text)
        if key == "kubernetes.io/metadata.name":
            return self.name("namespace", text)
        return self.name("value", text)

    def resource(self, text: str) -> str:
        """The name of a resource of containers and nodes."""
        if text.startswith(IMPLICIT_PREFIX):
            return IMPLICIT_PREFIX + self.class_name(text.removeprefix(IMPLICIT_PREFIX))
        domain, slash, _ = text.rpartition("/")
        return text if not slash or self.public(domain) else self.name("resource", text)

    def class_name(self, text: str) -> str:
        """The name of a DeviceClass."""
        return self.name("class", text)


_FORMS = {
    "uuid": "00000000-0000-4000-8000-{:0>12}",
    "mac": "02-00-00-00-{}",
    "ipv4": "192.0.2.{}",
    "ipv6": "2001:db8::{}",
    "key": "redacted.example/key-{}",
    "resource": "redacted.example/resource-{}",
    "image": "redacted.example/image:{}",
    "scheduler": "scheduler-{}",
}


def redact(state: RawState) -> RawState:
    """The state with pseudonyms. Kinds without a shape are left out and named in ``unseen``."""
    from dractl.sources.redact_shapes import SHAPES

    kept = [body for body in state.items if body.get("kind") in SHAPES]
    redactor = Redactor(
        drivers=frozenset(_drivers(kept)),
        read_attributes=frozenset(_words(kept)),
        numeric_keys=frozenset(_compared_as_numbers(kept)),
    )
    for body in kept:
        SHAPES[body["kind"]](redactor, body)
    redactor.freeze()
    items = [SHAPES[body["kind"]](redactor, body) for body in kept]
    unseen = dict.fromkeys(state.unseen, "could not be read, or not all of it")
    unseen.update({str(body.get("kind")): LEFT_OUT for body in state.items if body.get("kind") not in SHAPES})
    return replace(state, items=items, unseen=unseen, notes=[], description="redacted")


def _drivers(items: Iterable[dict[str, Any]]) -> Iterable[str]:
    for body in items:
        if body.get("kind") == "ResourceSlice":
            driver = (body.get("spec") or {}).get("driver")
            if isinstance(driver, str):
                yield driver


def _words(value: Any) -> Iterable[str]:
    """All words in CEL expressions: an attribute that none of them names is read by none."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "expression" and isinstance(item, str):
                yield from _WORD.findall(item)
            else:
                yield from _words(item)
    elif isinstance(value, list):
        for item in value:
            yield from _words(item)


def _compared_as_numbers(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        if value.get("operator") in ("Gt", "Lt") and isinstance(value.get("key"), str):
            yield value["key"]
        for item in value.values():
            yield from _compared_as_numbers(item)
    elif isinstance(value, list):
        for item in value:
            yield from _compared_as_numbers(item)

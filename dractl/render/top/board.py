"""One state of a cluster as the lists of ``dractl top``: nodes, waiting claims, findings; and totals above them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from dractl.diagnose.check import Context, Waiting
from dractl.diagnose.publication import selected_devices
from dractl.explain.report import ClaimExplanation
from dractl.listing.devices import taint_text
from dractl.listing.rows import DeviceRow
from dractl.render.overview import STATE_MARKS, Overview, Place, overview_of, readable, remarks
from dractl.render.text.table import clean
from dractl.rules.finding import Finding
from dractl.rules.registry import rule

TROUBLE = ("tainted", "pool-incomplete", "node-missing")
"""States of devices that somebody has to look at."""

Text = tuple[str, str]
"""A style's name and a paragraph; see ``dractl.render.top.frame``."""

_DIGITS = re.compile(r"(\d+)")


class View(StrEnum):
    """The lists that there are, in the order of their numbers on the keyboard."""

    FLEET = "fleet"
    CLAIMS = "claims"
    FINDINGS = "findings"


@dataclass(slots=True)
class NodeItem:
    """A node, or a pool of devices that belong to no node. ``groups``: driver and one mark for each device."""

    place: Place
    name: str
    remark: str
    groups: list[tuple[str, str]]
    free: int
    total: int
    trouble: int
    bad: bool = False
    """Whether the node itself is not ready or missing."""
    _searched: str = ""

    @property
    def key(self) -> str:
        """What it is recognised by after a refresh."""
        return self.name

    def searched(self) -> str:
        """Everything that a search looks at, in lower case. Made when it is first asked for."""
        if not self._searched:
            words = [self.name, self.remark]
            for device in self.place.devices:
                words += [device.driver, device.device, device.state, device.product or ""]
                words += [f"{holder.namespace}/{holder.name}" for holder in device.holders]
                words += [taint_text(taint) for taint in device.taints]
            self._searched = "\n".join(dict.fromkeys(words)).lower()
        return self._searched

    def details(self) -> Iterator[Text]:
        """The devices one by one."""
        yield "title", self.name
        if self.remark:
            yield "bad" if self.bad else "", self.remark
        if not self.place.devices:
            yield "", "No devices are published for it."
        driver = ""
        for device in self.place.devices:
            if device.driver != driver:
                driver = device.driver
                yield "", ""
                yield "head", shown(f"{driver}, pool {device.pool}")
            yield device.state, shown(_device(device))


@dataclass(slots=True)
class ClaimItem:
    """A claim that a pod waits for. ``created`` is RFC 3339, empty where it is not known."""

    explanation: ClaimExplanation
    name: str
    others: list[str]
    age: str
    created: str
    reason: str

    @property
    def key(self) -> str:
        """What it is recognised by after a refresh."""
        return self.name

    def searched(self) -> str:
        """Everything that a search looks at, in lower case."""
        codes = " ".join(found.code for found in self.explanation.findings)
        pods = " ".join(pod.name for pod in self.explanation.pods)
        classes = " ".join(request.class_ for request in self.explanation.requests)
        return "\n".join((self.name, *self.others, self.reason, codes, pods, classes)).lower()

    def details(self) -> Iterator[Text]:
        """Why it waits and what would help."""
        item = self.explanation
        yield "title", self.name + (f" (pending for {self.age})" if self.age else "")
        yield "", self.reason
        if self.others:
            yield "", f"Claims like it that wait too: {', '.join(self.others)}"
        yield from (("", shown(f"- {text}")) for text in item.details)
        yield from (("", shown(f"to do: {text}")) for text in item.actions)
        if item.fixes:
            yield "", ""
            yield "head", "What would help"
        for fix in item.fixes:
            tried = "" if fix.proven else ", not tried out"
            yield "", shown(f"- {fix.text}{f' ({fix.who})' if fix.who else ''}{tried}")
        if item.groups:
            yield "", ""
            yield "head", "Nodes"
        yield from (("", shown(f"- {group.nodes:,}: {group.where}: {group.reason}")) for group in item.groups)
        yield "", ""
        yield "dim", shown(f"All of it: dractl explain claim {item.claim.name} -n {item.claim.namespace}")


@dataclass(slots=True)
class FindingItem:
    """A finding, or (severity ``note``) something that limits what is seen here."""

    severity: str
    code: str
    subject: str
    message: str
    hint: str = ""

    @property
    def key(self) -> str:
        """What it is recognised by after a refresh."""
        return f"{self.code} {self.subject} {self.message}"

    def searched(self) -> str:
        """Everything that a search looks at, in lower case."""
        return f"{self.severity}\n{self.key}\n{self.hint}".lower()

    def details(self) -> Iterator[Text]:
        """The finding and what to do."""
        yield "title", f"{self.code} {self.subject}".strip() or "Note"
        yield self.severity, self.severity
        yield "", self.message
        if self.hint:
            yield "", f"Do: {self.hint}"
        if self.code:
            yield "", ""
            yield "dim", f"More: dractl explain {self.code}"


Item = NodeItem | ClaimItem | FindingItem


@dataclass(slots=True)
class Board:
    """Everything that the frames show. ``drivers`` and ``classes``: how many devices are in each state."""

    source: str
    kubernetes: str
    taken: str
    states: dict[str, int]
    drivers: dict[str, dict[str, int]]
    classes: dict[str, dict[str, int]]
    nodes: list[NodeItem] = field(default_factory=list)
    claims: list[ClaimItem] = field(default_factory=list)
    findings: list[FindingItem] = field(default_factory=list)
    unseen: dict[str, str] = field(default_factory=dict)

    def items(self, view: View) -> Sequence[Item]:
        """The list of one view, in its first order."""
        if view is View.FLEET:
            return self.nodes
        return self.claims if view is View.CLAIMS else self.findings


def board_of(context: Context) -> Board:
    """Collect everything; a diagnosis is run on the way."""
    overview = overview_of(context)
    report = overview.diagnosis
    created = {f"{key.namespace}/{key.name}": claim.meta.creation_timestamp or ""
               for key, claim in context.inventory.claims.items()}  # fmt: skip
    return Board(
        source=shown(report.source),
        kubernetes=shown(report.kubernetes),
        taken=shown(report.taken or ""),
        states=overview.states,
        drivers=overview.drivers,
        classes=_classes(context, overview),
        nodes=sorted((_node(place) for place in overview.places), key=lambda item: natural(item.name)),
        claims=[_claim(item, created) for item in overview.waiting],
        findings=[*map(_finding, report.findings), *_notes(overview)],
        unseen=overview.unseen,
    )


def natural(name: str) -> tuple[tuple[str, int], ...]:
    """A key that puts node-2 before node-10."""
    parts = _DIGITS.split(name)
    return tuple((text, int(number or 0)) for text, number in zip(parts[::2], [*parts[1::2], "0"], strict=True))


def shown(text: str) -> str:
    """Text in one line, without anything that a terminal would obey or not show."""
    return text if text.isascii() and text.isprintable() else clean(readable(text))


def _classes(context: Context, overview: Overview) -> dict[str, dict[str, int]]:
    states: dict[str, str] = {device.id: device.state for place in overview.places for device in place.devices}
    found: dict[str, dict[str, int]] = {}
    for name, item in sorted(context.inventory.classes.items()):
        found[name] = dict(Counter(states[str(published.id)] for published in selected_devices(context, item)))
    return found


def _node(place: Place) -> NodeItem:
    groups: dict[str, list[str]] = {}
    counts: Counter[str] = Counter()
    for device in place.devices:
        groups.setdefault(device.driver, []).append(STATE_MARKS[device.state][0])
        counts[device.state] += 1
    words: list[str] = []
    bad = False
    if place.node is not None:
        bad = place.node.status in ("NotReady", "missing")
        words += [place.node.status] if place.node.status != "Ready" else []
        words += ["cordoned"] if place.node.schedulable is False else []
        words += [f"taint {text}" for text in place.node.taints]
    return NodeItem(
        place,
        shown(place.name),
        shown(", ".join(words)),
        [(shown(driver), "".join(marks)) for driver, marks in groups.items()],
        counts["free"],
        len(place.devices),
        sum(counts[state] for state in TROUBLE) + bad,
        bad,
    )


def _device(device: DeviceRow) -> str:
    parts = [f"{STATE_MARKS[device.state][0]} {device.device}  {device.state}"]
    parts += [device.product] if device.product else []
    for holder in device.holders:
        word = "pod" if len(holder.pods) == 1 else "pods"
        pods = f", {word} {', '.join(holder.pods)}" if holder.pods else ", no pod"
        parts.append(f"{holder.namespace}/{holder.name} (request {holder.request}{pods})")
    # that it is held stands there already
    parts += [reason for reason in device.reasons if not reason.startswith("held by ") or ";" in reason]
    return "; ".join(parts)


def _claim(waiting: Waiting, created: dict[str, str]) -> ClaimItem:
    item = waiting.report
    name = f"{item.claim.namespace}/{item.claim.name}"
    others = [shown(str(key)) for key in waiting.claims[1:]]
    return ClaimItem(item, shown(name), others, item.age or "", created.get(name, ""), shown(item.summary))


def _finding(item: Finding) -> FindingItem:
    subject = str(item.subject) if item.subject is not None else rule(item.code).title
    hint = item.hint or rule(item.code).fix
    return FindingItem(item.severity.value, item.code, shown(subject), shown(item.message), shown(hint))


def _notes(overview: Overview) -> Iterator[FindingItem]:
    """What limits the picture; kinds that were not read are findings already."""
    unseen = tuple(f"{kind} could not be read" for kind in overview.unseen)
    for text in remarks(overview):
        if not unseen or not text.startswith(unseen):
            yield FindingItem("note", "", "", shown(text))

"""What the reports for people hold (``dractl report``), collected once for HTML and Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dractl.diagnose.check import Context, Waiting
from dractl.diagnose.run import Diagnosis, diagnose
from dractl.listing.devices import device_rows
from dractl.listing.lists import node_list
from dractl.listing.rows import DeviceRow, NodeRow
from dractl.rules.finding import Severity

STATE_MARKS = {
    "free": ("F", "free"),
    "used": ("U", "in use"),
    "shared": ("S", "partly given out"),
    "full": ("X", "shared and full"),
    "tainted": ("T", "tainted"),
    "counters-exhausted": ("C", "overlaps with taken devices"),
    "pool-incomplete": ("I", "not all slices of its pool are published"),
    "node-missing": ("M", "the node that it names is not there"),
}
"""States of devices: the letter that marks one where colour does not, and what it means."""


@dataclass(slots=True)
class Place:
    """A node with its devices, or (without ``node``) the devices of a pool that no node's name is written on."""

    name: str
    node: NodeRow | None
    devices: list[DeviceRow] = field(default_factory=list)


@dataclass(slots=True)
class Overview:
    """A cluster to look at.

    ``waiting`` explains claims that pods wait for (those of one form once); ``unasked`` counts unallocated others.
    """

    diagnosis: Diagnosis
    places: list[Place]
    states: dict[str, int]
    drivers: dict[str, dict[str, int]]
    """By driver: how many devices are in each state."""
    claims: int
    waiting: list[Waiting]
    unasked: int
    unseen: dict[str, str]

    @property
    def devices(self) -> int:
        """All published devices of current generations."""
        return sum(self.states.values())

    @property
    def pending(self) -> int:
        """Claims that pods wait for."""
        return sum(len(item.claims) for item in self.waiting)

    @property
    def nodes(self) -> int:
        """Nodes that are there (or of which only slices tell, where nodes were not read)."""
        return sum(place.node is not None and place.node.status != "missing" for place in self.places)

    @property
    def missing(self) -> int:
        """Nodes that slices name and that are not there."""
        return sum(place.node is not None and place.node.status == "missing" for place in self.places)


def overview_of(context: Context) -> Overview:
    """Collect everything; the checks of a diagnosis are run on the way."""
    inventory = context.inventory
    places = {row.name: Place(row.name, row) for row in node_list(inventory)}
    elsewhere: dict[str, Place] = {}
    drivers: dict[str, Counter[str]] = {}
    for device in device_rows(inventory):
        drivers.setdefault(device.driver, Counter())[device.state] += 1
        if device.node:
            places[device.node].devices.append(device)
        else:
            where = f"{device.driver}/{device.pool} ({device.nodes or 'no node'})"
            elsewhere.setdefault(where, Place(where, None)).devices.append(device)
    states: Counter[str] = Counter()
    for counts in drivers.values():
        states.update(counts)
    unallocated = sum(
        claim.allocation is None and not claim.meta.deletion_timestamp for claim in inventory.claims.values()
    )
    return Overview(
        diagnosis=diagnose(context.question, context=context),
        places=[*places.values(), *elsewhere.values()],
        states={state: states[state] for state in STATE_MARKS if states[state]},
        drivers={name: dict(counts) for name, counts in sorted(drivers.items())},
        claims=len(inventory.claims),
        waiting=context.waiting,
        unasked=unallocated - sum(len(item.claims) for item in context.waiting),
        unseen=dict(sorted(inventory.provenance.unseen.items())),
    )


def counted(number: int, word: str) -> str:
    """``1 node``, ``2,000 nodes``."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def head_line(overview: Overview) -> str:
    """One sentence with the counts; what could not be read is not counted as none."""
    parts = []
    if "Node" not in overview.unseen or overview.nodes:
        gone = f" (and {overview.missing:,} missing, of which slices tell)" if overview.missing else ""
        parts.append(counted(overview.nodes, "node") + gone)
    if "ResourceSlice" in overview.unseen:
        parts.append("devices not seen")
    else:
        states = ", ".join(f"{number:,} {state}" for state, number in overview.states.items())
        parts.append(counted(overview.devices, "device") + (f" ({states})" if states else ""))
    if "ResourceClaim" in overview.unseen:
        parts.append("claims not seen")
    else:
        parts.append(f"{counted(overview.claims, 'claim')}, {overview.pending:,} pending that pods wait for")
    found = Counter(item.severity for item in overview.diagnosis.findings)
    words = [counted(found[Severity.ERROR], "error"), counted(found[Severity.WARNING], "warning")]
    return "; ".join([*parts, *words, f"{found[Severity.INFO]:,} for information"])


def remarks(overview: Overview, together: bool = False) -> Iterator[str]:
    """What limits the report: kinds that were not read, checks that were not made, assumptions.

    ``together``: checks that were not made for one reason in one line, by their codes.
    """
    for kind, reason in overview.unseen.items():
        yield f"{kind} could not be read: {reason}"
    left_out = [check for check in overview.diagnosis.checks if check.outcome in ("skipped", "failed")]
    if together:
        for reason in dict.fromkeys(check.reason for check in left_out):
            codes = [check.code for check in left_out if check.reason == reason]
            word = "check was" if len(codes) == 1 else "checks were"
            yield f"{len(codes)} {word} not made ({', '.join(codes)}): {reason}"
    else:
        for check in left_out:
            yield f"check {check.code} ({check.title}) was not made: {check.reason}"
    yield from overview.diagnosis.notes
    if overview.unasked > 0:
        more = counted(overview.unasked, "unallocated claim")
        yield f"{more} besides: no pod that was seen refers to {'it' if overview.unasked == 1 else 'them'}"


def readable(text: str) -> str:
    """Text with characters written out that are not seen, or that turn around what stands after them."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_character(one) for one in text)


def _character(one: str) -> str:
    if one == "\n" or one.isprintable():
        return one
    code = ord(one)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def alike(waiting: Waiting) -> str:
    """Which claims wait for the same reason besides the one that is explained; empty for none."""
    others = [str(key) for key in waiting.claims[1:]]
    if not others:
        return ""
    return f"{counted(len(others), 'claim')} like it {'waits' if len(others) == 1 else 'wait'} too: {names(others, 5)}"


def names(items: Sequence[str], most: int) -> str:
    """The first names, and how many there are besides."""
    more = len(items) - most
    return ", ".join(items[:most]) + (f" and {more:,} more" if more > 0 else "")

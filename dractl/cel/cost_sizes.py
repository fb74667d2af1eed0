"""Sizes that are known from the API's limits of what a device may hold.

A path leads from the variable ``device`` to a part of it: field names, ``@keys`` and ``@values`` of maps. Source:
``k8s.io/dynamic-resource-allocation/cel``; the limits are those of resource.k8s.io (``api/resource/v1/types.go``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dractl.cel.cost_range import Range
from dractl.cel.environment import Environment

_NAME_LENGTH = 32
_DOMAIN_LENGTH = 63
_DRIVER_LENGTH = 63
_VALUE_LENGTH = 64
_ENTRIES = 32
"""Attributes and capacities of a device, together; also the bound for the domains."""


class Path:
    """Where a value comes from; empty if that is not known.

    Paths that grow from one path share its storage up to its capacity, like Go's slices do, so that a later path can
    change the last step of an earlier one. cel-go's estimates depend on that.
    """

    __slots__ = ("_length", "_steps")

    def __init__(self, steps: list[str] | None = None, length: int = 0) -> None:
        self._steps = steps if steps is not None else []
        self._length = length

    @classmethod
    def start(cls, name: str) -> Path:
        return cls([name], 1)

    @property
    def first(self) -> str:
        return self._steps[0] if self._length else ""

    def steps(self) -> list[str]:
        return self._steps[: self._length]

    def step(self, name: str) -> Path:
        """The path one step further."""
        storage = self._steps
        if self._length == len(storage):
            capacity = max(1, 2 * len(storage))
            storage = storage[: self._length] + [""] * (capacity - self._length)
        storage[self._length] = name
        return Path(storage, self._length + 1)

    def copied_step(self, name: str) -> Path:
        """One step further, in storage of its own."""
        return Path([*self.steps(), name], self._length + 1) if self._length else Path()


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a device: the most elements (of a text: characters) it has, and the parts below it."""

    most: int
    keys: _Part | None = None
    values: _Part | None = None
    fields: dict[str, _Part] = field(default_factory=dict)


_NAME = _Part(_NAME_LENGTH)
_DOMAIN = _Part(_DOMAIN_LENGTH)
_ATTRIBUTE = _Part(_VALUE_LENGTH)
_ATTRIBUTES = _Part(_ENTRIES, keys=_NAME, values=_ATTRIBUTE)
_CAPACITIES = _Part(_ENTRIES, keys=_NAME, values=_Part(0))
_DEVICE = _Part(
    0,
    fields={
        "driver": _Part(_DRIVER_LENGTH),
        "allowMultipleAllocations": _Part(1),
        "attributes": _Part(_ENTRIES, keys=_DOMAIN, values=_ATTRIBUTES),
        "capacity": _Part(_ENTRIES, keys=_DOMAIN, values=_CAPACITIES),
    },
)


def declared_size(path: Path, env: Environment) -> Range | None:
    """The size range of the part of a device at ``path``; None if the path leads elsewhere."""
    if path.first != "device":
        return None
    part = _DEVICE
    for name in path.steps()[1:]:
        within: _Part | None
        if name in ("@items", "@values"):
            within = part.values
        elif name == "@keys":
            within = part.keys
        elif name in part.fields:
            within = part.fields[name]
        else:
            # attributes are alike, whatever their names
            within = _ATTRIBUTE if part.values is _ATTRIBUTE else None
        if within is None:
            return None
        part = within
    return Range(0, part.most)

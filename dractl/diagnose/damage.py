"""Which finding is the worst: the order in which they are told."""

from __future__ import annotations

from dractl.rules.finding import Finding

_WORST_FIRST = (
    # hardware that two pods use at once: wrong results, lost data
    ("DRA231", "DRA233", "DRA234", "DRA235"),
    # what keeps many pods from many nodes
    ("DRA407", "DRA702", "DRA402", "DRA401", "DRA803"),
    # devices that fail under running pods
    ("DRA423", "DRA422", "DRA232", "DRA611", "DRA610", "DRA645"),
)


def damage(item: Finding) -> tuple[int, int, int, int, str, str]:
    """A sort key, the worst first: severity, the kind of damage, how many objects it touches, code and subject."""
    kind = next((place for place, codes in enumerate(_WORST_FIRST) if item.code in codes), len(_WORST_FIRST))
    far = item.evidence.get("distance", 0)
    return (-item.severity.rank, kind, -len(item.related), -int(far), item.code, str(item.subject))

"""Who wants the same devices: a smallest set of requests that want more devices than there are for them together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet


def shortage(wants: Sequence[tuple[int, AbstractSet[Hashable]]]) -> list[int]:
    """The indices of such a set, empty if every want (number, devices to choose from) can be served at once.

    Devices are given out one by one along alternating paths. Where the next one cannot be given, the wants that were
    reached have all their devices among themselves, and that is not enough (Hall's theorem).
    """
    taken: dict[Hashable, int] = {}
    for index, (needed, _) in enumerate(wants):
        for _ in range(needed):
            reached: set[int] = set()
            if not _give(index, wants, taken, set(), reached):
                return _smallest(wants, sorted(reached))
    return []


def _give(
    index: int,
    wants: Sequence[tuple[int, AbstractSet[Hashable]]],
    taken: dict[Hashable, int],
    seen: set[Hashable],
    reached: set[int],
) -> bool:
    """Give one more device to a want, moving others to other devices if need be."""
    reached.add(index)
    for device in wants[index][1]:
        if device in seen:
            continue
        seen.add(device)
        if device not in taken or _give(taken[device], wants, taken, seen, reached):
            taken[device] = index
            return True
    return False


def _smallest(wants: Sequence[tuple[int, AbstractSet[Hashable]]], short: list[int]) -> list[int]:
    """Leave out wants as long as the others still want too much."""
    for index in list(short):
        rest = [one for one in short if one != index]
        if rest and lacks(wants, rest):
            short = rest
    return short


def lacks(wants: Sequence[tuple[int, AbstractSet[Hashable]]], chosen: Sequence[int]) -> bool:
    """Whether some wants need more devices than there are for any of them."""
    devices: set[Hashable] = set()
    for index in chosen:
        devices |= wants[index][1]
    return sum(wants[index][0] for index in chosen) > len(devices)

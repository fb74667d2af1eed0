"""Devices that a DeviceTaintRule taints though the scheduler does not heed it: listed as tainted, but given out."""

from __future__ import annotations

from collections.abc import Iterable

from dractl.allocator.profile import Profile
from dractl.explain.tainting import unheeded_why
from dractl.inventory import Release
from dractl.listing.rows import DeviceRow


def unheeded_rules(rows: Iterable[DeviceRow], release: Release) -> list[str]:
    """A remark if there are such devices among the rows; none for a release whose scheduler is not known."""
    many = sum(any(taint.source != "driver" for taint in row.taints) for row in rows)
    try:
        profile = Profile.for_release(release.full)
    except ValueError:
        return []
    if not many or profile.heeds_taint_rules:
        return []
    devices = f"{many} devices are" if many > 1 else "1 device is"
    why = unheeded_why(profile, release)
    return [f"{devices} tainted by a DeviceTaintRule, which does not keep the scheduler from them: {why}"]

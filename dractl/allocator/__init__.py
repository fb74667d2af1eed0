"""kube-scheduler's allocator for devices: exact by release, with an account of every refusal.

``Allocator(Profile.for_release("1.36"), slices, classes, allocated).allocate(claims, node)`` gives the very allocation,
error text or "does not fit" of that release.
"""

from dractl.allocator.allocator import (
    DOES_NOT_FIT,
    ERROR,
    FITS,
    UNDECIDED,
    Allocator,
    NodeResult,
    NodeResults,
)
from dractl.allocator.profile import Features, Profile
from dractl.allocator.solution import Limits
from dractl.allocator.trace import Cause, Refusal, RequestTrace, Stage, Trace

__all__ = [
    "DOES_NOT_FIT",
    "ERROR",
    "FITS",
    "UNDECIDED",
    "Allocator",
    "Cause",
    "Features",
    "Limits",
    "NodeResult",
    "NodeResults",
    "Profile",
    "Refusal",
    "RequestTrace",
    "Stage",
    "Trace",
]

"""What a user may read of a cluster, and what each command makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from dractl.report import API_VERSION, to_plain

Right = Literal["yes", "namespace", "no", "not served", "unknown"]


@dataclass(slots=True)
class AccessRow:
    """One right. ``allowed`` is yes, namespace (in the asked one only), no, not served, or unknown (asking failed).

    ``commands`` need it, and ``without`` says what their answers lack otherwise.
    """

    verb: str
    resource: str
    group: str
    allowed: Right
    commands: list[str]
    without: str


@dataclass(slots=True)
class AccessReport:
    """Rights of the current user (or of ``--as``), asked with SelfSubjectAccessReviews."""

    source: str
    namespace: str
    kubernetes: str | None
    items: list[AccessRow]

    @property
    def enough(self) -> bool:
        """Whether ``explain`` sees all that it needs, be it in one namespace only."""
        return all(row.allowed in ("yes", "namespace", "not served") for row in self.items if "explain" in row.commands)

    def to_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return {"apiVersion": API_VERSION, "kind": "AccessReport", **to_plain(self)}


ALL = ("get", "explain", "diagnose", "snapshot save")
WITHOUT: dict[str, tuple[tuple[str, ...], str]] = {
    "resourceslices": (ALL, "no devices can be shown"),
    "deviceclasses": (ALL, "no request can be judged"),
    "resourceclaims": (ALL, "nothing is known of who has which device"),
    "resourceclaimtemplates": (ALL, "pods whose claims are not made yet are not judged"),
    "devicetaintrules": (ALL, "taints by rules are not heeded"),
    "pods": (ALL, "holders are shown by claim only"),
    "nodes": (ALL, "rules of nodes are undecided"),
    "namespaces": (("explain", "diagnose", "snapshot save"), "admin access is undecided"),
    "events": (("explain", "diagnose", "snapshot save"), "what the scheduler and kubelet said is not shown"),
    "daemonsets": (("explain", "diagnose", "snapshot save"), "it cannot be said whether a driver runs"),
}
OPTIONAL = (("diagnose", "snapshot save"), "its checks are skipped")
"""Commands and consequence of what only a diagnosis reads."""
WATCHING = (
    ("get --watch", "explain claim|pod --watch", "diagnose --watch", "top", "metrics"),
    "it is listed again every 30 seconds",
)
"""The same of the right to watch."""

"""From the common options to an Inventory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dractl.cli import options
from dractl.cli.output import Progress, note
from dractl.errors import DractlError

if TYPE_CHECKING:
    from dractl.inventory import Inventory, Release
    from dractl.sources.connection import Access, Connection
    from dractl.sources.watch import Follower


def open_inventory(
    snapshot: str | None,
    demo: bool = False,
    context: str | None = None,
    kubeconfig: str | None = None,
    everything: bool = False,
    namespace: str | None = None,
    kinds: Collection[str] | None = None,
    own_events: bool = False,
) -> Inventory:
    """The cluster that the options name; remarks about what was passed over go to stderr.

    The rest is for a running cluster, of which only what a command needs is read. ``everything``: also what only a
    diagnosis looks at (roles, quotas). ``kinds``: these kinds only. ``namespace``: where to look for what may not be
    listed in all namespaces. ``own_events``: only the events of that namespace.

    Raises:
        DractlError: for contradicting options and unreadable input.
    """
    from dractl.sources.snapshot import read_demo, read_snapshot

    one_source(snapshot, demo, context, kubeconfig)
    options.context_namespace = None
    if demo:
        return read_demo()
    if snapshot:
        inventory = read_snapshot(snapshot)
        for text in inventory.provenance.notes:
            note(f"note: {text}")
        return inventory
    connection = connect_to(context, kubeconfig)
    where = namespace or connection.namespace
    return _read_live(connection, None if everything else kinds or QUESTION_KINDS, where, own_events)


@dataclass(frozen=True, slots=True)
class Source:
    """What the common options of a command say, for ``open_inventory`` now or for following with --watch."""

    snapshot: str | None = None
    demo: bool = False
    context: str | None = None
    kubeconfig: str | None = None
    everything: bool = False
    namespace: str | None = None
    kinds: Collection[str] | None = None
    own_events: bool = False

    def open(self) -> Inventory:
        """The cluster as it is now; errors as of ``open_inventory``."""
        return open_inventory(
            self.snapshot,
            self.demo,
            self.context,
            self.kubeconfig,
            self.everything,
            self.namespace,
            self.kinds,
            self.own_events,
        )

    def follow(self) -> Follower:
        """The running cluster, not yet started.

        Raises:
            DractlError: for a recorded cluster, and when the kubeconfig cannot be used.
        """
        from dractl.sources.cluster import RESOURCES
        from dractl.sources.watch import Follower

        one_source(self.snapshot, self.demo, self.context, self.kubeconfig)
        if self.snapshot or self.demo:
            raise DractlError("--watch needs a running cluster", "Leave out --watch, or --snapshot and --demo.")
        connection = connect_to(self.context, self.kubeconfig)
        where = self.namespace or connection.namespace
        kinds = [item.kind for item in RESOURCES] if self.everything else self.kinds or QUESTION_KINDS
        return Follower(connection, kinds, where, where if self.own_events else None)


def one_source(snapshot: str | None, demo: bool, context: str | None, kubeconfig: str | None) -> None:
    """Refuse options that name two clusters."""
    if demo and snapshot:
        raise DractlError("--demo and --snapshot exclude each other", "Give one of them.")
    if (demo or snapshot) and (context or kubeconfig):
        given = "--context" if context else "--kubeconfig"
        raise DractlError(f"{given} does not go with {'--demo' if demo else '--snapshot'}", "Give one of them.")


@dataclass(slots=True)
class Settings:
    """Options of the root command that may stand anywhere: as whom to ask a cluster, and for how long to wait."""

    as_user: str | None = None
    as_groups: tuple[str, ...] = ()
    request_timeout: float = 60.0


settings = Settings()
"""Filled by the frame before a command runs."""


def access_of(context: str | None, kubeconfig: str | None) -> Access:
    """How to reach the cluster that the options name."""
    from dractl.sources.connection import Access

    return Access(context, kubeconfig, settings.as_user, settings.as_groups, settings.request_timeout)


def connect_to(context: str | None, kubeconfig: str | None) -> Connection:
    """The cluster that the options name; its context's namespace becomes the default of -n."""
    from dractl.sources.connection import connect

    connection = connect(access_of(context, kubeconfig))
    options.context_namespace = connection.namespace
    return connection


QUESTION_KINDS = (
    "ResourceSlice", "DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "DeviceTaintRule", "Pod", "Node",
    "Namespace", "Event", "DaemonSet",
)  # fmt: skip
"""What a question about claims and devices may need; the rest only concerns a diagnosis."""


def _read_live(connection: Connection, kinds: Collection[str] | None, namespace: str, own_events: bool) -> Inventory:
    from dractl.sources.cluster import RESOURCES
    from dractl.sources.snapshot import read_live

    with Progress() as progress:
        wanted = kinds if kinds is not None else [item.kind for item in RESOURCES]
        inventory = read_live(connection, wanted, namespace, progress, namespace if own_events else None)
    for kind, reason in inventory.provenance.unseen.items():
        note(f"note: {kind}: {reason}")
    return inventory


def choose_release(inventory: Inventory, kubernetes: str | None) -> Release:
    """The release to behave as: ``--kubernetes``, else what the inventory says."""
    from dractl.inventory import parse_release, release_of

    if kubernetes is None:
        return release_of(inventory)
    release = parse_release(kubernetes, "--kubernetes")
    if release is None:
        raise DractlError(f"--kubernetes {kubernetes}: is not a version", "Give it as 1.36 or 1.36.2.")
    return release

"""From the common options to an Inventory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.cli.output import note
from dractl.errors import DractlError, Exit

if TYPE_CHECKING:
    from dractl.inventory import Inventory, Release


def open_inventory(
    snapshot: str | None,
    demo: bool = False,
    context: str | None = None,
    kubeconfig: str | None = None,
) -> Inventory:
    """The cluster that the options name; remarks about what was passed over go to stderr.

    Raises:
        DractlError: for contradicting options and unreadable input.
    """
    from dractl.sources.snapshot import read_demo, read_snapshot

    if demo and snapshot:
        raise DractlError("--demo and --snapshot exclude each other", "Give one of them.")
    if (demo or snapshot) and (context or kubeconfig):
        given = "--context" if context else "--kubeconfig"
        raise DractlError(f"{given} does not go with {'--demo' if demo else '--snapshot'}", "Give one of them.")
    if demo:
        return read_demo()
    if snapshot:
        inventory = read_snapshot(snapshot)
        for text in inventory.provenance.notes:
            note(f"note: {text}")
        return inventory
    raise DractlError(
        "reading a running cluster is not built yet",
        "Give --snapshot FILE (kubectl get ... -A -o json > FILE) or --demo.",
        Exit.NO_CLUSTER,
    )


def choose_release(inventory: Inventory, kubernetes: str | None) -> Release:
    """The release to behave as: ``--kubernetes``, else what the inventory says."""
    from dractl.inventory import parse_release, release_of

    if kubernetes is None:
        return release_of(inventory)
    release = parse_release(kubernetes, "--kubernetes")
    if release is None:
        raise DractlError(f"--kubernetes {kubernetes}: is not a version", "Give it as 1.36 or 1.36.2.")
    return release

"""Which release of Kubernetes an inventory is of."""

from __future__ import annotations

import re
from typing import NamedTuple

from dractl.inventory.inventory import Inventory

DEFAULT_RELEASE = "1.36"
"""Taken when nothing says which release it is."""

_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?:[-+].*)?")


class Release(NamedTuple):
    """``minor`` is ``1.36``; ``full`` adds the patch where known (``1.36.2``); ``source`` says how it is known."""

    minor: str
    full: str
    source: str


def parse_release(text: str, source: str) -> Release | None:
    """``1.36``, ``v1.36.2``, ``v1.36.2-gke.100``; None for anything else."""
    match = _VERSION.fullmatch(text.strip())
    if match is None:
        return None
    minor = f"{match[1]}.{match[2]}"
    return Release(minor, f"{minor}.{match[3]}" if match[3] else minor, source)


def release_of(inventory: Inventory) -> Release:
    """The API server's release as recorded, else the newest kubelet's (a kubelet is never newer), else the default."""
    if inventory.provenance.server_version:
        recorded = parse_release(inventory.provenance.server_version, "the API server's version")
        if recorded is not None:
            return recorded
    kubelets = [parse_release(node.kubelet_version, f"kubelet of {name}") for name, node in inventory.nodes.items()]
    known = [release for release in kubelets if release is not None]
    if known:
        return max(known, key=lambda release: [int(part) for part in release.full.split(".")])
    return Release(DEFAULT_RELEASE, DEFAULT_RELEASE, "assumed: nothing in the input says it")

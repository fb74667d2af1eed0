"""The demo fleet in a real control plane, where KUBEBUILDER_ASSETS names a folder with kube-apiserver and etcd."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path

import pytest

from dractl.sources import cluster
from tests.envtest.controlplane import ControlPlane
from tests.envtest.fleet import create_fleet

PROGRAMS = ("etcd", "kube-apiserver")


def why_not() -> str | None:
    """The reason for which the suite cannot run."""
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    if not folder:
        return "KUBEBUILDER_ASSETS is not set: no control plane to test with"
    absent = [name for name in PROGRAMS if not os.access(Path(folder) / name, os.X_OK)]
    if absent:
        return f"KUBEBUILDER_ASSETS={folder} has no {' and no '.join(absent)}"
    return None if shutil.which("openssl") else "openssl is needed to make certificates"


@pytest.fixture(scope="session")
def plane(tmp_path_factory):
    reason = why_not()
    if reason:
        pytest.skip(reason)
    running = ControlPlane(Path(os.environ["KUBEBUILDER_ASSETS"]), tmp_path_factory.mktemp("plane"))
    try:
        running.start()
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="session")
def demo_objects():
    return json.loads(gzip.decompress(resources.files("dractl.data").joinpath("demo.json.gz").read_bytes()))["items"]


@pytest.fixture(scope="session")
def refused(plane, demo_objects):
    """The fleet is there; what the release would not take."""
    return create_fleet(plane, demo_objects)


@pytest.fixture
def admin(plane, refused, tmp_path):
    return plane.kubeconfig(tmp_path / "admin")


@pytest.fixture(autouse=True)
def steady(monkeypatch):
    """Ages are counted from one moment, in the live answer and in the snapshot."""
    moment = datetime.now(UTC) + timedelta(minutes=5)
    monkeypatch.setattr(cluster, "clock", lambda: moment)

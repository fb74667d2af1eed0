"""Trees and a stand-in for NVIDIA's library, for the tests of discover."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dractl.hardware.health import health
from dractl.hardware.readers.host import Asking, read_host
from dractl.hardware.readers.root import open_root
from dractl.hardware.report import host_report

HERE = Path(__file__).parent
CASES = HERE.parent / "cases"


@pytest.fixture
def look():
    """Read a tree without asking this machine's NVML."""

    def look(root: Path | str):
        return read_host(open_root(str(root)), False, Asking(nvml=False))

    return look


@pytest.fixture
def report(look):
    """The HostReport of a tree."""

    def report(root: Path | str, only=None):
        host = look(root)
        return host_report(host, health(host), only)

    return report


@pytest.fixture(scope="session")
def fake_library(tmp_path_factory):
    """A folder with a ``libnvidia-ml.so.1`` compiled from fake_nvml.c."""
    if shutil.which("gcc") is None:
        pytest.skip("no C compiler: the stand-in for NVML can not be built")
    folder = tmp_path_factory.mktemp("nvml")
    subprocess.run(
        [
            "gcc",
            "-shared",
            "-fPIC",
            "-Wl,-soname,libnvidia-ml.so.1",
            "-o",
            folder / "libnvidia-ml.so.1",
            HERE / "fake_nvml.c",
        ],
        check=True,
    )
    return folder


@pytest.fixture
def with_nvml(fake_library, tmp_path):
    """Run dractl in a process of its own, where pynvml loads the stand-in with these answers."""

    def run(answers: list[str], *arguments: str):
        script = tmp_path / "answers.txt"
        script.write_text("\n".join(answers) + "\n")
        env = {**os.environ, "FAKE_NVML": str(script), "LD_LIBRARY_PATH": str(fake_library)}
        for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
            env.pop(name, None)
        return subprocess.run(
            [sys.executable, "-m", "dractl", *arguments],
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


@pytest.fixture
def case_tree(tmp_path):
    """Lay a case's sysfs.yaml out as a folder."""

    def lay(case: str) -> Path:
        import yaml

        root = tmp_path / "sysfs"
        (root / "usr/share/hwdata").mkdir(parents=True)
        (root / "usr/share/hwdata/pci.ids").write_text("# no names\n")
        for path, content in yaml.safe_load((CASES / case / "sysfs.yaml").read_text()).items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if not isinstance(content, dict):
                target.write_text(content)
            elif "link" in content:
                target.symlink_to(content["link"])
            else:
                target.write_bytes(bytes.fromhex(content["hex"]))
        return root

    return lay


NVML_CODES = {"NVML_SUCCESS": 0, "NVML_ERROR_GPU_IS_LOST": 15, "NVML_ERROR_LIB_RM_VERSION_MISMATCH": 18,
              "NVML_ERROR_DRIVER_NOT_LOADED": 9, "NVML_ERROR_UNKNOWN": 999}  # fmt: skip


def case_answers(case: str) -> list[str]:
    """A case's nvml.yaml as settings of the stand-in."""
    import yaml

    data = yaml.safe_load((CASES / case / "nvml.yaml").read_text())
    lines = [f"init {NVML_CODES[data['init']]}", f"driver {data['driverVersion']}", f"cuda {data['cudaDriverVersion']}"]
    for gpu in data["devices"]:
        handle = NVML_CODES[gpu["handle"]] if "handle" in gpu else 0
        bus = gpu.get("busId") or next(iter(gpu.get("handleByBusId", {})), "")
        parts = [f"gpu bus={bus} handle={handle}"]
        if "name" in gpu:
            parts += [f"name={gpu['name'].replace(' ', '_')}", f"minor={gpu['minor']}", f"memory={gpu['memoryTotal']}"]
        mig = gpu.get("mig", {})
        if isinstance(mig.get("current"), int):
            parts.append(f"mig={mig['current']}/{mig['pending']} maxmig={gpu.get('maxMigDeviceCount', 0)}")
        lines.append(" ".join(parts))
    return lines

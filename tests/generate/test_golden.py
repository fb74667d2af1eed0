"""Outputs as a person reads them; renew them with UPDATE=1 and read what changed."""

import os
import shlex
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"
COMMANDS = {
    "aligned-pair": "claim pair --gpu h100 --nic rdma --align pcie --demo",
    "fallback": "claimtemplate train -n ml --gpu 'h100*2' --fallback 'a100*4,l40s*4' --same numa --demo",
    "never-fits": "claim big --gpu 'memory>=80Gi' --demo",
    "share": "claim part --gpu h100 --share 10Gi",
    "pod": "pod infer --gpu l40s --command 'nvidia-smi -L' --demo",
    "class": "deviceclass big-a100 --gpu 'a100 memory>=16Gi' --extended-resource example.com/a100 --demo",
    "taintrule": "taintrule repair --pool h100-4 --effect NoExecute --demo",
    "rbac-driver": "rbac --persona driver --driver gpu.example.com --service-account dra:plugin",
    "deviceplugin": "deviceplugin",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_output_is_as_read(dractl, name):
    path = GOLDEN / f"{name}.yaml"
    run = dractl("generate", *shlex.split(COMMANDS[name]))
    assert run.code == 0, run.err
    if os.environ.get("UPDATE"):
        path.write_text(run.out, encoding="utf-8")
    assert run.out == path.read_text(encoding="utf-8")

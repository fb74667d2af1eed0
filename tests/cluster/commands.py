"""All commands that read a cluster, for a running one or a snapshot; the objects are those of the demo fleet."""

from __future__ import annotations

COMMANDS = [
    *(("get", what, *more) for what, *more in [
        ("devices",), ("pools",), ("slices",), ("claims", "-A"), ("templates", "-A"), ("classes",), ("nodes",),
        ("taints",), ("devices", "--node", "h100-1"), ("devices", "-n", "ml"), ("claims", "-n", "ml"),
        ("claims", "--driver", "dra.net", "-A"),
        ("devices", "--where", 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'),
    ]),
    ("explain", "claim", "pair-on-h100-1", "-n", "ml"),
    ("explain", "claim", "pair-on-h100-1", "-n", "ml", "--node", "h100-0"),
    ("explain", "claim", "shared-mig", "-n", "infer"),
    ("explain", "claim", "sixteen", "-n", "research"),
    ("explain", "pod", "pair-on-h100-1", "-n", "ml"),
    ("explain", "pod", "mig-0", "-n", "infer"),
    ("explain", "claim", "no-such-claim", "-n", "ml"),
    ("diagnose",),
    ("cel", "fields"),
    ("cel", "eval", "device.driver == 'dra.net'"),
]  # fmt: skip
FORMATS = {"get": ("text", "wide", "json", "yaml", "name"), "explain": ("wide", "json"),
           "diagnose": ("text", "json"), "cel": ("text", "json")}  # fmt: skip

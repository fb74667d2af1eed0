"""All commands that read a cluster, for a running one or a snapshot; the objects are those of the demo fleet."""

from __future__ import annotations

from dractl.render.markdown import plain

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
    ("explain", "device", "gpu.nvidia.com/h100-2/gpu-5"),
    ("explain", "node", "h100-2"),
    ("explain", "class", "mig.nvidia.com"),
    ("diagnose",),
    ("cel", "fields"),
    ("cel", "eval", "device.driver == 'dra.net'"),
    ("simulate", "--drain", "h100-2"),
    ("simulate", "capacity", "ml/pair-on-h100-1"),
    ("report",),
    ("metrics", "--once"),
]  # fmt: skip
FORMATS = {"get": ("wide", "json", "name"), "explain": ("wide", "json"),
           "diagnose": ("text", "json"), "cel": ("text", "json"), "simulate": ("json",),
           "report": ("md",), "metrics": ("",)}  # fmt: skip
"""Of ``-o``; an empty one stands for a command without it."""


def output_of(output: str) -> tuple[str, ...]:
    """The option that asks for a format."""
    return ("-o", output) if output else ()


def unnamed(text: str, source: str) -> str:
    """A text without the name of what was read, as it is or as Markdown writes it."""
    return text.replace(source, "SOURCE").replace(plain(source), "SOURCE")

"""What a validation is asked to assume: the release, its gates, and what the API server serves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dractl.kube import gates as feature_gates
from dractl.kube.gates import Release

GROUP = "resource.k8s.io"
DEFAULT_RELEASE: Release = (1, 36)


@dataclass(frozen=True, slots=True)
class Settings:
    """The server that is asked.

    ``runtime`` holds what ``--runtime-config`` switches on or off: ``resource.k8s.io/v1beta1`` -> True.
    ``complete`` says that the manifests are all there is. ``namespaces`` maps names to labels where they are known;
    ``namespace`` is where objects go that name none.
    """

    release: Release = DEFAULT_RELEASE
    gates: Mapping[str, bool] = field(default_factory=dict)
    runtime: Mapping[str, bool] = field(default_factory=dict)
    complete: bool = False
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    namespace: str = "default"

    @property
    def version(self) -> str:
        """The release as people write it."""
        return f"{self.release[0]}.{self.release[1]}"

    def enabled(self, gate: str) -> bool:
        """Whether a gate is on."""
        return feature_gates.enabled(self.release, self.gates).get(gate, False)

    def switched_on(self, version: str) -> bool | None:
        """What ``--runtime-config`` says of a version of the group; None if nothing."""
        for name in (f"{GROUP}/{version}", stage_key(version), "api/all"):
            if name in self.runtime:
                return self.runtime[name]
        return None


def stage_key(version: str) -> str:
    """``api/beta`` for v1beta1 and so on, as ``--runtime-config`` has them."""
    return "api/alpha" if "alpha" in version else "api/beta" if "beta" in version else "api/ga"


def parse_switches(texts: list[str]) -> dict[str, bool]:
    """``A=true,B=false`` (several times) as a mapping; a name alone is true.

    Raises:
        ValueError: for a value that is neither true nor false.
    """
    out: dict[str, bool] = {}
    for text in texts:
        for part in filter(None, text.split(",")):
            name, sign, value = part.partition("=")
            word = value.strip().lower() if sign else "true"
            if word not in ("true", "false"):
                raise ValueError(f"{part!r}: write NAME=true or NAME=false")
            out[name.strip()] = word == "true"
    return out

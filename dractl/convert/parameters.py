"""What parameters said -> selectors, counts and configuration of today.

Three sources: free-form ``parameters`` as in early articles (vendor, type, memory), parameter objects of the first
drivers (GpuClaimParameters), and the structured ResourceClaimParameters of 1.30.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from dractl.kube.drivers import DRIVERS, NVIDIA_PRODUCTS

NVIDIA = "gpu.nvidia.com"
_NVIDIA_CONFIG = "resource.nvidia.com/v1beta1"

VENDORS = {"nvidia": NVIDIA, "amd": "gpu.amd.com", "intel": "gpu.intel.com"}
FORMER_DRIVERS = {
    "gpu.resource.nvidia.com": NVIDIA,
    "gpu.resource.intel.com": "gpu.intel.com",
    "gpu.resource.amd.com": "gpu.amd.com",
    "gpu.resource.example.com": "gpu.example.com",
}
"""Driver names of the first generation and what the driver for the same hardware is called today."""

_PRODUCT_ATTRIBUTE = {NVIDIA: "productName", "gpu.amd.com": "productName", "gpu.intel.com": "model"}


@dataclass(slots=True)
class Wish:
    """What parameters ask for: ``terms`` are parts of one CEL conjunction, ``lost`` what could not be carried over."""

    driver: str = ""
    count: int | None = None
    terms: list[str] = field(default_factory=list)
    minimum: dict[str, str] = field(default_factory=dict)
    """Capacity name -> amount asked for at least."""
    config: list[dict[str, Any]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def cel_text(text: str) -> str:
    """A CEL string literal."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def free_form(parameters: dict[str, Any], driver: str) -> Wish:
    """``vendor: nvidia, memory: 16Gi, type: A100``: words that no API ever defined, read as their names say."""
    wish = Wish(driver)
    vendor = str(parameters.get("vendor") or "").lower()
    if vendor:
        wish.driver = VENDORS.get(vendor, "")
        if not wish.driver:
            wish.lost.append(f"vendor {parameters['vendor']}: no driver is known for it")
    named = parameters.get("type") or parameters.get("model") or parameters.get("product")
    if not wish.driver and named and _known_nvidia(str(named)):
        wish.driver = NVIDIA
    for key, value in parameters.items():
        if key == "vendor":
            continue
        if key in ("type", "model", "product") and wish.driver:
            _product(wish, str(value))
        elif key == "memory" and wish.driver:
            wish.minimum["memory"] = str(value)
        elif key in ("count", "gpus") and str(value).isdigit():
            wish.count = int(value)
        else:
            wish.lost.append(f"{key}: {value}")
    return wish


def _known_nvidia(product: str) -> bool:
    return any(product.lower() in name.lower() for name in NVIDIA_PRODUCTS)


def _product(wish: Wish, text: str) -> None:
    attribute = _PRODUCT_ATTRIBUTE.get(wish.driver, "productName")
    wish.terms.append(f"{_attributes(wish.driver)}.{attribute}.lowerAscii().contains({cel_text(text.lower())})")


def _attributes(driver: str) -> str:
    return f"device.attributes[{cel_text(driver)}]"


def expression(wish: Wish, guard: bool = True) -> str | None:
    """One CEL expression for everything asked for, or None when nothing is."""
    terms = [f"device.driver == {cel_text(wish.driver)}"] if guard and wish.driver else []
    terms += wish.terms
    for name, amount in wish.minimum.items():
        capacity = f"device.capacity[{cel_text(wish.driver)}].{name}"
        terms.append(f"{capacity}.compareTo(quantity({cel_text(amount)})) >= 0")
    return " && ".join(terms) or None


def claim_parameters(node: dict[str, Any], driver: str) -> Wish:
    """A parameters object of a first-generation driver: ``spec.count``, ``spec.selector``, ``spec.sharing``."""
    kind = str(node.get("kind"))
    wish = Wish(driver)
    spec = node.get("spec")
    for key, value in spec.items() if isinstance(spec, dict) else ():
        if key == "count" and isinstance(value, int):
            wish.count = value
        elif key == "selector" and isinstance(value, dict):
            term = _selector(value, wish, 0)
            if term:
                wish.terms.append(term)
        elif key == "sharing" and isinstance(value, dict) and driver == NVIDIA:
            _sharing(value, kind, wish)
        elif key == "profile" and driver == NVIDIA:
            wish.terms.append(f"{_attributes(driver)}.profile == {cel_text(str(value))}")
        else:
            wish.lost.append(f"{kind}.spec.{key}")
    return wish


def _selector(node: dict[str, Any], wish: Wish, depth: int) -> str | None:
    """A tree of andExpression and orExpression over properties, as one CEL expression."""
    if depth > 50:
        wish.lost.append("a selector that is nested too deeply")
        return None
    terms: list[str] = []
    for key, value in node.items():
        if key in ("andExpression", "orExpression") and isinstance(value, list):
            lost = len(wish.lost)
            inner = [_selector(item, wish, depth + 1) for item in value if isinstance(item, dict)]
            known = [term for term in inner if term]
            if key == "orExpression" and len(wish.lost) > lost:
                known = []  # one alternative less would ask for more than was asked
            if known:
                joined = (" && " if key == "andExpression" else " || ").join(known)
                terms.append(f"({joined})" if len(known) > 1 and (depth or key == "orExpression") else joined)
            continue
        term = _property(key, value, wish)
        if term:
            terms.append(term)
    return " && ".join(terms) or None


def _property(key: str, value: Any, wish: Wish) -> str | None:
    known = DRIVERS.get(wish.driver)
    attributes = _attributes(wish.driver)
    if key in ("productName", "architecture", "brand", "uuid"):
        text = str(value)
        if key != "uuid" and ("*" in text or "?" in text):
            pattern = "^" + "".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in text.lower()) + "$"
            return f"{attributes}.{key}.lowerAscii().matches({cel_text(pattern)})"
        return f"{attributes}.{key} == {cel_text(text)}"
    if key == "memory" and isinstance(value, dict) and "value" in value:
        operators = {
            "Equals": "==", "NotEquals": "!=", "GreaterThan": ">", "GreaterThanOrEqualTo": ">=",
            "LessThan": "<", "LessThanOrEqualTo": "<=",
        }  # fmt: skip
        operator = operators.get(str(value.get("operator", "Equals")))
        if operator:
            capacity = f"device.capacity[{cel_text(wish.driver)}].memory"
            return f"{capacity}.compareTo(quantity({cel_text(str(value['value']))})) {operator} 0"
    if key == "migEnabled":
        wish.lost.append("migEnabled: ask for the class of MIG devices instead")
        return None
    gone = f"{key}: {value}"
    if known is not None and (key in known.gone or (known.complete and (wish.driver, key) not in known.attributes)):
        gone += f" (the driver {wish.driver} of today publishes no {key}; there are uuid and the standard pciBusID)"
    wish.lost.append(gone)
    return None


def _sharing(value: dict[str, Any], kind: str, wish: Wish) -> None:
    strategy = str(value.get("strategy") or "")
    sharing: dict[str, Any] = {"strategy": strategy}
    slicing = value.get("timeSlicingConfig")
    if strategy == "TimeSlicing" and isinstance(slicing, dict):
        interval = slicing.get("timeSlice", slicing.get("interval"))
        if interval:
            sharing["timeSlicingConfig"] = {"interval": interval}
            wish.remarks.append(
                f"timeSlice became interval: {interval}; the NVIDIA driver needs its gate TimeSlicingSettings for it"
            )
    mps = value.get("mpsConfig")
    if strategy == "MPS":
        if isinstance(mps, dict):
            sharing["mpsConfig"] = dict(mps)
        wish.remarks.append("MPS needs the NVIDIA driver's gate MPSSupport")
    wanted = "MigDeviceConfig" if kind.startswith("Mig") else "GpuConfig"
    wish.config.append({"apiVersion": _NVIDIA_CONFIG, "kind": wanted, "sharing": sharing})


_OLD_ATTRIBUTE = re.compile(
    r'attributes\.(quantity|bool|int|string|version|intslice|stringslice)\[\s*(["\'])([^"\']+)\2\s*\]'
)


def structured_selector(text: str, driver: str) -> str:
    """A selector of 1.30 (``attributes.string["model"]``) in today's words; quantities became capacity."""

    def rewritten(match: re.Match[str]) -> str:
        domain = "capacity" if match[1] == "quantity" else "attributes"
        name = match[3]
        access = f".{name}" if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else f"[{cel_text(name)}]"
        return f"device.{domain}[{cel_text(driver)}]{access}"

    return _OLD_ATTRIBUTE.sub(rewritten, text)

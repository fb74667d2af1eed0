"""What differs between two reports of one host, as lines for ``--watch``. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Report = Mapping[str, Any]
_FIELDS = {
    "driver": "driver",
    "state": "state",
    "numaNode": "NUMA node",
    "pcieRoot": "PCIe root",
    "memoryBytes": "memory (bytes)",
    "product": "product",
    "iommuGroup": "IOMMU group",
}


def changes(before: Report, after: Report) -> list[str]:
    """Devices that came, went or changed; findings that are new or gone; sources that began or ceased to answer."""
    return [*_devices(before, after), *_findings(before, after), *_sources(before, after)]


def _by_key(report: Report) -> dict[str, Mapping[str, Any]]:
    return {device["address"] or device["label"]: device for device in report["devices"]}


def _devices(before: Report, after: Report) -> Iterator[str]:
    old, new = _by_key(before), _by_key(after)
    for key in sorted(old.keys() - new.keys()):
        yield f"- {_name(old[key])} is gone"
    for key in sorted(new.keys() - old.keys()):
        yield f"+ {_name(new[key])} has appeared"
    for key in sorted(old.keys() & new.keys()):
        for text, was, now in _differences(old[key], new[key]):
            yield f"~ {_name(new[key])}: {text} {_shown(was)} -> {_shown(now)}"


def _name(device: Mapping[str, Any]) -> str:
    return f"{device['label']} {device['address'] or ''} {device['product']}".replace("  ", " ").strip()


def _shown(value: Any) -> str:
    return "none" if value in (None, "") else str(value)


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for field, text in _FIELDS.items():
        if old.get(field) != new.get(field):
            yield text, old.get(field), new.get(field)
    was, now = _flat(old), _flat(new)
    for text in sorted(was.keys() | now.keys()):
        if was.get(text) != now.get(text):
            yield text, was.get(text), now.get(text)


def _flat(device: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a device that change: link, interfaces, RDMA ports, virtual functions, MIG, errors."""
    out: dict[str, Any] = {}
    link = device.get("link") or {}
    out["link width"], out["link speed"] = link.get("width"), link.get("speed")
    for netdev in device.get("netdevs", []):
        out[f"interface {netdev['name']}"] = netdev["state"] or "present"
        out[f"carrier of {netdev['name']}"] = netdev["carrier"]
    for rdma in device.get("rdma", []):
        for port in rdma["ports"]:
            out[f"port {port['number']} of {rdma['name']}"] = port["state"]
    out["virtual functions"] = (device.get("sriov") or {}).get("created")
    nvml = device.get("nvml") or {}
    mig = nvml.get("mig") or {}
    out["MIG mode"] = mig.get("enabled")
    out["MIG devices"] = ", ".join(sorted(_instance(one) for one in mig.get("instances", []))) or None
    for field in ("processes", "eccUncorrected", "nvlinks", "recovery"):
        out[field] = nvml.get(field)
    out.update({f"{kind} PCIe errors": count for kind, count in device.get("pcieErrors", {}).items()})
    return out


def _instance(instance: Mapping[str, Any]) -> str:
    return f"{instance.get('profile', '?')}@{instance.get('start', '?')}"


def _findings(before: Report, after: Report) -> Iterator[str]:
    old = {(finding["code"], finding["message"]) for finding in before["findings"]}
    new = {(finding["code"], finding["message"]) for finding in after["findings"]}
    for code, message in sorted(old - new):
        yield f"- resolved {code}: {message}"
    for code, message in sorted(new - old):
        yield f"+ found {code}: {message}"


def _sources(before: Report, after: Report) -> Iterator[str]:
    old = {source["name"]: source["state"] for source in before["sources"]}
    for source in after["sources"]:
        was = old.get(source["name"])
        if was != source["state"]:
            yield f"~ source {source['name']}: {_shown(was)} -> {source['state']} ({source['reason']})"
